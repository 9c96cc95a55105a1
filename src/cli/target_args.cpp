#include "cli/target_args.h"

#include <filesystem>
#include <limits>

namespace clrscope::cli {

Result<ops::TargetRequest> target_request(const Args& args) {
  ops::TargetRequest request{.name = args.text("--name"),
                             .diagnostic_port = args.text("--diagnostic-port"),
                             .command = args.command()};
  if (const auto pid = TRY(args.number("--process-id", 1, std::numeric_limits<pid_t>::max())))
    request.pid = static_cast<pid_t>(*pid);
  return request;
}

Result<ops::TargetRequest> machine_or_target(const Args& args) {
  const auto request = TRY(target_request(args));
  const bool named =
      request.pid || request.name || request.diagnostic_port || !request.command.empty();
  if (!named && !args.has("--all"))
    return fail(Errc::kUsage, "no process given")
        .hint(
            "use -p PID or -n NAME (clrscope ps lists the processes), or -a for the whole machine");
  if (named && args.has("--all"))
    return fail(Errc::kUsage, "both -a and a process given")
        .hint("leave out one of them; -a records every process of the machine");
  return request;
}

Result<std::string> symbol_folder(const Args& args) {
  auto folder = args.text("--symbol-dir").value_or("");
  std::error_code failed;
  if (!folder.empty() && !std::filesystem::is_directory(folder, failed))
    return fail(Errc::kUsage, "cannot read the folder {} (--symbol-dir)", folder)
        .hint("give a folder with PDBs or debug files, or leave out --symbol-dir");
  return folder;
}

}  // namespace clrscope::cli
