#include <csignal>
#include <vector>

#include "cli/run.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader of ours that went away is a failed write, not our end
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return clrscope::cli::run(words);
}
