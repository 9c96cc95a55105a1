#include "cli/target_args.h"

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

}  // namespace clrscope::cli
