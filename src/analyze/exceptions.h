// Exceptions of a trace, counted by type and by the place that threw them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

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

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch);
  void end_of_trace(const nettrace::Reader& reader);

  std::uint64_t total() const { return total_; }
  std::size_t types() const { return types_.size(); }
  std::vector<const Named*> ranked() const;  // most first
  const Frame& frame(FrameId id) const { return frames_.frame(id); }
  const TraceSpan& span() const { return span_; }
  double rate(std::uint64_t count) const {  // a second
    return span_.seconds() > 0 ? static_cast<double>(count) / span_.seconds() : 0;
  }

 private:
  struct Trace {
    explicit Trace(FrameTable& frames) : sites(frames) {}
    KnownEvents known;
    Providers providers;
    Sites sites;
    std::map<std::pair<StringId, StackId>, std::uint64_t> by_stack;
  };
  void count(const nettrace::Reader& reader, const Event& event);

  FrameTable frames_;
  StringTable names_;
  std::optional<Trace> trace_;
  std::map<std::string, Type> types_;
  std::uint64_t total_ = 0;
  TraceSpan span_;
};

}  // namespace clrscope::analyze
