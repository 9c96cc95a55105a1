#include "inspect/take_snapshot.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "inspect/find_waits.h"
#include "inspect/frame_names.h"
#include "inspect/objects.h"
#include "inspect/pool.h"
#include "inspect/proc_view.h"
#include "inspect/regex_call.h"
#include "inspect/thin_locks.h"
#include "inspect/wait_graph.h"
#include "inspect/walk.h"

namespace clrscope::inspect {
namespace {

using Clock = std::chrono::steady_clock;

// From /proc/PID/status: dead, or about to be by a SIGKILL.
bool is_ending(std::string_view status) {
  constexpr std::uint64_t kKill = 1 << (SIGKILL - 1);
  for (const auto line : split(status, '\n')) {
    const auto value = trim(line.substr(std::min(line.find(':') + 1, line.size())));
    if (line.starts_with("State:") && (value.starts_with('Z') || value.starts_with('X')))
      return true;
    if (line.starts_with("SigPnd:") || line.starts_with("ShdPnd:"))
      if ((parse_number(fmt::format("0x{}", value)).value_or(0) & kKill) != 0) return true;
  }
  return false;
}

// A name that is missing may be found the next time.
bool all_named(const std::vector<Frame>& frames) {
  return std::ranges::none_of(frames, [](const Frame& frame) {
    return frame.kind == FrameKind::kStub || (frame.method.empty() && frame.module.empty());
  });
}

class SnapshotBuilder {
 public:
  SnapshotBuilder(Target& target, RuntimeReader* reader, const SnapshotOptions& request,
                  SnapshotMemo& memo)
      : target_(target), reader_(reader), request_(request), memo_(memo), walker_(memo.walker) {}

  Result<Snapshot> run() {
    const auto began = Clock::now();
    out_.pid = target_.pid();
    out_.target = target_.kind();
    out_.taken = std::chrono::system_clock::now();
    out_.notes = target_.remarks();
    // First of all: a reader may forget what it knew before when it is asked for threads.
    if (reader_) read_runtime_threads();
    if (walker_)
      TRY(walker_->look_again());
    else
      walker_ = TRY(Walker::of(target_, reader_));
    auto stacks = TRY(take_stacks(target_, *walker_, request_.stop, &memo_.stacks));
    out_.pause = stacks.pause;
    std::ranges::move(stacks.notes, std::back_inserter(out_.notes));
    name_frames(stacks);
    if (reader_) {
      add_runtime_threads();
      find_locks();
    }
    if (target_.kind() == TargetKind::kLive) TRY(check_alive());
    out_.took = Clock::now() - began;
    return std::move(out_);
  }

 private:
  void name_frames(ThreadStacks& stacks) {
    auto& lines = memo_.lines;
    if (reader_ && request_.lines && !lines)
      lines.emplace(target_, *reader_, request_.symbol_folder);
    FrameNames names{target_, *walker_, reader_,
                     request_.native ? NativeNaming::kFunctions : NativeNaming::kModuleOnly,
                     request_.lines && lines ? &*lines : nullptr};
    std::ranges::sort(stacks.threads, {},
                      [](const ThreadStack& one) { return one.os.namespace_tid; });
    const bool alike = memo_.native == request_.native && memo_.with_lines == request_.lines;
    const auto before = alike ? std::exchange(memo_.frames, {}) : decltype(memo_.frames){};
    memo_.frames.clear();
    memo_.native = request_.native;
    memo_.with_lines = request_.lines;
    for (auto& stack : stacks.threads) {
      images_.push_back(std::move(stack.stack));
      ThreadView view{.os = std::move(stack.os),
                      .whole = stack.walked.whole() && !stack.walked.frames.empty(),
                      .broken = std::move(stack.broken),
                      .running = stack.running};
      const auto known = stack.unchanged ? before.find(view.os.tid) : before.end();
      if (known != before.end()) {
        view.frames = known->second;
      } else {
        view.frames.reserve(stack.walked.frames.size());
        for (const auto& frame : stack.walked.frames) view.frames.push_back(names.name(frame));
      }
      if (!stack.running && view.whole && all_named(view.frames))
        memo_.frames[view.os.tid] = view.frames;
      out_.threads.push_back(std::move(view));
    }
  }

  void read_runtime_threads() {
    out_.runtime = reader_->version();
    // "10.0.12-servicing.26422.108": how a release was built is of no interest.
    out_.runtime.resize(std::min(out_.runtime.find("-servicing"), out_.runtime.size()));
    out_.runtime.resize(std::min(out_.runtime.find("-rtm"), out_.runtime.size()));
    out_.source = reader_->source();
    if (auto threads = reader_->threads())
      runtime_threads_ = *std::move(threads);
    else
      out_.notes.push_back("the runtime's threads are unknown: " + threads.error().what);
  }

  void add_runtime_threads() {
    std::unordered_map<std::uint32_t, ThreadView*> by_id;
    for (auto& view : out_.threads) by_id.emplace(view.os_id(), &view);
    for (auto& thread : runtime_threads_) {
      const auto view = by_id.find(thread.os_id);
      if (thread.os_id == 0 || view == by_id.end() || view->second->runtime)
        out_.without_os_thread.push_back(std::move(thread));
      else
        view->second->runtime = std::move(thread);
    }
  }

