#include "ops/enable.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/io.h"
#include "base/json_reader.h"
#include "base/proc.h"
#include "base/text.h"
#include "net/http_client.h"
#include "ops/startup_helper.h"
#include "ops/target_folder.h"

namespace clrscope::ops {
namespace {

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

Result<Enabled> enabled_from(Process process, const HelperAnswer& answer,
                             const TargetFolder& folder) {
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

Result<Enabled> enable(const EnableRequest& request) {
  auto urls = request.urls;
  if (urls.empty()) urls.emplace_back("http://127.0.0.1:0");
  for (const auto& url : urls) TRY(check_url(url));
  auto target = TRY(find_target(request.target, std::chrono::seconds{5}, -1));
  const auto pid = target.process.pid;
  const auto name = TRY(helper_folder_name(pid));
  const auto folder = TRY(TargetFolder::open(pid, name, true));

  std::string hook;
  const auto open = [&]() -> Result<HelperAnswer> {
    hook = TRY(place_hook(folder));
    std::string words = "action=open\nbinary=" + TRY(place_program(folder)) + "\n";
    for (const auto& url : urls) words += "url=" + url + "\n";
    if (request.read_only) words += "argument=--read-only\n";
    const auto answer = TRY(tell_helper(target, folder, hook, words));
    if (value_of(answer, "state") != "open")
      return fail(Errc::kSystem, "process {} could not start the controller: {}", pid,
                  value_of(answer, "error"))
          .hint("{}", value_of(answer, "hint"));
    return answer;
  };
  const auto answer = open();
  if (!answer) {
    if (folder.made()) forget_helper(folder, hook);
    return fail(answer.error());
  }
  return enabled_from(std::move(target.process), *answer, folder);
}

Result<Disabled> disable(const TargetRequest& request) {
  auto target = TRY(find_target(request, std::chrono::seconds{5}, -1));
  const auto pid = target.process.pid;
  const auto name = TRY(helper_folder_name(pid));
  const auto folder = TargetFolder::open(pid, name, false);
  if (!folder) {
    if (folder.error().code != Errc::kNotFound) return fail(folder.error());
    return Disabled{.process = std::move(target.process)};
  }
  const auto hook = TRY(place_hook(*folder));
  const auto answer = TRY(tell_helper(target, *folder, hook, "action=close\n"));
  if (value_of(answer, "state") != "closed")
    return fail(Errc::kSystem, "process {} could not stop the controller: {}", pid,
                value_of(answer, "error"));
  forget_helper(*folder, hook);
  return Disabled{.process = std::move(target.process),
                  .was_open = value_of(answer, "was") == "open"};
}

}  // namespace clrscope::ops
