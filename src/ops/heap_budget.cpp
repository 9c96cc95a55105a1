#include "ops/heap_budget.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "base/clock.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"

namespace clrscope::ops {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

std::optional<std::string> too_dear(const HeapBudget& budget, const LookCost& look) {
  constexpr int kPauseShare = 50, kCpuShare = 100;
  constexpr std::string_view kInstead = "use a longer --duration, --only, or clrscope heap";
  if (look.pause * budget.looks > budget.duration / kPauseShare)
    return fmt::format(
        "{} heap snapshots may pause the process for {} each, more than 2 % of the time; {}",
        budget.looks, format_duration(look.pause), kInstead);
  if (!budget.busy) return std::nullopt;
  const auto there_is = std::chrono::duration<double, std::nano>(budget.duration) * budget.cpus;
  if (look.cpu * budget.looks > there_is / kCpuShare)
    return fmt::format(
        "no CPU is idle, and {} heap snapshots may take {} of CPU time each, more than 1 % of "
        "what there is; {}",
        budget.looks, format_duration(look.cpu), kInstead);
  return std::nullopt;
}

nanoseconds estimated_cpu(std::uint64_t own_bytes) {
  // Seen: 0.12 s with 30 MB, 0.5 s with 330 MB. The first part is for types, statics and roots.
  constexpr auto kAtLeast = milliseconds{80};
  constexpr std::uint64_t kNsPerByte = 1;
  return kAtLeast + nanoseconds{static_cast<std::int64_t>(own_bytes * kNsPerByte)};
}

bool BusyMeter::busy() const {
  const auto now = read(pid_);
  return begun_ && now && is_busy(*begun_, *now);
}

bool BusyMeter::is_busy(const Reading& from, const Reading& to) {
  const auto half = (to.time - from.time) / 2;
  return to.idle - from.idle < half && to.used - from.used > half;
}

std::optional<BusyMeter::Reading> BusyMeter::read(pid_t pid) {
  const auto stat = read_file("/proc/stat");
  const auto status = proc_status(pid);
  if (!stat || !status) return std::nullopt;
  const auto idle = idle_time(*stat, ::sysconf(_SC_CLK_TCK));
  if (!idle) return std::nullopt;
  return Reading{TraceClock::now().time_since_epoch(), status->cpu, *idle};
}

std::optional<nanoseconds> idle_time(std::string_view stat, long ticks_per_second) {
  // "cpu  USER NICE SYSTEM IDLE IOWAIT …"
  constexpr std::size_t kIdle = 3, kDisk = 4;
  const auto line = stat.substr(0, stat.find('\n'));
  if (!line.starts_with("cpu ") || ticks_per_second <= 0) return std::nullopt;
  std::int64_t ticks = 0;
  std::size_t field = 0;
  for (const auto word : split(line.substr(4), ' ')) {
    if (word.empty()) continue;
    std::int64_t value = 0;
    if (std::from_chars(word.data(), word.data() + word.size(), value).ec != std::errc{})
      return std::nullopt;
    if (field == kIdle || field == kDisk) ticks += value;
    if (++field > kDisk) break;
  }
  if (field <= kDisk) return std::nullopt;
  return nanoseconds{ticks * (1'000'000'000 / ticks_per_second)};
}

}  // namespace clrscope::ops
