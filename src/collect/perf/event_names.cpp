#include "collect/perf/event_names.h"

#include <fmt/format.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "collect/perf/tracefs.h"

namespace clrscope::collect::perf {
namespace {

constexpr std::size_t kMostEvents = 64;  // each costs a descriptor per CPU
constexpr std::int64_t kMostSyscalls = 1024;
constexpr std::string_view kSyscalls = "syscalls";
constexpr std::string_view kEnter = "raw_syscalls:sys_enter";
constexpr std::string_view kExit = "raw_syscalls:sys_exit";

struct Counter {
  std::string_view name;
  std::uint64_t config;
};
constexpr Counter kCounters[] = {
    {"page-faults", PERF_COUNT_SW_PAGE_FAULTS},
    {"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"cpu-migrations", PERF_COUNT_SW_CPU_MIGRATIONS},
    {"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS},
};

std::optional<std::int64_t> syscall_number(std::string_view name) {
  for (std::int64_t i = 0; i < kMostSyscalls; ++i)
    if (!name.empty() && syscall_name(i) == name) return i;
  return std::nullopt;
}

// The nearest of the candidates, as a hint.
std::string hint_for(std::string_view word, const std::vector<std::string_view>& candidates,
                     std::string_view otherwise) {
  const auto meant = nearest(word, candidates);
  return meant ? fmt::format("did you mean {}?", *meant) : std::string{otherwise};
}

Failure no_such_counter(std::string_view name) {
  std::vector<std::string_view> known{kSyscalls};
  for (const auto& counter : kCounters) known.push_back(counter.name);
  return fail(Errc::kUsage, "unknown perf event '{}'", name)
      .hint("{}", hint_for(name, known,
                           fmt::format("use system:name of a tracepoint, or {}",
                                       fmt::join(known.begin(), known.end(), ", "))));
}

Failure no_such_syscall(std::string_view name) {
  std::vector<std::string_view> known;
  for (std::int64_t i = 0; i < kMostSyscalls; ++i)
    if (const auto one = syscall_name(i); !one.empty()) known.push_back(one);
  return fail(Errc::kUsage, "unknown system call '{}'", name)
      .hint("{}", hint_for(name, known,
                           "use syscalls for all of them, or a name such as syscalls:openat"));
}

// A name may be wrong in its system, or behind it.
Failure no_such_tracepoint(const Tracefs& tracefs, std::string_view name) {
  const auto system = name.substr(0, name.find(':'));
  auto all = tracefs.matching(fmt::format("{}:*", system));
  const bool system_known = all && !all->empty();
  if (!system_known) all = tracefs.matching("*:*");
  std::vector<std::string_view> known;
  if (all) known.assign(all->begin(), all->end());
  const auto meant = nearest(name, known);
  auto failure = fail(Errc::kUsage, "this kernel has no tracepoint '{}'", name);
  if (meant) return std::move(failure).hint("did you mean {}?", *meant);
  if (!system_known) return std::move(failure).hint("run perf list tracepoint to list them");
  known.resize(std::min<std::size_t>(known.size(), 5));
  return std::move(failure).hint("such as {}", fmt::join(known, ", "));
}

class EventNames {
 public:
  Result<std::vector<EventRequest>> parse(std::string_view list) {
    for (const auto part : split(list, ',')) {
      const auto name = trim(part);
      if (name.empty())
        return fail(Errc::kUsage, "an empty name in --perf-events '{}'", list)
            .hint("such as syscalls:openat,page-faults");
      TRY(add(name));
    }
    add_syscalls();
    if (requests_.size() > kMostEvents)
      return fail(Errc::kUsage, "--perf-events requests too many events: {}", requests_.size())
          .hint("use at most {}", kMostEvents);
    return std::move(requests_);
  }

 private:
  Result<> add(std::string_view name) {
    const auto colon = name.find(':');
    if (name == kSyscalls || name == "syscalls:*") {
      all_syscalls_ = true;
      return {};
    }
    if (colon == std::string_view::npos) return add_counter(name);
    const auto rest = name.substr(colon + 1);
    if (name.substr(0, colon) == kSyscalls && !rest.starts_with("sys_")) {
      const auto number = syscall_number(rest);
      if (!number) return no_such_syscall(rest);
      syscalls_.push_back(*number);
      return {};
    }
    return add_tracepoints(name);
  }

  Result<> add_counter(std::string_view name) {
    const auto* found = std::ranges::find(kCounters, name, &Counter::name);
    if (found == std::end(kCounters)) return no_such_counter(name);
    EventRequest request;
    request.counter_name = found->name;
    request.software = found->config;
    request.stack_bytes = kOffCpuStackBytes;
    put(std::move(request));
    return {};
  }

  Result<> add_tracepoints(std::string_view pattern) {
    if (!tracefs_) tracefs_.emplace(TRY(Tracefs::open()));
    const auto names = TRY(tracefs_->matching(pattern));
    if (names.empty()) return no_such_tracepoint(*tracefs_, pattern);
    for (const auto& name : names) put(tracepoint_samples(name, kOffCpuStackBytes));
    return {};
  }

  // The begin of a call has its stack; its end has only the result.
  void add_syscalls() {
    if (!all_syscalls_ && syscalls_.empty()) return;
    std::vector<std::string> each;
    for (const auto number : syscalls_) each.push_back(fmt::format("id == {}", number));
    auto enter = tracepoint_samples(std::string{kEnter}, kOffCpuStackBytes);
    auto exit = tracepoint_samples(std::string{kExit});
    exit.callchain = false;
    if (!all_syscalls_) enter.filter = exit.filter = fmt::format("{}", fmt::join(each, " || "));
    put(std::move(enter));
    put(std::move(exit));
  }

  void put(EventRequest request) {
    const auto same = [&](const EventRequest& other) {
      return other.tracepoint == request.tracepoint && other.software == request.software;
    };
    if (std::ranges::none_of(requests_, same)) requests_.push_back(std::move(request));
  }

  std::optional<Tracefs> tracefs_;
  std::vector<EventRequest> requests_;
  std::vector<std::int64_t> syscalls_;
  bool all_syscalls_ = false;
};

}  // namespace

Result<std::vector<EventRequest>> parse_event_names(std::string_view list) {
  return EventNames{}.parse(list);
}

}  // namespace clrscope::collect::perf
