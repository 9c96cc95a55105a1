#include <algorithm>

#include "store/sqlite/begin_forecast.h"
#include "store/sqlite/chunk.h"
#include "store/sqlite/chunk_blob.h"
#include "store/sqlite/columns.h"
#include "store/sqlite/step_forecast.h"

namespace clrscope::store {
namespace {

// Reads the spans of a chunk, request by request.
class SpanReader {
 public:
  // Both must outlive it.
  static Result<SpanReader> open(const ChunkStacks& stacks, const Blob& rest) {
    SpanReader reader{stacks};
    if (!reader.split(rest)) return damaged();
    return reader;
  }

  bool ok() const {
    return std::all_of(columns_.begin(), columns_.end(),
                       [](const ByteReader& column) { return column.ok(); });
  }
  static Failure damaged() { return fail(Errc::kCorrupt, "the spans of a chunk are damaged"); }

  void skip(std::uint64_t spans) {
    span_ += spans;
    for (; spans > 0 && columns_[kSteps].ok(); --spans) {
      for (auto column : {kParent, kSpanBegin, kDuration, kQueued, kThread, kKind})
        (void)columns_[column].read_varuint();
      auto steps = columns_[kSteps].read_varuint();
      for (; steps > 0 && columns_[kStepBegin].ok(); --steps)
        for (auto column : {kStepBegin, kStepDuration, kStepThread})
          (void)columns_[column].read_varuint();
    }
  }

  Result<> read(std::uint32_t count, std::uint32_t steps, BatchSpans& to) {
    if (!stacks_->holds(span_, count)) return damaged();
    const auto stack = span_ - stacks_->first;
    const auto first = to.method.size(), first_step = to.step_begin.size();
    for (std::uint32_t i = 0; i < count; ++i) {
      to.method.push_back(stacks_->path[stack + i]);
      to.self.push_back(stacks_->self(stack + i));
      const auto back = columns_[kParent].read_varuint();
      if (back > i) return damaged();
      to.parent.push_back(back == 0 ? 0 : static_cast<std::uint32_t>(i + 1 - back));
      to.duration.push_back(to.self.back() + read_difference(columns_[kDuration]));
    }
    if (foretold_) add_call_times(first, to);
    read_begins(first, count, to);
    std::uint32_t thread_before = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      to.queued.push_back(columns_[kQueued].read_varuint());
      thread_before += static_cast<std::uint32_t>(read_difference(columns_[kThread]));
      to.thread.push_back(thread_before);
      to.kind.push_back(static_cast<std::uint32_t>(columns_[kKind].read_varuint()));
      if (steps_foretold_)
        read_differences(to);
      else
        read_steps(to.begin[first + i], to.begin[first + i] + to.duration[first + i], to);
    }
    if (steps_foretold_ && steps > 0 && to.step_begin.size() - first_step == steps)
      add_forecasts(first, count, first_step, to);
    span_ += count;
    if (to.step_begin.size() - first_step != steps) return damaged();
    return {};
  }

 private:
  explicit SpanReader(const ChunkStacks& stacks) : stacks_(&stacks) {}

  bool split(const Blob& rest) {
    ByteReader all{as_bytes(rest.plain)};
    foretold_ = rest.layout != BlobLayout::kPlain;
    steps_foretold_ = rest.layout == BlobLayout::kForetold;
    const auto rule = foretold_ ? all.read<std::uint8_t>() : std::uint8_t{0};
    if (rule >= kBeginRules) return false;
    rule_ = static_cast<BeginRule>(rule);
    for (std::size_t i = 0; i < kRestColumns; ++i)
      columns_.emplace_back(all.take(all.read_varuint()));
    return all.ok();
  }

  // A call follows its caller: from the last one on, all calls of a span are known before it.
  static void add_call_times(std::size_t first, BatchSpans& to) {
    for (auto at = to.parent.size(); at-- > first;)
      if (const auto parent = to.parent[at]; parent != 0)
        to.duration[first + parent - 1] += to.duration[at];
  }

  void read_begins(std::size_t first, std::uint32_t count, BatchSpans& to) {
    BeginForecast forecast{rule_, count};
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto at = first + i;
      const auto parent = to.parent[at];
      to.begin.push_back(forecast.next(parent) + read_difference(columns_[kSpanBegin]));
      forecast.note(i, parent, to.begin[at], to.duration[at], to.self[at]);
    }
  }

  // The differences first: what they are to follows from the steps of later spans.
  void read_differences(BatchSpans& to) {
    std::uint32_t read = 0;
    for (auto steps = columns_[kSteps].read_varuint(); read < steps && columns_[kStepThread].ok();
         ++read) {
      to.step_begin.push_back(read_difference(columns_[kStepBegin]));
      to.step_duration.push_back(read_difference(columns_[kStepDuration]));
      to.step_thread.push_back(to.thread.back() +
                               static_cast<std::uint32_t>(read_difference(columns_[kStepThread])));
    }
    to.steps.push_back(read);
  }
  static void add_forecasts(std::size_t first, std::uint32_t count, std::size_t first_step,
                            BatchSpans& to) {
    StepForecast forecast{to, first, count, first_step};
    for (auto i = count; i-- > 0;) {
      if (to.steps[first + i] == 0) continue;
      forecast.open(i);
      auto step = forecast.step_of(i);
      for (std::uint32_t k = 0; k < to.steps[first + i]; ++k, ++step) {
        to.step_begin[step] += forecast.begin(k);
        to.step_duration[step] += forecast.duration(k);
      }
    }
  }

  void read_steps(std::uint64_t begin_before, std::uint64_t end, BatchSpans& to) {
    std::uint32_t read = 0;
    for (auto steps = columns_[kSteps].read_varuint(); read < steps && columns_[kStepThread].ok();
         ++read) {
      begin_before += read_difference(columns_[kStepBegin]);
      to.step_begin.push_back(begin_before);
      const bool is_last = foretold_ && read + 1 == steps;
      to.step_duration.push_back(is_last
                                     ? end - begin_before + read_difference(columns_[kStepDuration])
                                     : columns_[kStepDuration].read_varuint());
      to.step_thread.push_back(to.thread.back() +
                               static_cast<std::uint32_t>(read_difference(columns_[kStepThread])));
    }
    to.steps.push_back(read);
  }

  const ChunkStacks* stacks_;
  bool foretold_ = true;  // durations follow from those of the calls, the last step's from its span
  bool steps_foretold_ = true;  // all of them, by StepForecast
  BeginRule rule_{};
  std::vector<ByteReader> columns_;
  std::size_t span_ = 0;
};

}  // namespace

Result<BatchSpans> read_spans(const ChunkHead& head, std::size_t first, std::size_t count,
                              const ChunkStacks& stacks, Bytes rest) {
  const auto blob = TRY(unpack_blob(rest));
  auto reader = TRY(SpanReader::open(stacks, blob));
  std::uint64_t before = 0;
  for (std::size_t at = 0; at < first; ++at) before += head.spans[at];
  reader.skip(before);
  BatchSpans spans;
  for (std::size_t at = first; at < first + count; ++at)
    TRY(reader.read(head.spans[at], head.steps[at], spans));
  if (!reader.ok()) return SpanReader::damaged();
  return spans;
}

}  // namespace clrscope::store
