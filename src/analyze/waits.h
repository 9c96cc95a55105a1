// Where threads waited, for how long and for what, by the kernel's switches ("cswitch").
//
// Waits that had not ended with the recording count until then, and apart as unfinished.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "analyze/universal_samples.h"

namespace clrscope::analyze {

enum class WaitReason : std::uint8_t {
  kUnknown,
  kLock,
  kEvent,     // another thread's signal, or its end, or a child's
  kPoolIdle,  // a thread of a pool, or of the kernel, without work
  kSleep,
  kIo,  // files, sockets, pipes, polling
  kPageFault,
  kRunQueue,       // it could run, but had no processor
  kLockOrEvent,    // only the kernel's side is known
  kLockOrRuntime,  // managed code called the runtime: a lock (.NET 8, 9), a collection, …
  kGcSuspension,   // the runtime had stopped all threads for a collection
  kRuntimeIdle,    // a thread of the runtime's own without work
};
constexpr std::size_t kWaitReasons = 12;
std::string_view to_string(WaitReason reason);  // "unknown", "lock", "event", "poolIdle", …
std::span<const std::string_view> names_of(WaitReason);
std::string_view words_for(WaitReason reason);  // "lock", "pool idle", …

// Frames are leaf first.
WaitReason wait_reason(const FrameTable& table, std::span<const FrameId> frames);
// The same with what the kernel and the runtime said of it.
WaitReason wait_reason(const FrameTable& table, std::span<const FrameId> frames,
                       const StackSamples& samples);

// Threads without work: nobody waits for them.
bool is_idle(WaitReason reason);

// The first method of the application; where there is none the first of the framework, else the
// first with a name.
FrameId wait_site(FrameTable& table, std::span<const FrameId> frames);

struct WaitSum {
  std::uint64_t count = 0;
  std::uint64_t ns = 0;
  std::uint64_t unfinished = 0;  // of them
  std::uint64_t unfinished_ns = 0;
  std::uint64_t longest_ns = 0;
  std::uint32_t longest_thread = 0;  // index into Waits::threads()
  TraceTime longest_at{};            // when it ended

  void add(const StackSamples& samples);
};

class Waits {
 public:
  struct Site {
    FrameId frame{};
    WaitReason reason{};
    friend auto operator<=>(const Site&, const Site&) = default;
  };
  struct ThreadTimes {
    WaitSum waits;
    std::array<std::uint64_t, kWaitReasons> ns_by_reason{};
    std::uint64_t busy_ns = 0;  // of all but those without work
    SampleSum cpu;
  };

  explicit Waits(SourceLines* lines = nullptr) : frames_(lines) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
    source_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader);

  const UniversalSamples& source() const { return source_; }
  const std::vector<SampledThread>& threads() const { return source_.threads(); }
  const WaitSum& all() const { return all_; }
  const WaitSum& idle() const { return idle_; }  // of those
  const WaitSum& busy() const { return busy_; }  // the others
  // Of those: neither the kernel nor the runtime said where.
  const WaitSum& unexplained() const { return unexplained_; }
  const WaitSum& by_reason(WaitReason reason) const {
    return by_reason_[static_cast<std::size_t>(reason)];
  }
  const std::map<Site, WaitSum>& by_site() const { return by_site_; }
  const std::vector<ThreadTimes>& by_thread() const { return by_thread_; }  // as threads()
  const Frame& frame(FrameId id) const { return frames_.frame(id); }

 private:
  FrameTable frames_;
  UniversalSamples source_{frames_, Wanted::kBoth};
  WaitSum all_;
  WaitSum idle_;
  WaitSum busy_;
  WaitSum unexplained_;
  std::array<WaitSum, kWaitReasons> by_reason_{};
  std::map<Site, WaitSum> by_site_;
  std::vector<ThreadTimes> by_thread_;
};

}  // namespace clrscope::analyze
