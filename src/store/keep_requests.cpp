#include "store/keep_requests.h"

namespace clrscope::store {
namespace {

// One kind of rows: those of a request lie together, in the order of the requests.
class Rows {
 public:
  // Moves the next `count` rows of all columns to where the kept ones end, or passes over them.
  template <class... Columns>
  void next(bool keep, std::size_t count, Columns&... columns) {
    if (keep && to_ != from_) (move(columns, count), ...);
    from_ += count;
    if (keep) to_ += count;
  }
  template <class... Columns>
  void end(Columns&... columns) const {
    (columns.resize(to_), ...);
  }

 private:
  template <class Column>
  void move(Column& column, std::size_t count) const {
    for (std::size_t i = 0; i < count; ++i) column[to_ + i] = column[from_ + i];
  }
  std::size_t from_ = 0, to_ = 0;
};

}  // namespace

void keep_requests(Batch& batch, const std::vector<bool>& keep) {
  auto& spans = batch.spans;
  auto& samples = batch.samples;
  Rows span_rows, step_rows, sample_rows;
  std::vector<BatchRequest> kept;
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    const auto& request = batch.requests[i];
    span_rows.next(keep[i], request.spans, spans.method, spans.parent, spans.thread, spans.kind,
                   spans.steps, spans.begin, spans.duration, spans.self, spans.queued);
    step_rows.next(keep[i], request.steps, spans.step_begin, spans.step_duration,
                   spans.step_thread);
    sample_rows.next(keep[i], request.samples, samples.time, samples.weight, samples.stack,
                     samples.span, samples.thread);
    if (keep[i]) kept.push_back(request);
  }
  span_rows.end(spans.method, spans.parent, spans.thread, spans.kind, spans.steps, spans.begin,
                spans.duration, spans.self, spans.queued);
  step_rows.end(spans.step_begin, spans.step_duration, spans.step_thread);
  sample_rows.end(samples.time, samples.weight, samples.stack, samples.span, samples.thread);
  batch.requests = std::move(kept);
}

}  // namespace clrscope::store
