#include <csignal>
#include <vector>

#include "cli/run.h"
#include "ops/worker.h"

int main(int argc, char** argv) {
  if (const auto code = clrscope::ops::worker_main(argc, argv)) return *code;
  std::signal(SIGPIPE, SIG_IGN);  // a reader of ours that went away is a failed write, not our end
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return clrscope::cli::run(words);
}
