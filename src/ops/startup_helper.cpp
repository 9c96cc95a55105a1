#include "ops/startup_helper.h"

#include <fmt/format.h>
#include <unistd.h>

#include <thread>

#include "base/checksum.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "ipc/commands.h"
#include "ops/enable.h"

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

HelperAnswer parse(std::string_view text) {
  HelperAnswer answer;
  for (const auto line : split(text, '\n'))
    if (const auto at = line.find('='); at != std::string_view::npos)
      answer.emplace(line.substr(0, at), line.substr(at + 1));
  return answer;
}

}  // namespace

Bytes embedded_hook() { return {clrscope_hook, clrscope_hook_end}; }

std::string value_of(const HelperAnswer& answer, const std::string& name) {
  const auto found = answer.find(name);
  return found == answer.end() ? "" : found->second;
}

Result<std::string> helper_folder_name(pid_t pid) {
  const auto status = TRY(proc_status(pid));
  return fmt::format("clrscope-{}-{}", status.namespace_pid, status.start_ticks);
}

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

Result<HelperAnswer> tell_helper(Target& target, const TargetFolder& folder,
                                 const std::string& hook, const std::string& request) {
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

void forget_helper(const TargetFolder& folder, const std::string& hook) {
  for (const auto& name :
       {hook, std::string{"clrscope"}, std::string{"request"}, std::string{"answer"}})
    folder.remove(name);
  folder.remove_folder();
}

}  // namespace clrscope::ops
