// The last minutes of some events of a process, unchanged: the data of a view.
//
// Bounded by time and by bytes; what is removed early because of the bytes is counted. Events that
// name code (methods, modules) are kept separately and not by age: a stack of now needs old names.
// A window can be read like a trace, so that every report of analyze/ works on it unchanged. add()
// is called on one thread; everything else on any.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "analyze/report.h"
#include "analyze/sites.h"
#include "base/result.h"
#include "hub/block.h"

namespace clrscope::live {

struct WindowLimits {
  std::chrono::nanoseconds length{std::chrono::minutes{10}};
  std::size_t bytes = 8 << 20;
  bool names = false;  // events that name code are kept apart
  std::size_t name_bytes = 16 << 20;
};

class Window {
 public:
  using Blocks = std::vector<std::shared_ptr<const hub::Block>>;
  struct State {
    TraceTime from{};              // events since then are here
    std::uint64_t events = 0;      // that came, without those that name something
    std::uint64_t pushed_out = 0;  // left before their time, for lack of room
    std::uint64_t names_left = 0;  // that found no room
  };

  explicit Window(WindowLimits limits) : limits_(limits), since_(TraceClock::now()) {}

  void add(const hub::Batch& batch);
  // What is there now; it does not change any more.
  Blocks events(TraceTime now);
  Blocks names();
  State state() const;

 private:
  struct Part {  // blocks of our own; the last one still grows
    std::deque<std::shared_ptr<hub::Block>> blocks{};
    std::size_t bytes = 0;  // of those that are full
    bool open = false;
  };
  static void put(Part& part, const hub::Block& from, std::uint32_t row);
  static void seal(Part& part);
  static std::size_t bytes_of(const Part& part);
  void tidy(TraceTime now);

  const WindowLimits limits_;
  mutable std::mutex mutex_;
  TraceTime since_;  // nothing earlier is here
  Part events_, names_;
  State state_;
  std::uint64_t reader_ = 0;  // whose types are known
  analyze::KnownEvents known_;
};

struct WindowTrace {
  Window::Blocks names{};
  Window::Blocks events{};
  Bytes rundown{};            // a whole trace whose events name code; may be empty
  bool modules_only = false;  // of the rundown
  TraceTime from{}, to{};
};

// Gives a report all of it, as one trace that lasts from `from` to `to`.
Result<> read_window(const WindowTrace& window, analyze::Report& report);

}  // namespace clrscope::live
