#include "http/processes.h"

#include <algorithm>

#include "base/text.h"
#include "ops/runtimes.h"

namespace clrscope::http {

Result<Selector> selector_of(const Call& call) {
  Selector selector{.uid = call.text("uid"), .name = call.text("name")};
  if (const auto pid = TRY(call.number("pid", 1, 0x7fffffff)))
    selector.pid = static_cast<pid_t>(*pid);
  return selector;
}

Result<> Processes::machine_allowed() const {
  if (!setting_.visible.restricted()) return {};
  return fail(Errc::kDenied, "all: only some processes may be seen here")
      .hint("say ?pid=, ?uid= or ?name=; GET /processes lists them");
}

Result<std::vector<Process>> Processes::list() const {
  auto found = book_.list();
  if (!found && !runtimes_) return fail(found.error());  // without /proc the port may do
  if (!found) found = std::vector<Process>{};
  if (runtimes_) found = ops::joined(*std::move(found), runtimes_->list());
  std::erase_if(*found, [&](const Process& process) { return !allowed(process); });
  return found;
}

Result<Process> Processes::chosen(const Call& call) const {
  return chosen(call, TRY(selector_of(call)));
}

// Without looking at all others. Nothing: it is not known for sure, the list tells.
std::optional<Process> Processes::by_pid(pid_t pid) const {
  if (runtimes_) return std::nullopt;  // its pid may be of another namespace
  return book_.find(pid);
}

bool Processes::still_there(pid_t pid) const {
  if (runtimes_) return false;  // its pid may be of another namespace
  const auto one = book_.still_there(pid);
  return one && allowed(*one);
}

Result<Process> Processes::chosen(const Call& call, const Selector& selector) const {
  if (selector.pid)
    if (auto one = by_pid(*selector.pid); one && allowed(*one) && selector.fits(*one)) {
      call.note_process(fmt::format("{} ({})", one->name, one->pid));
      return *std::move(one);
    }
  auto found = TRY(list());
  std::erase_if(found, [&](const Process& process) { return !selector.fits(process); });
  if (found.size() == 1) {
    call.note_process(fmt::format("{} ({})", found.front().name, found.front().pid));
    return std::move(found.front());
  }
  if (found.empty())
    return fail(Errc::kUsage, "no such process").hint("GET /processes lists the processes");
  return fail(Errc::kUsage, "{} processes match", found.size())
      .hint("say ?pid=, ?uid= or ?name=; GET /processes lists them");
}

ops::TargetRequest Processes::target(const Process& process) const {
  if (process.by_port) return {.uid = process.uid, .runtimes = runtimes_};
  return {.pid = process.pid};
}

std::optional<ops::CheckRow> Processes::port_row() const {
  if (!runtimes_) return std::nullopt;
  const auto refused = words_for(runtimes_->refused());
  return ops::CheckRow{
      .id = "listening-port",
      .source = "listening port",
      .works = refused.empty() ? ops::Works::kYes : ops::Works::kPartly,
      .detail = refused.empty() ? "no connection was refused" : "connections refused: " + refused,
      .hint = refused.empty() ? "" : "see who else connects to " + runtimes_->path()};
}

const Shape& shape_of(const ProcessInfo*) {
  using P = ProcessInfo;
  static const auto shape = describe<P>(
      "ProcessInfo", "A .NET process",
      {member<&P::pid>("pid", "process id"), member<&P::uid>("uid", "GUID of its runtime"),
       member<&P::name>("name", "process name"),
       member<&P::command_line>("commandLine", "command line"),
       member<&P::operating_system>("operatingSystem", "always Linux"),
       member<&P::architecture>("processArchitecture", "x64 or arm64"),
       member<&P::runtime>("runtime", ".NET version; empty: unknown"),
       member<&P::user>("user", "user it runs as"),
       member<&P::up>("upSeconds", "time since it started"),
       member<&P::cpu_percent>("cpuPercent", Unit::kPercent,
                               "CPU time since it started; 100 is one core"),
       member<&P::rss_bytes>("rssBytes", Unit::kBytes, "resident memory"),
       member_unless_empty<&P::container>("container", "container it runs in"),
       member<&P::reachable>("reachable", "whether its runtime can be reached"),
       member_unless_empty<&P::reason>("reason", "why it cannot be reached"),
       member_unless_empty<&P::hint>("hint", "what to do about it"),
       member<&P::is_default>("isDefault", "whether requests without a selector are about it")});
  return shape;
}

ProcessInfo info_of(const Process& process) {
  ProcessInfo info{
      .pid = process.pid,
      .uid = process.uid.empty() ? "00000000-0000-0000-0000-000000000000" : process.uid,
      .name = process.name,
      .command_line = process.command_line,
      .architecture = process.architecture,
      .runtime = process.runtime,
      .user = process.user,
      .up = process.up,
      .cpu_percent = process.cpu_percent,
      .rss_bytes = process.rss_bytes,
      .container = process.container,
      .reachable = process.reachable()};
  if (!info.reachable) {
    info.reason = process.reason;
    info.hint = process.hint;
  }
  return info;
}

}  // namespace clrscope::http
