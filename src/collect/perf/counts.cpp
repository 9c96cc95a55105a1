#include "collect/perf/counts.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/io.h"
#include "base/text.h"
#include "collect/perf/perf_attr.h"
#include "collect/perf/rights.h"

namespace clrscope::collect::perf {
namespace {

struct Kind {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};
constexpr Kind kKinds[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

struct Place {
  pid_t pid = -1;
  int cpu = -1;
};

// Every thread, wherever it runs; or every CPU, whatever runs.
Result<std::vector<Place>> places_of(pid_t pid) {
  std::vector<Place> places;
  if (pid == 0) {
    const auto cpus = ::sysconf(_SC_NPROCESSORS_ONLN);
    for (int cpu = 0; cpu < cpus; ++cpu) places.push_back({-1, cpu});
    return places;
  }
  for (const auto tid : threads_of(pid)) places.push_back({tid, -1});
  if (places.empty()) return fail(Errc::kGone, "process {} is gone", pid);
  return places;
}

// Empty with errno when one of them cannot be opened; one that has ended meanwhile is left out.
std::vector<UniqueFd> open_all(const Kind& kind, bool with_kernel, std::span<const Place> places) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = kind.type;
  attr.config = kind.config;
  attr.inherit = 1;
  attr.exclude_kernel = with_kernel ? 0 : 1;
  attr.exclude_hv = with_kernel ? 0 : 1;
  attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  std::vector<UniqueFd> parts;
  for (const auto& place : places) {
    auto part = open_event(attr, place.pid, place.cpu);
    if (part)
      parts.push_back(std::move(part));
    else if (errno != ESRCH || parts.empty())
      return {};
  }
  return parts;
}

bool no_such_counter(int number) {
  return number == ENOENT || number == ENODEV || number == EOPNOTSUPP;
}

std::string value_text(const Count& one) {
  auto text = one.name == "task-clock"
                  ? format_duration(std::chrono::nanoseconds{static_cast<std::int64_t>(one.value)})
                  : format_count(one.value);
  if (one.share < 1) text += fmt::format(" (counted {:.0f} % of the time)", 100 * one.share);
  return text;
}

}  // namespace

const Count* Counts::find(std::string_view name) const {
  const auto at = std::ranges::find(counted, name, &Count::name);
  return at == counted.end() ? nullptr : &*at;
}

Count sum_of(std::string name, std::span<const RawCount> parts) {
  Count sum{.name = std::move(name)};
  double value = 0;
  double enabled = 0;
  double running = 0;
  for (const auto& part : parts) {
    enabled += static_cast<double>(part.enabled);
    running += static_cast<double>(std::min(part.running, part.enabled));
    if (part.running == 0) continue;  // it never ran, or never had the counter
    value += static_cast<double>(part.value) *
             std::max(1.0, static_cast<double>(part.enabled) / static_cast<double>(part.running));
  }
  sum.value = static_cast<std::uint64_t>(std::llround(value));
  if (enabled > 0) sum.share = running / enabled;
  return sum;
}

std::string words_for(const Counts& counts) {
  std::vector<std::string> words;
  for (const auto& one : counts.counted) {
    words.push_back(fmt::format("{} {}", one.name, value_text(one)));
    const auto* cycles = counts.find("cycles");
    if (one.name == "instructions" && cycles && cycles->value > 0)
      words.back() += fmt::format(" ({:.2f} per cycle)", static_cast<double>(one.value) /
                                                             static_cast<double>(cycles->value));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

Result<Counting> Counting::start(pid_t pid) {
  const auto places = TRY(places_of(pid));
  const auto asked = pid == 0 ? Asked::kMachine : Asked::kProcess;
  raise_fd_limit();
  Counting counting;
  for (const auto& kind : kKinds) {
    const bool hardware = kind.type == PERF_TYPE_HARDWARE;
    auto parts = open_all(kind, true, places);
    if (parts.empty() && (errno == EACCES || errno == EPERM)) {
      parts = open_all(kind, false, places);
      if (!parts.empty() && hardware) counting.missing_.user_only = true;
    }
    if (!parts.empty()) {
      counting.counters_.push_back({kind.name, hardware, std::move(parts)});
      continue;
    }
    const int number = errno;
    const auto why = refusal(number, asked, pid);
    if (!hardware) return fail(why);
    if (!counting.missing_.no_hardware.empty()) continue;
    counting.missing_.no_hardware =
        no_such_counter(number)
            ? fmt::format("{}: not supported on this machine, as on most virtual machines",
                          kind.name)
            : fmt::format("{}: {}", kind.name, why.what);
    counting.missing_.hint =
        no_such_counter(number)
            ? "run on the host, or enable performance counters in the hypervisor"
            : why.hint;
  }
  return counting;
}

std::vector<RawCount> Counting::Counter::read() const {
  std::vector<RawCount> raw(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto& one = raw[i];
    if (::read(parts[i].get(), &one, sizeof one) != sizeof one) one = {};
    if (before.empty()) continue;
    one.value -= std::min(one.value, before[i].value);
    one.enabled -= std::min(one.enabled, before[i].enabled);
    one.running -= std::min(one.running, before[i].running);
  }
  return raw;
}

void Counting::restart() {
  for (auto& counter : counters_) {
    counter.before.clear();
    counter.before = counter.read();
  }
}

Counts Counting::read() const {
  auto counts = missing_;
  for (const auto& counter : counters_)
    counts.counted.push_back(sum_of(counter.name, counter.read()));
  return counts;
}

}  // namespace clrscope::collect::perf
