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
  if (auto text = proc.read(fmt::format("task/{}/schedstat", tid)); text && !text->empty())
    return *std::move(text);
  // A kernel without schedstat: the switches are in a longer file.
  auto status = proc.read(fmt::format("task/{}/status", tid));
  return status ? *std::move(status) : std::string{};
}

class Taker {
 public:
  Taker(Target& target, Walker& walker, StopPolicy policy)
      : target_(target), walker_(walker), policy_(policy) {}

  Result<ThreadStacks> run() {
    std::optional<ProcView> proc;
    if (target_.kind() == TargetKind::kLive) proc = TRY(ProcView::open(target_.pid()));
    for (auto& os : TRY(target_.threads())) out_.threads.push_back({.os = std::move(os)});
    for (auto& thread : out_.threads) read(thread, proc ? &*proc : nullptr, kFirstRead);
    prepare();
    for (auto& thread : out_.threads) walk(thread, proc ? &*proc : nullptr);
    if (proc && policy_ == StopPolicy::kBriefly) stop_the_rest();
    for (auto& thread : out_.threads)
      if (thread.broken.empty() && !thread.walked.whole())
        thread.broken = std::string{unwind::name_of(thread.walked.stop)};
    return std::move(out_);
  }

 private:
  // `proc` is null where nothing moves.
  void read(ThreadStack& thread, const ProcView* proc, std::size_t bytes) {
    if (!proc) {
      if (thread.os.registers.knows(kRsp))
        thread.stack = walker_.read_stack(thread.os.registers, bytes);
      return;
    }
    for (int tries = 0; tries < kTries; ++tries) {
      const auto before = times_run(*proc, thread.os.tid);
      const auto place = proc->read(fmt::format("task/{}/syscall", thread.os.tid));
      thread.os.registers = {};
      thread.os.syscall.reset();
      if (place) parse_syscall_file(*place, thread.os);
      thread.running = !thread.os.registers.knows(kRip);
      if (thread.running) return;
      thread.stack = walker_.read_stack(thread.os.registers, bytes);
      if (!before.empty() && before == times_run(*proc, thread.os.tid)) return;
    }
    thread.stack = {};
    thread.running = true;
  }

  void prepare() {
    std::vector<StackImage> stacks;
    for (auto& thread : out_.threads) stacks.push_back(std::move(thread.stack));
    walker_.prepare(stacks);
    for (std::size_t i = 0; i < stacks.size(); ++i) out_.threads[i].stack = std::move(stacks[i]);
  }

  void walk(ThreadStack& thread, const ProcView* proc) {
    if (thread.stack.bytes.empty()) return;
    thread.walked = walker_.walk(thread.stack);
    for (auto bytes = kFirstRead; thread.walked.stop == unwind::Stop::kNoMemory &&
                                  bytes < kMostRead && walker_.cut_short(thread.stack);) {
      bytes *= 8;
      read(thread, proc, bytes);
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
  ThreadStacks out_;
};

}  // namespace

Result<ThreadStacks> take_stacks(Target& target, Walker& walker, StopPolicy policy) {
  return Taker{target, walker, policy}.run();
}

}  // namespace clrscope::inspect
