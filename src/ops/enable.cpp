#include "ops/enable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>

#include "base/checksum.h"
#include "base/io.h"
#include "base/json_reader.h"
#include "base/proc.h"
#include "base/text.h"
#include "ipc/commands.h"
#include "net/http_client.h"
#include "ops/target_folder.h"

// hook.S
extern "C" {
extern const std::uint8_t clrscope_hook[];
extern const std::uint8_t clrscope_hook_end[];
}

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::milliseconds kLook{20};
constexpr std::size_t kAnswerLimit = 64 << 10;

using Answer = std::multimap<std::string, std::string>;

std::string value_of(const Answer& answer, const std::string& name) {
  const auto found = answer.find(name);
  return found == answer.end() ? "" : found->second;
}

// One process, one folder: pid and start time identify a process.
Result<std::string> folder_name(pid_t pid) {
  const auto status = TRY(proc_status(pid));
  return fmt::format("clrscope-{}-{}", status.namespace_pid, status.start_ticks);
}

Result<> check_url(const std::string& url) {
  if (url.starts_with("unix:/")) return {};
  if (url.starts_with("http://")) {
    std::string_view rest{url};
    rest.remove_prefix(7);
    while (rest.ends_with('/')) rest.remove_suffix(1);
    const auto address = TRY(net::parse_address(rest, "0"));
    if (address.host == "localhost" || address.host == "::1" || address.host.starts_with("127."))
      return {};
    return fail(Errc::kUsage, "{} is reachable from other machines", url)
        .hint(
            "use http://127.0.0.1:0; for remote access use clrscope serve with TLS, or the app's "
            "own pages");
  }
  return fail(Errc::kUsage, "unsupported address {}", url)
      .hint("use http://127.0.0.1:0 or unix:/PATH");
}

// The helper that the process has loaded already is used again: also one of another build.
Result<std::string> place_hook(const TargetFolder& folder) {
  for (const auto& name : TRY(folder.list()))
    if (name.starts_with("hook-") && name.ends_with(".dll")) return name;
  auto bytes = embedded_hook();
  std::string beside;
  if (bytes.empty()) {
    const auto own = TRY(proc_executable(::getpid()));
    auto file = read_file(own.substr(0, own.rfind('/') + 1) + "clrscope_hook.dll");
    if (!file)
      return fail(Errc::kUnsupported, "this clrscope was built without the helper for processes")
          .hint("run tools/build_hook (needs dotnet), then build clrscope again");
    beside = *std::move(file);
    bytes = as_bytes(beside);
  }
  const auto name = fmt::format("hook-{:08x}.dll", crc32_of(bytes));
  TRY(folder.write(name, bytes));
  return name;
}

// What the process is to start: this program where it sees and may use it, else a copy.
Result<std::string> place_program(const TargetFolder& folder) {
  if (folder.same_files() && folder.same_user()) return proc_executable(::getpid());
  if (!folder.may_execute())
    return fail(Errc::kUnsupported, "{} is mounted noexec: no program can be started there",
                folder.path())
        .hint("give the process a TMPDIR without noexec, or use clrscope serve");
  const auto own = TRY(read_file("/proc/self/exe", 1ULL << 30));
  TRY(folder.write("clrscope", as_bytes(own), 0700));
  return folder.path() + "/clrscope";
}

Answer parse(std::string_view text) {
  Answer answer;
  for (const auto line : split(text, '\n'))
    if (const auto at = line.find('='); at != std::string_view::npos)
      answer.emplace(line.substr(0, at), line.substr(at + 1));
  return answer;
}

// Tells the helper and waits for what it says.
Result<Answer> tell(Target& target, const TargetFolder& folder, const std::string& hook,
                    const std::string& request) {
  folder.remove("answer");
  TRY(folder.write("request", as_bytes(request)));
  const auto applied = ipc::apply_startup_hook(*target.endpoint, folder.path() + "/" + hook);
  if (!applied) {
    folder.remove("request");
    return fail(applied.error());
  }
  const Deadline deadline{kPatience};
  while (!deadline.passed()) {
    if (const auto text = folder.read("answer", kAnswerLimit)) {
      folder.remove("answer");
      folder.remove("request");
      return parse(*text);
    }
    if (!process_exists(target.process.pid))
      return fail(Errc::kGone, "process {} ended before the helper started", target.process.pid);
    std::this_thread::sleep_for(kLook);
  }
  folder.remove("request");
  return fail(Errc::kTimeout, "process {} loaded the helper, but the helper did not start",
              target.process.pid)
      .hint(
          "use clrscope serve if the app disables startup hooks (trimmed apps: "
          "StartupHookSupport=false)");
}

