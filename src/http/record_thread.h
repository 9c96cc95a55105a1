// A recording under way, on a thread of its own. Any thread may ask and stop it.
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

namespace clrscope::http {

// What is known of it now.
struct RecordState {
  bool started = false;
  bool ended = false;
  Process process{};
  std::string sampling{};                // "perf", "runtime", "none": where stacks come from
  std::vector<std::string> notes{};      // what is missing and why, a line each
  std::vector<std::string> providers{};  // "Name:0x1:5"
  collect::StreamStatus status{};
  std::string ending{};  // when it has ended: "duration", "stopped", "lease", "target died" …
  std::optional<Error> error{};  // it could not start, or failed

  bool target_failed() const {
    return ending == "target died" || ending == "target does not answer";
  }
};

class RecordThread {
 public:
  // `on_end` is called on the thread when nothing follows.
  RecordThread(ops::RecordWish wish, std::function<void(const RecordState&)> on_end = {});
  ~RecordThread();  // stops it and waits
  RecordThread(const RecordThread&) = delete;
  RecordThread& operator=(const RecordThread&) = delete;

  // Asks it to end in good order: method names follow. The first reason counts.
  void stop(std::string why);
  RecordState state() const;
  // True when it has started, or ended; false: not within that time.
  bool wait_started(std::chrono::milliseconds patience) const;
  bool wait_ended(std::chrono::milliseconds patience) const;

 private:
  void run();

  ops::RecordWish wish_;
  std::function<void(const RecordState&)> on_end_;
  UniqueFd stop_;
  int stop_fds_[1];
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  RecordState state_;
  std::string why_;
  std::jthread thread_;  // last member: joins first
};

}  // namespace clrscope::http
