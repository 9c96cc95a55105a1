#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/io.h"
#include "base/text.h"
#include "ops/process_facts.h"

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (const auto word : split(line, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

// Inodes of the sockets of its network namespace that accept connections.
bool add_listening(pid_t pid, std::set<std::string>& inodes) {
  constexpr std::size_t kMost = 64 << 20;
  bool any = false;
  for (const auto* file : {"tcp", "tcp6"}) {
    const auto text = read_file(fmt::format("/proc/{}/net/{}", pid, file), kMost);
    if (!text) continue;
    any = true;
    for (const auto line : split(*text, '\n')) {
      constexpr std::string_view kListen = "0A";
      const auto words = words_of(line);
      if (words.size() > 9 && words[3] == kListen) inodes.emplace(words[9]);
    }
  }
  if (const auto text = read_file(fmt::format("/proc/{}/net/unix", pid), kMost))
    for (const auto line : split(*text, '\n')) {
      constexpr std::string_view kAccepts = "00010000";
      const auto words = words_of(line);
      if (words.size() > 7 && words[3] == kAccepts &&
          words[7].find("dotnet-diagnostic-") == std::string_view::npos)
        inodes.emplace(words[6]);
    }
  return any;
}

}  // namespace

std::optional<bool> has_listener(pid_t pid) {
  std::set<std::string> inodes;
  if (!add_listening(pid, inodes)) return {};
  std::error_code error;
  fs::directory_iterator files{fmt::format("/proc/{}/fd", pid), error};
  if (error) return {};
  constexpr std::string_view kSocket = "socket:[";
  for (; files != fs::directory_iterator{}; files.increment(error)) {
    if (error) return {};
    std::error_code gone;
    const auto link = fs::read_symlink(files->path(), gone).string();
    if (gone || !link.starts_with(kSocket)) continue;
    if (inodes.contains(link.substr(kSocket.size(), link.size() - kSocket.size() - 1))) return true;
  }
  return false;
}

}  // namespace clrscope::ops
