#include "http/processes.h"

#include <algorithm>

#include "base/text.h"
#include "ops/processes.h"
#include "ops/runtimes.h"

namespace clrscope::http {

namespace {

constexpr std::string_view kNoProcess = "no such process";

}  // namespace

bool is_no_process(const Error& error) { return error.what == kNoProcess; }

bool Selector::fits(const Process& process) const {
  return (!pid || process.pid == *pid) && (!uid || equal_ignoring_case(*uid, process.uid)) &&
         (!name || equal_ignoring_case(*name, process.name));
}

Result<Selector> selector_of(const Call& call) {
  Selector selector{.uid = call.text("uid"), .name = call.text("name")};
  if (const auto pid = TRY(call.number("pid", 1, 0x7fffffff)))
    selector.pid = static_cast<pid_t>(*pid);
  return selector;
}

bool restricted(const ServeSetting& setting) { return setting.owner || !setting.allow.empty(); }

bool shown(const ServeSetting& setting, const Process& process) {
  if (setting.owner) return !process.foreign && process.pid == *setting.owner;
  if (setting.allow.empty()) return true;
  return std::ranges::any_of(setting.allow, [&](const std::string& word) {
    return glob_match(word, process.name) || (!process.uid.empty() && word == process.uid) ||
           (!process.foreign && word == std::to_string(process.pid));
  });
}

bool shown_of_earlier(const ServeSetting& setting, const Process& process) {
  if (!restricted(setting)) return true;
  if (process.pid <= 0) return false;
  const bool same_application = setting.owner && !process.foreign && !setting.owner_name.empty() &&
                                process.name == setting.owner_name;
  return same_application || shown(setting, process);
}

Result<> Processes::machine_allowed() const {
  if (!restricted(setting_)) return {};
  return fail(Errc::kDenied, "all: only some processes may be seen here")
      .hint("say ?pid=, ?uid= or ?name=; GET /processes lists them");
}

Result<std::vector<Process>> Processes::list() const {
  auto found = ops::list_processes();
  if (!found && !runtimes_) return fail(found.error());  // without /proc the port may do
  if (!found) found = std::vector<Process>{};
  if (runtimes_) found = ops::joined(*std::move(found), runtimes_->list());
  std::erase_if(*found, [&](const Process& process) { return !allowed(process); });
  return found;
}

Result<Process> Processes::chosen(const Call& call) const {
  return chosen(call, TRY(selector_of(call)));
}

Result<Process> Processes::chosen(const Call& call, const Selector& selector) const {
  auto found = TRY(list());
  std::erase_if(found, [&](const Process& process) { return !selector.fits(process); });
  if (found.size() == 1) {
    call.note_process(fmt::format("{} {}", found.front().pid, found.front().name));
    return std::move(found.front());
  }
  if (found.empty())
    return fail(Errc::kUsage, "{}", kNoProcess).hint("GET /processes lists those there are");
  return fail(Errc::kUsage, "{} processes are there: which one?", found.size())
      .hint("say ?pid=, ?uid= or ?name=; GET /processes lists them");
}

ops::TargetWish Processes::target(const Process& process) const {
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

void write_process(JsonWriter& json, const Process& process) {
  json.member("pid", process.pid)
      .member("uid", process.uid.empty() ? "00000000-0000-0000-0000-000000000000" : process.uid)
      .member("name", process.name)
      .member("commandLine", process.command_line)
      .member("operatingSystem", "Linux")
      .member("processArchitecture", process.architecture)
      .member("runtime", process.runtime)
      .member("user", process.user)
      .member("upSeconds", std::chrono::duration<double>(process.up).count());
  if (process.cpu_percent) json.member("cpuPercent", *process.cpu_percent);
  if (process.rss_bytes) json.member("rssBytes", *process.rss_bytes);
  if (!process.container.empty()) json.member("container", process.container);
  json.member("reachable", process.reachable());
  if (!process.reachable()) json.member("reason", process.reason).member("hint", process.hint);
}

}  // namespace clrscope::http
