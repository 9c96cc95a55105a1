// The HTTP side of the fleet server: the REST API (rest_routes.h), and the web app with its files
// and its sign-in. A path that is both is a page for browsers and JSON for programs. docs/fleet.md
#pragma once

#include <thread>

#include "base/channel.h"
#include "fleet/access.h"
#include "fleet/otlp_receiver.h"
#include "fleet/rest_routes.h"
#include "net/http_server.h"
#include "site/visits.h"
#include "store/store.h"

namespace clrscope::fleet {

class Rest {
 public:
  // Any thread; may take as long as the query.
  static net::HttpResponse answer(const net::HttpRequest& request, store::Store& store,
                                  const Reader& reader);

  static Result<std::unique_ptr<Rest>> start(const net::HttpEndpoint& endpoint,
                                             const OtlpTarget& target, Access access,
                                             OtlpReceiver& otlp);
  const net::Address& address() const { return server_->addresses().front(); }
  // Signs a browser in, once. `url`: of this server.
  std::string one_time_address(const std::string& url) { return visits_.one_time_address(url, ""); }

 private:
  // What was decided when only the head was there.
  struct Admitted {
    Reader reader{};
    bool is_page = false;
  };
  struct Job {
    net::HttpRequest request{};
    std::shared_ptr<net::HttpReply> reply{};
  };
  Rest(const OtlpTarget& target, Access access, OtlpReceiver& otlp);
  void work(const std::stop_token& stop);
  void work_on_exports(const std::stop_token& stop);
  // Spans of exporters, which send them with a token of scope ingest.
  net::HttpAdmission admit_export(const net::HttpRequest& head);
  net::HttpAdmission admit(const net::HttpRequest& head);
  std::optional<net::HttpResponse> identify(const net::HttpRequest& head, Reader& reader);
  // Pages, their files and signing in; nothing: a query.
  std::optional<net::HttpResponse> answer_at_once(const net::HttpRequest& request);

  static constexpr std::size_t kMostWaiting = 64;
  static constexpr std::size_t kMostExports = 16;  // waiting, of kMostOtlpBytes each
  const OtlpTarget target_;
  const Access access_;
  OtlpReceiver& otlp_;
  site::Visits visits_;
  Channel<Job> jobs_{kMostWaiting};
  Channel<Job> exports_{kMostExports};
  std::jthread workers_[2];
  std::jthread exporter_;                    // works on exports: queries do not hold them up
  std::unique_ptr<net::HttpServer> server_;  // last: ends first
};

}  // namespace clrscope::fleet
