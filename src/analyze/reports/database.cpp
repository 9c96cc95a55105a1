// Database commands of Entity Framework and SqlClient, as --profile database records them.
#include "analyze/call_kinds.h"
#include "analyze/calls_page.h"
#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

constexpr CallWords kWords{
    .noun = "database command",
    .column = "COMMAND",
    .next = "clrscope collect -p PID --profile database",
};

}  // namespace

std::string bridge_argument(const Event& event, const nettrace::PayloadPlan& plan,
                            std::string_view key) {
  const auto at = plan.find("Arguments");
  const auto pairs = at ? nettrace::read_field(plan, *at, event.payload) : std::nullopt;
  std::string found;
  if (!pairs) return found;
  nettrace::for_each_element(
      plan, plan.fields()[*at], *pairs,
      [&](const nettrace::PayloadField& element, const nettrace::Value& pair) {
        std::string name, text;
        nettrace::for_each_member(
            plan, element, pair,
            [&](const nettrace::PayloadField& member, const nettrace::Value& value) {
              (member.name == "Key" ? name : text) = nettrace::text_of(value);
            });
        if (name == key) found = std::move(text);
      });
  return found;
}

// "Activity1" is SqlClient's, "Activity2" Entity Framework's: so says the profile.
CallEvent read_database_call(const Event& event, const nettrace::PayloadPlan& plan) {
  const auto& name = plan.event_name();
  if (!name.starts_with("Activity1/") && !name.starts_with("Activity2/")) return {};
  if (name.ends_with("/Start"))
    return {CallEvent::Phase::kBegin, bridge_argument(event, plan, "CommandText")};
  return {name.ends_with("/Stop") ? CallEvent::Phase::kEnd : CallEvent::Phase::kNone};
}

extern const ReportKind database_report{
    .name = "database",
    .summary = "database commands: how many, how long, from where",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<CallsReport>(options, kWords, kDiagnosticSourceProvider,
                                           read_database_call);
    },
    .shape = shape_for<CallsAnswer>,
};

}  // namespace clrscope::analyze
