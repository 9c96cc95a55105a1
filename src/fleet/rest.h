// The HTTP side of the fleet server: the REST API (rest_routes.h), and the web app with its files
// and its sign-in. A path that is both is a page for browsers and JSON for programs. docs/fleet.md
#pragma once

#include <thread>

#include "base/channel.h"
#include "fleet/access.h"
#include "fleet/otlp_receiver.h"
#include "fleet/query_gate.h"
#include "fleet/query_watch.h"
#include "fleet/reply_stream.h"
#include "fleet/rest_routes.h"
#include "net/http_server.h"
#include "site/visits.h"

namespace clrscope::fleet {

class Rest {
 public:
  // Any thread; may take as long as the query.
  static net::HttpResponse answer(const net::HttpRequest& request, const Access& access,
                                  const Caller& caller) {
    RestBody whole;
    return answer(request, access, caller, whole);
  }

  static Result<std::unique_ptr<Rest>> start(const net::HttpEndpoint& endpoint, Access access,
                                             QueryGate& gate);
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
  Rest(Access access, QueryGate& gate);
  // The answer, but for what went out of `body` already; after a failure then, it is of no use.
  static net::HttpResponse answer(const net::HttpRequest& request, const Access& access,
                                  const Caller& caller, RestBody& body);
  void work(const std::stop_token& stop);
  void answer_in_turn(const Job& job);
  void work_on_exports(const std::stop_token& stop);
  // Spans of exporters, which send them with a token of scope ingest.
  net::HttpAdmission admit_export(const net::HttpRequest& head);
  net::HttpAdmission admit(const net::HttpRequest& head);
  std::optional<net::HttpResponse> identify(const net::HttpRequest& head, Caller& caller);
  // Pages, their files, signing in, and what needs no store; nothing: a query.
  std::optional<net::HttpResponse> answer_at_once(const net::HttpRequest& request);

  static constexpr std::size_t kMostWaiting = 64 - SlowClients::kMost;  // others wait at the gate
  // Bytes that an answer may be ahead of its client.
  static constexpr std::size_t kAhead = 256 << 10;
  static constexpr std::size_t kMostExports = 16;  // waiting, of kMostOtlpBytes each
  const Access access_;
  QueryGate& gate_;
  site::Visits visits_;
  QueryWatch watch_;
  Channel<Job> jobs_{kMostWaiting};
  Channel<Job> exports_{kMostExports};
  SlowClients slow_;
  // Two run at a time; the others wait for their clients.
  std::jthread workers_[2 + SlowClients::kMost];
  std::jthread exporter_;                    // works on exports: queries do not hold them up
  std::unique_ptr<net::HttpServer> server_;  // last: ends first
};

}  // namespace clrscope::fleet
