#include "collect/agent/cpu_samples.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"
#include "collect/perf/registers_x64.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::seconds kAnswer{10};
constexpr std::chrono::milliseconds kOnTheWay{2};
constexpr std::size_t kMostThreads = 1 << 16;
constexpr std::uint64_t kLongestWeightNs = 60'000'000'000;
constexpr double kWellCovered = 0.9;

std::uint64_t cpu_time_of(pid_t pid) {
  clockid_t clock{};
  timespec now{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &now) != 0) return 0;
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(now.tv_nsec);
}

TraceTime time_of(std::uint64_t ns) {
  constexpr std::uint64_t kLatest = std::uint64_t{1} << 62;
  return TraceTime{std::chrono::nanoseconds{static_cast<std::int64_t>(std::min(ns, kLatest))}};
}

std::string thread_folder(pid_t pid, std::uint64_t thread) {
  return fmt::format("/proc/{}/task/{}", pid, thread);
}

}  // namespace

Result<> AgentCpuSamples::open() {
  if (arena_) return {};
  outer_threads_.emplace(TRY(OuterThreads::of(pid_)));
  arena_.emplace(TRY(connection_.open_arena(Deadline{kAnswer})));
  return {};
}

Result<> AgentCpuSamples::start() {
  TRY(open());
  const auto rate = std::clamp(rate_, 1U, wire::kUsualCpuRate);
  started_ = TraceClock::now();
  cpu_before_ns_ = cpu_time_of(pid_);
  price_before_ = arena_->callback_time(wire::Spender::kCpu);
  (void)TRY(connection_.demand(wire::RequestKind::kSwitch,
                               wire::kSourceCpu | (rate << wire::kRateShift), Deadline{kAnswer}));
  return {};
}

Result<> AgentCpuSamples::stop() {
  if (stopped_ || !arena_) return {};
  stopped_ = true;
  cpu_after_ns_ = cpu_time_of(pid_);
  const auto off = connection_.demand(wire::RequestKind::kSwitch, 0, Deadline{kAnswer});
  if (!off && off.error().code != Errc::kGone) return fail(off.error());
  return {};
}

void AgentCpuSamples::keep(const void* bytes, std::uint32_t size) {
  const auto* sample = wire::parse_cpu_sample(bytes, size);
  if (!sample || sample->weight_ns > kLongestWeightNs || sample->weight_ns == 0) return;
  const auto* stack = reinterpret_cast<const std::uint8_t*>(sample + 1);
  kept_.push_back({*sample, {stack, stack + sample->stack_bytes}});
}

void AgentCpuSamples::drain(const std::function<void(const perf::Record&)>& take) {
  if (!arena_) return;
  const auto now = TraceClock::now();
  arena_->drain([this](const void* bytes, std::uint32_t size) { keep(bytes, size); });
  std::ranges::stable_sort(kept_, {}, [](const Kept& one) { return one.fixed.monotonic_ns; });
  const auto whole = static_cast<std::uint64_t>((now - kOnTheWay).time_since_epoch().count());
  const auto newest = static_cast<std::uint64_t>(now.time_since_epoch().count());
  while (!kept_.empty() && (stopped_ || kept_.front().fixed.monotonic_ns <= whole ||
                            kept_.front().fixed.monotonic_ns > newest + 1'000'000'000)) {
    give(kept_.front(), take);
    kept_.pop_front();
  }
}

void AgentCpuSamples::give(const Kept& kept, const std::function<void(const perf::Record&)>& take) {
  const auto& sample = kept.fixed;
  const bool is_new = !threads_.contains(sample.header.thread);
  const auto now = TraceClock::now();
  const perf::Origin origin{
      .event = perf::EventIndex{0},
      .time = std::clamp(time_of(sample.monotonic_ns), started_, std::max(started_, now)),
      .process = ProcessId{pid_},
      .thread = outer_threads_->outer(sample.header.thread),
      .cpu = sample.processor};
  if (is_new) {
    if (threads_.size() >= kMostThreads) threads_.clear();
    threads_[sample.header.thread] = origin.thread;
    auto name = read_file(thread_folder(pid_, static_cast<std::uint64_t>(origin.thread)) + "/comm");
    if (name && !name->empty()) {
      if (name->back() == '\n') name->pop_back();
      take(perf::ThreadName{.origin = origin,
                            .process = origin.process,
                            .thread = origin.thread,
                            .exec = false,
                            .name = *name});
    }
  }
  ++samples_;
  weight_ns_ += sample.weight_ns;
  const Bytes registers{reinterpret_cast<const std::uint8_t*>(sample.registers),
                        sizeof sample.registers};
  take(perf::Sample{.origin = origin,
                    .mode = perf::CodeMode::kUser,
                    .ip = 0,
                    .period = sample.weight_ns,
                    .registers = {perf::x64::kGeneralRegisters, registers},
                    .stack = kept.stack});
}

std::uint64_t AgentCpuSamples::lost() const {
  if (!arena_) return 0;
  return arena_->drops(wire::Drop::kRingFull) + arena_->drops(wire::Drop::kRingsBusy);
}

std::vector<std::string> AgentCpuSamples::notes() const {
  std::vector<std::string> out;
  if (!arena_) return out;
  const auto seen = arena_->cpu_counts();
  const bool cpu_known = cpu_before_ns_ > 0 && cpu_after_ns_ > cpu_before_ns_;
  const auto cpu = static_cast<double>(cpu_after_ns_ - cpu_before_ns_);
  if (cpu_known) {
    const auto price = arena_->callback_time(wire::Spender::kCpu) - price_before_;
    out.push_back(fmt::format(
        "taking the samples took {} on the threads of the process, {:.1f} % of their CPU time",
        format_duration(price), 100 * static_cast<double>(price.count()) / cpu));
  }
  if (seen.ticks_missed > 0)
    out.push_back(
        fmt::format("{} expirations of CPU timers gave no sample of their own: the kernel checks "
                    "these timers only on its tick. Each sample is weighted by the CPU time since "
                    "the last one of its thread",
                    format_count(seen.ticks_missed)));
  if (cpu_known) {
    const auto covered = static_cast<double>(weight_ns_) / cpu;
    if (covered < kWellCovered)
      out.push_back(
          fmt::format("the samples cover {:.0f} % of the CPU time of the process: threads "
                      "that live or run for less than a tick of the kernel are missed",
                      100 * covered));
  }
  if (seen.unarmed > 0)
    out.push_back(
        fmt::format("{} threads have no CPU timer: the limit of pending signals "
                    "(ulimit -i) is reached",
                    format_count(seen.unarmed)));
  if (seen.skipped > 0)
    out.push_back(fmt::format("{} samples were skipped while a thread handled a fault",
                              format_count(seen.skipped)));
  if (seen.handler_taken > 0)
    out.push_back(
        fmt::format("the program replaced the handler of SIGPROF {} times; the agent took "
                    "the signal again and passes others on",
                    format_count(seen.handler_taken)));
  return out;
}

}  // namespace clrscope::collect
