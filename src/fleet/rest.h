// The REST API of the fleet server: /fleet/services, /fleet/routes, /fleet/flame,
// /fleet/requests/{traceId}, /fleet/hosts; /health. Answers JSON; errors are
// application/problem+json. docs/fleet.md
#pragma once

#include <thread>

#include "base/channel.h"
#include "fleet/access.h"
#include "net/http_server.h"
#include "store/store.h"

namespace clrscope::fleet {

class Rest {
 public:
  // Any thread; may take as long as the query.
  static net::HttpResponse answer(const net::HttpRequest& request, store::Store& store);

  static Result<std::unique_ptr<Rest>> start(const net::HttpEndpoint& endpoint, store::Store& store,
                                             Access access);
  const net::Address& address() const { return server_->addresses().front(); }

 private:
  struct Job {
    net::HttpRequest request{};
    std::shared_ptr<net::HttpReply> reply{};
  };
  Rest(store::Store& store, Access access);
  void work(const std::stop_token& stop);
  net::HttpAdmission admit(const net::HttpRequest& head) const;

  static constexpr std::size_t kMostWaiting = 64;
  store::Store& store_;
  const Access access_;
  Channel<Job> jobs_{kMostWaiting};
  std::jthread workers_[2];
  std::unique_ptr<net::HttpServer> server_;  // last: ends first
};

}  // namespace clrscope::fleet
