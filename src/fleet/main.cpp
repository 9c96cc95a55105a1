#include <csignal>
#include <string_view>
#include <vector>

#include "fleet/commands.h"

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a peer that went away is a failed write, not our end
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return clrscope::fleet::run(words);
}
