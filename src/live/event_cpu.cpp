#include "live/event_cpu.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::live {
namespace {

constexpr std::string_view kThreadName = ".NET EventPipe";  // cut by the kernel after 15 letters
constexpr std::size_t kMostBytes = 256;

}  // namespace

EventCpu::EventCpu(std::string tasks) : tasks_(std::move(tasks)) {
  if (tasks_.empty())
    unknown_ = "the threads of this process cannot be seen from here";
  else
    count(true);
}

void EventCpu::look(TraceTime now) {
  const std::lock_guard lock{mutex_};
  if (tasks_.empty() || now - last_ < kEvery) return;
  last_ = now;
  count(false);
}

void EventCpu::count(bool is_first) {
  std::error_code failed;
  std::map<std::string, std::chrono::nanoseconds> seen;
  for (std::filesystem::directory_iterator at{tasks_, failed}, end; !failed && at != end;
       at.increment(failed)) {
    const auto id = at->path().filename().string();
    const auto folder = tasks_ + "/" + id;
    const auto known = threads_.find(id);
    if (known == threads_.end()) {
      const auto name = read_file(folder + "/comm", kMostBytes);
      if (!name || trim(*name) != kThreadName) continue;
    }
    const auto times = read_file(folder + "/schedstat", kMostBytes);
    if (!times) continue;  // it has just ended
    const auto ns = parse_number(times->substr(0, times->find(' ')));
    if (!ns) {
      unknown_ = "the kernel does not say how much CPU time its threads take";
      return;
    }
    const std::chrono::nanoseconds now{static_cast<std::int64_t>(*ns)};
    const auto before = known == threads_.end() ? std::chrono::nanoseconds{} : known->second;
    if (!is_first && now > before) total_ += now - before;
    seen.emplace(id, now);
  }
  // A process that has ended has no threads: what was counted stays.
  threads_ = std::move(seen);
  if (is_first && threads_.empty()) unknown_ = fmt::format("no thread {} was found", kThreadName);
  if (!threads_.empty()) unknown_.clear();
}

std::optional<std::chrono::nanoseconds> EventCpu::total() const {
  const std::lock_guard lock{mutex_};
  return unknown_.empty() ? std::optional{total_} : std::nullopt;
}

std::string EventCpu::unknown() const {
  const std::lock_guard lock{mutex_};
  return unknown_;
}

}  // namespace clrscope::live
