#include "live/code_lines.h"

#include <algorithm>

#include "base/log.h"

namespace clrscope::live {

LineAt CodeLines::for_answer() {
  if (!open_) return {};
  return [this, answer = std::make_shared<Answer>()](std::uint64_t address) {
    return find(*answer, address);
  };
}

std::optional<SourceLine> CodeLines::find(Answer& answer, std::uint64_t address) {
  const std::lock_guard lock{mutex_};
  if (const auto at = known_.find(address); at != known_.end()) return at->second;
  if (answer.is_over) return std::nullopt;
  auto now = TraceClock::now();
  if (!answer.look_up) {
    answer.began = now;
    auto opened = now < not_before_ ? Result<LineAt>{LineAt{}} : open_();
    if (!opened) {
      log(LogLevel::kDebug, "no source lines: {}", opened.error().what);
      not_before_ = now + kRefused;
    } else {
      answer.look_up = *std::move(opened);
    }
    now = TraceClock::now();
    answer.until = now + kPatience;
  }
  if (!answer.look_up || now > answer.until) {
    answer.is_over = true;
    answer.look_up = {};
    return std::nullopt;
  }
  auto line = answer.look_up(address);
  if (known_.size() >= kMost) known_.clear();
  known_.emplace(address, line);
  now = TraceClock::now();
  not_before_ = std::max(not_before_, now + 10 * (now - answer.began));
  return line;
}

}  // namespace clrscope::live
