#include "agent/snapshot.h"

#include "agent/names.h"
#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr std::uint32_t kMostThreads = 4096;
constexpr std::uint32_t kMostSnapshotFrames = 1 << 17;
constexpr std::uint32_t kThreadEnumNext = 7;  // slot of ICorProfilerThreadEnum
constexpr int kLongestUnloadWaitMs = 500;
constexpr HResult kSuspensionInProgress = hresult(0x80131388);
constexpr int kMostAttempts = 1000;

}  // namespace

// The runtime suspends one at a time: while a garbage collection does, it refuses us.
HResult suspend_runtime(ComObject* runtime, std::uint64_t& begin) {
  for (int attempt = 1;; ++attempt) {
    begin = read_tsc();
    const auto result = call(runtime, info::kSuspendRuntime);
    if (result != kSuspensionInProgress || attempt == kMostAttempts) return result;
    syscall_raw(number::kPoll, 0, 0, 1);
  }
}

struct Snapshot::Buffer {
  Id functions[kMostSnapshotFrames];
  Thread threads[kMostThreads];
  std::uint32_t used;
  std::uint32_t thread_count;
  std::uint32_t failed;
  std::uint32_t begin;  // of the thread that is being walked
  std::uint32_t cut;
};

void Snapshot::on_unload() {
  unloads_.fetch_add(1, std::memory_order_acq_rel);
  for (int waited = 0; naming_.load(std::memory_order_acquire) != 0; ++waited) {
    if (waited == kLongestUnloadWaitMs) return;
    syscall_raw(number::kPoll, 0, 0, 1);
  }
}

void Snapshot::walk_threads(ComObject* runtime, Recorder& recorder) {
  auto& buffer = *buffer_;
  buffer.used = buffer.thread_count = buffer.failed = 0;
  ComObject* threads = nullptr;
  if (call(runtime, info::kEnumThreads, &threads) < 0 || !threads) return;
  const auto on_frame = +[](Id function, Id, Id, std::uint32_t, std::uint8_t*, void* data) {
    auto& into = *static_cast<Buffer*>(data);
    if (function == 0) return kOk;
    if (into.used == kMostSnapshotFrames || into.used - into.begin == wire::kMostFrames) {
      ++into.cut;
      return kFalse;
    }
    into.functions[into.used++] = function;
    return kOk;
  };
  Id thread = 0;
  std::uint32_t fetched = 0;
  while (buffer.thread_count < kMostThreads &&
         call(threads, kThreadEnumNext, std::uint32_t{1}, &thread, &fetched) == kOk &&
         fetched == 1) {
    std::uint32_t os_id = 0;
    (void)call(runtime, info::kGetThreadInfo, thread, &os_id);
    buffer.begin = buffer.used;
    buffer.cut = 0;
    const auto walked =
        call(runtime, info::kDoStackSnapshot, thread, on_frame, std::uint32_t{0},
             static_cast<void*>(buffer_), static_cast<std::uint8_t*>(nullptr), std::uint32_t{0});
    if (buffer.cut != 0) recorder.count(wire::Drop::kStackCut);
    if (walked < 0 && buffer.used == buffer.begin) {
      ++buffer.failed;  // also a thread that has not run managed code yet
      continue;
    }
    buffer.threads[buffer.thread_count++] = {os_id, buffer.begin, buffer.used - buffer.begin};
  }
  release(threads);
}

void Snapshot::write_stacks(Recorder& recorder, std::uint64_t number) {
  const auto now = read_tsc();
  for (std::uint32_t i = 0; i < buffer_->thread_count; ++i) {
    const auto& thread = buffer_->threads[i];
    std::uint32_t frames[wire::kMostFrames];
    for (std::uint32_t frame = 0; frame < thread.count; ++frame)
      frames[frame] = static_cast<std::uint32_t>(buffer_->functions[thread.first + frame]);
    recorder.write(wire::ThreadStack{.header = {.kind = wire::RecordKind::kThreadStack,
                                                .bytes = 0,
                                                .thread = thread.os_id,
                                                .time = now},
                                     .snapshot = number,
                                     .managed = i,
                                     .frames = thread.count},
                   frames, thread.count);
  }
}

HResult Snapshot::take(ComObject* runtime, Recorder& recorder, const OwnEvents& events) {
  if (!buffer_) buffer_ = static_cast<Buffer*>(map_memory(sizeof(Buffer)));
  if (!buffer_) return kFail;
  const auto unloads = unloads_.load(std::memory_order_acquire);
  std::uint64_t begin = 0;
  if (const auto suspended = suspend_runtime(runtime, begin); suspended < 0) return suspended;
  walk_threads(runtime, recorder);
  naming_.store(1, std::memory_order_release);
  const auto resumed = call(runtime, info::kResumeRuntime);
  const auto end = read_tsc();
  // Each method becomes its slot, in place.
  for (std::uint32_t i = 0; i < buffer_->used; ++i)
    buffer_->functions[i] = unloads_.load(std::memory_order_acquire) == unloads
                                ? method_slot(runtime, recorder, buffer_->functions[i])
                                : wire::kNoName;
  naming_.store(0, std::memory_order_release);
  const auto number = ++number_;
  write_stacks(recorder, number);
  recorder.write(wire::SnapshotEnd{.header = {.kind = wire::RecordKind::kSnapshotEnd,
                                              .bytes = 0,
                                              .thread = thread_id(),
                                              .time = end},
                                   .snapshot = number,
                                   .pause_ticks = end - begin,
                                   .threads = buffer_->thread_count,
                                   .failed = buffer_->failed});
  events.write(runtime, TakenSnapshot{.number = number,
                                      .threads = buffer_->thread_count,
                                      .failed = buffer_->failed,
                                      .pause_ticks = end - begin});
  return resumed;
}

}  // namespace clrscope::agent
