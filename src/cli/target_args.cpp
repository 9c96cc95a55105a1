#include "cli/target_args.h"

#include <filesystem>
#include <limits>

namespace clrscope::cli {

Result<ops::TargetWish> target_wish(const Args& args) {
  ops::TargetWish wish{.name = args.text("--name"),
                       .diagnostic_port = args.text("--diagnostic-port"),
                       .command = args.command()};
  if (const auto pid = TRY(args.number("--process-id", 1, std::numeric_limits<pid_t>::max())))
    wish.pid = static_cast<pid_t>(*pid);
  return wish;
}

Result<ops::TargetWish> machine_or_target(const Args& args) {
  const auto wish = TRY(target_wish(args));
  const bool named = wish.pid || wish.name || wish.diagnostic_port || !wish.command.empty();
  if (!named && !args.has("--all"))
    return fail(Errc::kUsage, "which process?")
        .hint("-p PID or -n NAME (clrscope ps lists them), or -a for the whole machine");
  if (named && args.has("--all"))
    return fail(Errc::kUsage, "-a and a single target together")
        .hint("-a is every process of the machine: leave out -a, or the process or command");
  return wish;
}

Result<std::string> symbol_folder(const Args& args) {
  auto folder = args.text("--symbol-dir").value_or("");
  std::error_code failed;
  if (!folder.empty() && !std::filesystem::is_directory(folder, failed))
    return fail(Errc::kUsage, "--symbol-dir {} is not a folder that can be read", folder)
        .hint("name one that holds PDBs or debug files, or leave it out");
  return folder;
}

}  // namespace clrscope::cli
