// The HTTP side of the fleet server: the REST API (rest_routes.h), and the web app with its files
// and its sign-in. A path that is both is a page for browsers and JSON for programs. docs/fleet.md
#pragma once

#include <thread>

#include "base/channel.h"
#include "fleet/access.h"
#include "fleet/query_watch.h"
#include "fleet/rest_routes.h"
#include "net/http_server.h"
#include "site/visits.h"

namespace clrscope::fleet {

class Rest {
 public:
  // Any thread; may take as long as the query.
  static net::HttpResponse answer(const net::HttpRequest& request, const Access& access,
                                  const Caller& caller);

  static Result<std::unique_ptr<Rest>> start(const net::HttpEndpoint& endpoint, Access access);
  const net::Address& address() const { return server_->addresses().front(); }
  // Signs a browser in, once. `url`: of this server.
  std::string one_time_address(const std::string& url) { return visits_.one_time_address(url, ""); }

 private:
  // What was decided when only the head was there.
  struct Admitted {
    Caller caller{};
    bool is_page = false;
  };
  struct Job {
    net::HttpRequest request{};
    std::shared_ptr<net::HttpReply> reply{};
  };
  explicit Rest(Access access);
  void work(const std::stop_token& stop);
  net::HttpAdmission admit(const net::HttpRequest& head);
  std::optional<net::HttpResponse> identify(const net::HttpRequest& head, Caller& caller);
  // Pages, their files and signing in; nothing: a query.
  std::optional<net::HttpResponse> answer_at_once(const net::HttpRequest& request);

  static constexpr std::size_t kMostWaiting = 64;
  const Access access_;
  site::Visits visits_;
  QueryWatch watch_;
  Channel<Job> jobs_{kMostWaiting};
  std::jthread workers_[2];
  std::unique_ptr<net::HttpServer> server_;  // last: ends first
};

}  // namespace clrscope::fleet
