#include "collect/agent/outer_threads.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"

namespace clrscope::collect {
namespace {

constexpr std::size_t kMostThreads = 1 << 14;

// The last number of the line "NSpid:".
std::optional<std::uint64_t> innermost_number(const std::string& status) {
  for (const auto line : split(status, '\n'))
    if (line.starts_with("NSpid:")) return parse_number(line.substr(line.find_last_of("\t ") + 1));
  return std::nullopt;
}

}  // namespace

Result<OuterThreads> OuterThreads::of(pid_t pid) {
  const auto status = TRY(proc_status(pid));
  return OuterThreads{pid, status.namespace_pid != pid};
}

ThreadId OuterThreads::outer(std::uint32_t thread) {
  if (!own_numbers_) return ThreadId{thread};
  if (const auto found = known_.find(thread); found != known_.end()) return found->second;
  if (known_.size() >= kMostThreads) known_.clear();
  return known_[thread] = search(thread);
}

ThreadId OuterThreads::search(std::uint32_t thread) const {
  std::error_code gone;
  for (std::filesystem::directory_iterator it{fmt::format("/proc/{}/task", pid_), gone}, end;
       !gone && it != end; it.increment(gone)) {
    const auto status = read_file(it->path() / "status");
    const auto outer = parse_number(it->path().filename().native());
    if (status && outer && innermost_number(*status) == thread) return ThreadId{*outer};
  }
  return ThreadId{static_cast<std::uint64_t>(pid_)};
}

}  // namespace clrscope::collect
