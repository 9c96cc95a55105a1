// HTTP requests that the program sent.
#include <fmt/format.h>

#include "analyze/call_kinds.h"
#include "analyze/calls_page.h"
#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

constexpr CallWords kWords{
    .noun = "HTTP request",
    .column = "ADDRESS",
    .next = "clrscope collect -p PID --profile http",
};

// Without what follows the question mark: it makes every address another, and may hold secrets.
std::string address(const Event& event, const nettrace::PayloadPlan& plan) {
  const auto path = text_field(event, plan, "pathAndQuery");
  const auto at = plan.find("port");
  const auto port = at ? nettrace::read_field(plan, *at, event.payload) : std::nullopt;
  const auto scheme = text_field(event, plan, "scheme");
  const auto number = port ? port->i : 0;
  const bool usual = number == (scheme == "https" ? 443 : 80);
  return fmt::format("{}://{}{}{}", scheme, text_field(event, plan, "host"),
                     usual ? "" : fmt::format(":{}", number), path.substr(0, path.find('?')));
}

}  // namespace

CallEvent read_http_call(const Event& event, const nettrace::PayloadPlan& plan) {
  const auto& name = plan.event_name();
  if (name == "Request/Start") return {CallEvent::Phase::kBegin, address(event, plan)};
  if (name == "Request/Stop") return {CallEvent::Phase::kEnd};
  return {name == "RequestFailed" || name == "Request/Failed" ? CallEvent::Phase::kFailed
                                                              : CallEvent::Phase::kNone};
}

extern const ReportKind http_report{
    .name = "http",
    .summary = "HTTP requests sent: where to, how many, how long, from where",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<CallsReport>(options, kWords, kHttpProvider, read_http_call);
    },
    .shape = shape_for<CallsAnswer>,
};

}  // namespace clrscope::analyze