// For a browser, for one who listens at `url`.
Result<std::string> one_time_address(const TargetFolder& folder, std::string_view url) {
  const auto socket = TRY(folder.find_socket("s"));
  net::HttpClient client{
      {.address = {.path = fmt::format("/proc/self/fd/{}", socket.get())}, .path = "/sign-in"}};
  const auto answer = TRY(client.ask("POST", {}, "", Deadline{std::chrono::seconds{5}}));
  if (answer.status != 200)
    return fail(Errc::kSystem, "the controller did not return a key: {} {}", answer.status,
                answer.body);
  const auto json = TRY(read_json(answer.body));
  const auto *word = json.find("once"), *host = json.find("host");
  if (!word || !word->text() || !host || !host->text())
    return fail(Errc::kCorrupt, "the controller's answer contains no one-time address");
  return fmt::format("http://{}{}/sign-in?once={}", *host->text(), url.substr(url.rfind(':')),
                     *word->text());
}

void forget(const TargetFolder& folder, const std::string& hook) {
  for (const auto& name :
       {hook, std::string{"clrscope"}, std::string{"request"}, std::string{"answer"}})
    folder.remove(name);
  folder.remove_folder();
}

Result<Enabled> enabled_from(Process process, const Answer& answer, const TargetFolder& folder) {
  Enabled out{.process = std::move(process),
              .already = value_of(answer, "already") == "true",
              .inside = value_of(answer, "inside") == "kestrel",
              .controller = static_cast<pid_t>(parse_number(value_of(answer, "pid")).value_or(0)),
              .urls = {}};
  const auto [first, last] = answer.equal_range("url");
  for (auto it = first; it != last; ++it) out.urls.push_back(it->second);
  const auto tcp = std::ranges::find_if(
      out.urls, [](const std::string& url) { return url.starts_with("http:"); });
  if (tcp != out.urls.end()) out.open = TRY(one_time_address(folder, *tcp));
  return out;
}

}  // namespace

Bytes embedded_hook() { return {clrscope_hook, clrscope_hook_end}; }

Result<Enabled> enable(const EnableRequest& request) {
  auto urls = request.urls;
  if (urls.empty()) urls.emplace_back("http://127.0.0.1:0");
  for (const auto& url : urls) TRY(check_url(url));
  auto target = TRY(find_target(request.target, std::chrono::seconds{5}, -1));
  const auto pid = target.process.pid;
  const auto name = TRY(folder_name(pid));
  const auto folder = TRY(TargetFolder::open(pid, name, true));

  std::string hook;
  const auto open = [&]() -> Result<Answer> {
    hook = TRY(place_hook(folder));
    std::string words = "action=open\nbinary=" + TRY(place_program(folder)) + "\n";
    for (const auto& url : urls) words += "url=" + url + "\n";
    if (request.read_only) words += "argument=--read-only\n";
    const auto answer = TRY(tell(target, folder, hook, words));
    if (value_of(answer, "state") != "open")
      return fail(Errc::kSystem, "process {} could not start the controller: {}", pid,
                  value_of(answer, "error"))
          .hint("{}", value_of(answer, "hint"));
    return answer;
  };
  const auto answer = open();
  if (!answer) {
    if (folder.made()) forget(folder, hook);
    return fail(answer.error());
  }
  return enabled_from(std::move(target.process), *answer, folder);
}

Result<Disabled> disable(const TargetRequest& request) {
  auto target = TRY(find_target(request, std::chrono::seconds{5}, -1));
  const auto pid = target.process.pid;
  const auto name = TRY(folder_name(pid));
  const auto folder = TargetFolder::open(pid, name, false);
  if (!folder) {
    if (folder.error().code != Errc::kNotFound) return fail(folder.error());
    return Disabled{.process = std::move(target.process)};
  }
  const auto hook = TRY(place_hook(*folder));
  const auto answer = TRY(tell(target, *folder, hook, "action=close\n"));
  if (value_of(answer, "state") != "closed")
    return fail(Errc::kSystem, "process {} could not stop the controller: {}", pid,
                value_of(answer, "error"));
  forget(*folder, hook);
  return Disabled{.process = std::move(target.process),
                  .was_open = value_of(answer, "was") == "open"};
}

}  // namespace clrscope::ops
