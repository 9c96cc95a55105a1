// Source lines of one process's code, remembered: each address is looked up once.
//
// Opens the process only for addresses that are not known yet, for a bounded time, and not again
// before ten times as long has passed: what is left out then is found by a later answer. Any
// thread; a lookup may wait for one of another thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "base/result.h"
#include "symbols/line_at.h"

namespace clrscope::live {

class CodeLines {
 public:
  using Open = std::function<Result<LineAt>()>;
  static constexpr std::chrono::milliseconds kPatience{300};  // of one answer, once it is open
  static constexpr std::chrono::seconds kRefused{30};         // until the next try
  static constexpr std::size_t kMost = 50'000;

  explicit CodeLines(Open open) : open_(std::move(open)) {}

  // For the questions of one answer; must not outlive this object. Empty where lines cannot be
  // looked up at all.
  LineAt for_answer();

 private:
  struct Answer {
    LineAt look_up{};
    TraceTime began{}, until{};
    bool is_over = false;
  };
  std::optional<SourceLine> find(Answer& answer, std::uint64_t address);

  const Open open_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::optional<SourceLine>> known_;
  TraceTime not_before_{};
};

}  // namespace clrscope::live
