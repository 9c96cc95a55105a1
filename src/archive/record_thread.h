// A running recording, on a thread of its own. Any thread may query and stop it.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "ops/record.h"

namespace clrscope::archive {

// What is known of it now.
struct RecordState {
  bool started = false;
  bool ended = false;
  Process process{};
  std::string sampling{};                // a name of ops::Sampling: where stacks come from
  std::vector<std::string> notes{};      // what is missing and why, a line each
  std::vector<std::string> providers{};  // "Name:0x1:5"
  ops::StreamStatus status{};
  std::string ending{};          // when it has ended: a name of StopCause or ops::RecordEnding
  bool target_failed = false;    // it died, or does not answer
  std::optional<Error> error{};  // it could not start, or failed
};

// Who asked a recording to end.
enum class StopCause : std::uint8_t {
  kStopped,
  kDiscarded,
  kCancelled,
  kLease,
  kClientLeft,
  kNotStarted,
  kShutdown,
};
std::span<const std::string_view> names_of(StopCause);

class RecordThread {
 public:
  // `on_end` is called on the thread when nothing follows.
  RecordThread(ops::RecordRequest request, std::function<void(const RecordState&)> on_end = {});
  ~RecordThread();  // stops it and waits
  RecordThread(const RecordThread&) = delete;
  RecordThread& operator=(const RecordThread&) = delete;

  // Asks it to end in good order: method names follow. The first reason counts.
  void stop(StopCause why);
  RecordState state() const;
  // True when it has started, or ended; false: not within that time.
  bool wait_started(std::chrono::milliseconds patience) const;
  bool wait_ended(std::chrono::milliseconds patience) const;

 private:
  void run();

  ops::RecordRequest request_;
  std::function<void(const RecordState&)> on_end_;
  UniqueFd stop_;
  int stop_fds_[1];
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  RecordState state_;
  std::optional<StopCause> why_;
  std::jthread thread_;  // last member: joins first
};

}  // namespace clrscope::archive
