// Exceptions of a trace, counted by type and by the place that threw them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/only_counted.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "model/intern.h"

namespace clrscope::analyze {

class Exceptions {
 public:
  struct Type {
    std::uint64_t count = 0;
    std::uint64_t rethrown = 0;
    std::string message{};  // of the first
    std::uint32_t hresult = 0;
    std::map<FrameId, std::uint64_t> sites{};

    std::vector<std::pair<FrameId, std::uint64_t>> ranked_sites() const;  // most first
  };
  using Named = std::pair<const std::string, Type>;

  explicit Exceptions(LineAt line_at = {}) : line_at_(std::move(line_at)) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);

  std::uint64_t total() const { return total_; }
  // More of them, without type and stack.
  const OnlyCounted& only_counted() const { return only_counted_; }
  std::uint64_t all() const { return total_ + only_counted_.count(); }
  std::size_t types() const { return types_.size(); }
  std::vector<const Named*> ranked() const;  // most first
  const Frame& frame(FrameId id) const { return frames_.frame(id); }
  const TraceSpan& span() const { return span_; }
  // That all() are of.
  std::chrono::nanoseconds length() const {
    return only_counted_.counted_for().value_or(span_.length());
  }
  // A second: so many of the recorded ones stand for their share of all.
  double rate(std::uint64_t recorded) const {
    const auto seconds = std::chrono::duration<double>{length()}.count();
    if (seconds <= 0 || total_ == 0) return 0;
    return static_cast<double>(recorded) / static_cast<double>(total_) *
           static_cast<double>(all()) / seconds;
  }

 private:
  struct Trace {
    Trace(FrameTable& frames, const LineAt& line_at) : sites(frames, line_at) {}
    KnownEvents known;
    Providers providers;
    Sites sites;
    std::map<std::pair<StringId, StackId>, std::uint64_t> by_stack;
  };
  void count(const nettrace::Reader& reader, const Event& event);

  LineAt line_at_;
  FrameTable frames_;
  StringTable names_;
  std::optional<Trace> trace_;
  std::map<std::string, Type> types_;
  std::uint64_t total_ = 0;
  OnlyCounted only_counted_{"exceptions"};
  TraceSpan span_;
};

}  // namespace clrscope::analyze
