#include "inspect/thread_stacks.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "inspect/proc_view.h"

namespace clrscope::inspect {
namespace {

using unwind::kRip;
using unwind::kRsp;

constexpr std::size_t kFirstRead = 32 * 1024;        // of most stacks it is all
constexpr std::size_t kMostRead = 64 * 1024 * 1024;  // a stack larger than that is cut
constexpr std::size_t kCaptured = 256 * 1024;        // of each thread, while it is stopped
constexpr int kTries = 2;                            // for a thread that woke up while looked at

// How often a thread has run so far, as the kernel counts it; the same twice: it stood still.
std::string times_run(const ProcView& proc, pid_t tid) {
  if (auto text = proc.read_line(fmt::format("task/{}/schedstat", tid)); text && !text->empty())
    return *std::move(text);
  // A kernel without schedstat: the switches are in a longer file.
  auto status = proc.read(fmt::format("task/{}/status", tid));
  return status ? *std::move(status) : std::string{};
}

class Taker {
 public:
  Taker(Target& target, Walker& walker, StopPolicy policy, StackMemo* memo)
      : target_(target), walker_(walker), policy_(policy), memo_(memo) {}

  Result<ThreadStacks> run() {
    if (target_.kind() == TargetKind::kLive)
      TRY(find_live());
    else
      for (auto& os : TRY(target_.threads())) out_.threads.push_back(standing(std::move(os)));
    prepare();
    for (auto& thread : out_.threads)
      if (!thread.unchanged) walk(thread);
    if (memo_) remember();
    if (proc_ && policy_ == StopPolicy::kBriefly) stop_the_rest();
    for (auto& thread : out_.threads)
      if (thread.broken.empty() && !thread.walked.whole())
        thread.broken = std::string{unwind::name_of(thread.walked.stop)};
    return std::move(out_);
  }

 private:
  // Where nothing moves.
  ThreadStack standing(OsThread os) {
    ThreadStack thread{.os = std::move(os)};
    if (thread.os.registers.knows(kRsp))
      thread.stack = walker_.read_stack(thread.os.registers, kFirstRead);
    return thread;
  }

  Result<> find_live() {
    proc_ = TRY(ProcView::open(target_.pid()));
    if (memo_ && memo_->nested)
      nested_ = *memo_->nested;
    else
      nested_ = TRY(proc_->is_nested());
    if (memo_) memo_->nested = nested_;
    for (const auto id : TRY(proc_->thread_ids())) {
      ThreadStack thread{.os = {.tid = id}};
      std::string times;
      if (recall(thread, times) || read(thread, kFirstRead, std::move(times)))
        out_.threads.push_back(std::move(thread));
    }
    if (out_.threads.empty()) return fail(Errc::kGone, "process {} has ended", target_.pid());
    return {};
  }

  const StackMemo::Known* remembered(pid_t tid) const {
    if (!memo_) return nullptr;
    const auto known = memo_->threads.find(tid);
    return known == memo_->threads.end() ? nullptr : &known->second;
  }

  // Whether it has not run since the look before; and how often it has.
  bool recall(ThreadStack& thread, std::string& times) {
    const auto* const known = remembered(thread.os.tid);
    if (!known) {
      times = times_run(*proc_, thread.os.tid);
      return false;
    }
    const auto& before = *known;
    auto stack = walker_.read_stack(before.os.registers, before.bytes);
    // Asked last: it stood still while its stack was read, too.
    times = times_run(*proc_, thread.os.tid);
    if (stack.bytes.size() != before.bytes || times != before.times) return false;
    thread = {.os = before.os,
              .stack = std::move(stack),
              .walked = before.walked,
              .times = before.times,
              .unchanged = true};
    return true;
  }

  void remember() {
    std::unordered_map<pid_t, StackMemo::Known> now;
    for (const auto& thread : out_.threads)
      if (!thread.running && !thread.times.empty() && thread.walked.whole())
        now[thread.os.tid] = {.os = thread.os,
                              .walked = thread.walked,
                              .bytes = thread.stack.bytes.size(),
                              .times = thread.times};
    memo_->threads = std::move(now);
  }