  void find_locks() {
    Objects objects{target_, *reader_, *walker_};
    auto monitors = reader_->sync_blocks();
    if (!monitors)
      out_.notes.push_back("the runtime's locks are unknown: " + monitors.error().what);
    else
      note_missing_locks(*monitors);
    const auto known = monitors ? std::move(monitors->known) : std::vector<SyncBlock>{};
    auto waits = find_waits(out_, images_, objects, known);
    if (target_.kind() == TargetKind::kLive) {
      // What is not the same twice was on its way: it counts for nothing.
      objects.forget();
      const auto again = reader_->sync_blocks();
      const auto second =
          find_waits(out_, images_, objects, again ? again->known : std::vector<SyncBlock>{});
      for (std::size_t i = 0; i < waits.size(); ++i)
        if (!same(waits[i], second[i]) || !stands_still(out_.threads[i], waits[i]))
          waits[i].reset();
    }
    for (std::size_t i = 0; i < waits.size(); ++i)
      out_.threads[i].waiting_for = std::move(waits[i]);
    note_missing_heap();
    add_locks(out_, known);
    add_thin_locks(find_thin_locks(out_, images_, objects));
    for (auto& lock : out_.locks)
      if (lock.type.empty()) lock.type = objects.type_name(lock.object);
    out_.cycles = find_cycles(out_);
    out_.pool = find_pool(out_, images_, objects);
    for (std::size_t i = 0; i < out_.threads.size(); ++i)
      out_.threads[i].regex = find_regex_call(out_.threads[i], images_[i], objects);
  }

  void add_thin_locks(std::vector<Lock> locks) {
    for (auto& lock : locks) {
      if (std::ranges::find(out_.locks, lock.object, &Lock::object) != out_.locks.end()) continue;
      for (auto& thread : out_.threads)
        if (thread.os_id() == lock.owner_os_id) thread.holds.push_back(lock.object);
      out_.locks.push_back(std::move(lock));
    }
  }

  // A core may have a part of the runtime's table, or of what it leads to.
  void note_missing_locks(const SyncBlocks& monitors) {
    out_.locks_unread = monitors.unread;
    if (monitors.unread > 0)
      out_.notes.push_back(
          fmt::format("{} of {} entries of the runtime's lock table could not be read: the owners "
                      "of these locks are unknown, and deadlocks among them are not detected",
                      monitors.unread, monitors.unread + monitors.known.size()));
    if (monitors.cut && target_.kind() == TargetKind::kCore)
      out_.notes.emplace_back(
          "this core has only a part of the runtime's lock table: there may be more locks");
  }

  // A small core has stacks, and not the objects that they point to.
  void note_missing_heap() {
    const auto waits_for_object = [](const ThreadView& thread) {
      return thread.waiting_for && thread.waiting_for->kind != WaitKind::kSleep &&
             thread.waiting_for->kind != WaitKind::kPoolIdle &&
             thread.waiting_for->kind != WaitKind::kIo;
    };
    const auto knows_object = [](const ThreadView& thread) {
      return thread.waiting_for && !thread.waiting_for->type.empty();
    };
    if (target_.kind() == TargetKind::kCore &&
        std::ranges::any_of(out_.threads, waits_for_object) &&
        std::ranges::none_of(out_.threads, knows_object))
      out_.notes.emplace_back(
          "this core has no heap: what threads wait for is unknown (use a dump of type heap or "
          "full)");
  }

  // What a process left behind that ended meanwhile looks like a process without frames.
  Result<> check_alive() {
    const auto proc = TRY(ProcView::open(target_.pid()));
    if (is_ending(TRY(proc.read("status"))))
      return fail(Errc::kGone, "process {} ended while it was being read", target_.pid());
    return {};
  }

  // Whether a thread that is said to wait for another is where its stack was read.
  bool stands_still(const ThreadView& thread, const std::optional<Wait>& wait) {
    if (!wait || wait->owner_os_id == 0) return true;
    const auto proc = ProcView::open(target_.pid());
    const auto text =
        proc ? proc->read(fmt::format("task/{}/syscall", thread.os.tid)) : std::string{};
    OsThread now;
    if (text) parse_syscall_file(*text, now);
    return now.registers.knows(unwind::kRip) &&
           now.registers[unwind::kRip] == thread.os.registers[unwind::kRip] &&
           now.registers[unwind::kRsp] == thread.os.registers[unwind::kRsp];
  }

  static bool same(const std::optional<Wait>& a, const std::optional<Wait>& b) {
    return a && b && a->kind == b->kind && a->object == b->object &&
           a->owner_os_id == b->owner_os_id;
  }

  Target& target_;
  RuntimeReader* reader_;
  const SnapshotOptions& request_;
  SnapshotMemo& memo_;
  std::unique_ptr<Walker>& walker_;
  std::vector<RuntimeThread> runtime_threads_;
  std::vector<StackImage> images_;  // in the order of out_.threads
  Snapshot out_;
};

}  // namespace

Result<Snapshot> take_snapshot(Target& target, RuntimeReader* reader,
                               const SnapshotOptions& request, SnapshotMemo* memo) {
  SnapshotMemo of_this_one;
  return SnapshotBuilder{target, reader, request, memo ? *memo : of_this_one}.run();
}

std::string title_of(const ThreadView& thread) {
  return fmt::format("thread {} \"{}\"", thread.os_id(), name_of(thread));
}

const ThreadView* find_thread(const Snapshot& snapshot, std::uint32_t os_id) {
  const auto found = std::ranges::lower_bound(snapshot.threads, os_id, {}, &ThreadView::os_id);
  return found == snapshot.threads.end() || found->os_id() != os_id ? nullptr : &*found;
}

}  // namespace clrscope::inspect
