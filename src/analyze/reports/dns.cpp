// Names that the program looked up.
#include "analyze/call_kinds.h"
#include "analyze/calls_page.h"
#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

constexpr CallWords kWords{
    .noun = "DNS lookup",
    .column = "NAME",
    .next = "clrscope collect -p PID --profile http",
};

}  // namespace

CallEvent read_dns_call(const Event& event, const nettrace::PayloadPlan& plan) {
  const auto& name = plan.event_name();
  if (name == "Resolution/Start")
    return {CallEvent::Phase::kBegin, text_field(event, plan, "hostNameOrAddress")};
  if (name == "Resolution/Stop") return {CallEvent::Phase::kEnd};
  return {name == "ResolutionFailed" || name == "Resolution/Failed" ? CallEvent::Phase::kFailed
                                                                    : CallEvent::Phase::kNone};
}

extern const ReportKind dns_report{
    .name = "dns",
    .summary = "DNS lookups: which names, how many, how long",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<CallsReport>(options, kWords, kNameResolutionProvider, read_dns_call);
    },
    .shape = shape_for<CallsAnswer>,
};

}  // namespace clrscope::analyze