  // Place and stack of a thread of a process that runs, which has run so often. False: it has
  // ended.
  bool read(ThreadStack& thread, std::size_t bytes, std::string before) {
    for (int tries = 0; tries < kTries; ++tries) {
      auto os = proc_->thread(thread.os.tid, nested_);
      if (!os) {
        thread.stack = {};
        return false;
      }
      thread.os = *std::move(os);
      thread.os.cpu = parse_schedstat(before).value_or(thread.os.cpu);
      thread.running = !thread.os.registers.knows(kRip);
      if (thread.running) return true;
      thread.stack = walker_.read_stack(thread.os.registers, bytes);
      if (auto after = times_run(*proc_, thread.os.tid); before.empty() || before != after) {
        before = std::move(after);
        continue;
      }
      thread.times = std::move(before);
      return true;
    }
    thread.stack = {};
    thread.running = true;
    return true;
  }

  // Of those whose frames are not known yet.
  void prepare() {
    std::vector<StackImage> stacks;
    for (auto& thread : out_.threads)
      if (!thread.unchanged) stacks.push_back(std::move(thread.stack));
    walker_.prepare(stacks);
    auto next = stacks.begin();
    for (auto& thread : out_.threads)
      if (!thread.unchanged) thread.stack = std::move(*next++);
  }

  void walk(ThreadStack& thread) {
    if (thread.stack.bytes.empty()) return;
    thread.walked = walker_.walk(thread.stack);
    for (auto bytes = kFirstRead; thread.walked.stop == unwind::Stop::kNoMemory &&
                                  bytes < kMostRead && walker_.cut_short(thread.stack);) {
      bytes *= 8;
      if (proc_)
        (void)read(thread, bytes, times_run(*proc_, thread.os.tid));
      else
        thread.stack = walker_.read_stack(thread.os.registers, bytes);
      if (thread.stack.bytes.empty()) return;
      walker_.prepare({&thread.stack, 1});
      thread.walked = walker_.walk(thread.stack);
    }
  }

  static bool needs_registers(const ThreadStack& thread) {
    return thread.os.state != 'Z' && (thread.stack.bytes.empty() || !thread.walked.whole());
  }

  void stop_the_rest() {
    std::vector<pid_t> wanted;
    for (const auto& thread : out_.threads)
      if (needs_registers(thread)) wanted.push_back(thread.os.tid);
    if (wanted.empty()) return;
    auto captured = capture_threads(target_.pid(), wanted, kCaptured);
    if (!captured) {
      out_.notes.push_back(fmt::format("{} with an incomplete stack: {}", threads(wanted.size()),
                                       captured.error().what));
      return;
    }
    out_.pause = captured->pause;
    std::size_t missing = wanted.size();
    for (auto& one : captured->threads) {
      const auto thread =
          std::ranges::find(out_.threads, one.tid, [](const ThreadStack& t) { return t.os.tid; });
      if (thread == out_.threads.end()) continue;
      --missing;
      StackImage stack{one.registers, one.stack_address, std::move(one.stack)};
      walker_.prepare({&stack, 1});
      auto walked = walker_.walk(stack);
      // Where the first look at a blocked thread saw more, that one stays.
      if (!walked.whole() && thread->walked.frames.size() > walked.frames.size()) continue;
      thread->os.registers = one.registers;
      thread->stack = std::move(stack);
      thread->walked = std::move(walked);
      thread->unchanged = false;
    }
    std::erase_if(out_.threads, [&](const ThreadStack& t) {  // those that ended meanwhile
      return t.stack.bytes.empty() &&
             ::access(fmt::format("/proc/{}/task/{}", target_.pid(), t.os.tid).c_str(), F_OK) != 0;
    });
    if (missing > 0)
      out_.notes.push_back(
          fmt::format("{} could not be stopped to read registers", threads(missing)));
  }

  static std::string threads(std::size_t count) {
    return fmt::format("{} thread{}", count, count == 1 ? "" : "s");
  }

  Target& target_;
  Walker& walker_;
  StopPolicy policy_;
  StackMemo* memo_;
  std::optional<ProcView> proc_;  // of a process that runs
  bool nested_ = false;
  ThreadStacks out_;
};

}  // namespace

Result<ThreadStacks> take_stacks(Target& target, Walker& walker, StopPolicy policy,
                                 StackMemo* memo) {
  return Taker{target, walker, policy, memo}.run();
}

}  // namespace clrscope::inspect
