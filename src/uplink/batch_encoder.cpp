#include "uplink/batch_encoder.h"

#include <sys/random.h>

#include <algorithm>
#include <unordered_map>

#include "base/bytes.h"
#include "base/proto_writer.h"
#include "uplink/self_times.h"

namespace clrscope::uplink {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kBatchBytes = 1 << 20;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kLongestLabel = 255;
constexpr std::size_t kMostSpans = 200'000;  // of one request

std::uint64_t count_of(nanoseconds time) {
  return static_cast<std::uint64_t>(std::max(time, nanoseconds{0}).count());
}

// Text of a message must be UTF-8: one bad byte, as any client may put into a path, would make the
// whole batch unreadable.
std::string valid_text(std::string_view text, std::size_t longest) {
  text = text.substr(0, longest);
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<signed char>(c) >= 0; });
  if (ascii) return std::string{text};
  const auto units = utf16_of(text);
  auto made = utf8_of(
      Bytes{reinterpret_cast<const std::uint8_t*>(units.data()), units.size() * sizeof(char16_t)});
  if (made.size() <= longest) return made;  // replaced bytes are longer than what they were
  made.resize(longest);
  while (!made.empty() && static_cast<signed char>(made.back()) < 0) made.pop_back();
  return made;
}

// The names of one batch, each once.
class NameTable {
 public:
  std::uint32_t of(std::string_view name) {
    if (name.empty()) return 0;
    const auto [at, is_new] = index_.try_emplace(valid_text(name, kLongestName),
                                                 static_cast<std::uint32_t>(index_.size() + 1));
    if (is_new) {
      out_.text(3, at->first);
      bytes_ += at->first.size() + 3;
    }
    return at->second;
  }
  const ProtoWriter& written() const { return out_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::unordered_map<std::string, std::uint32_t> index_;
  ProtoWriter out_;
  std::size_t bytes_ = 0;
};

// A packed column; one of zeros alone is left out.
class Column {
 public:
  void add(std::uint64_t value) {
    values_.append_varint(value);
    any_ = any_ || value != 0;
  }
  void put(ProtoWriter& out, std::uint32_t field) const {
    if (any_) out.message(field, values_);
  }

 private:
  ProtoWriter values_;
  bool any_ = false;
};

// The stacks of one batch that its samples have, callers first.
class StackTable {
 public:
  explicit StackTable(const RequestBatch& batch) : batch_(batch) {}

  std::uint32_t of(std::uint32_t stack, NameTable& names) {
    open_.clear();
    for (; stack != 0 && stack <= batch_.stacks.size() && !index_.contains(stack);
         stack = batch_.stacks[stack - 1].parent)
      open_.push_back(stack);
    const auto known = index_.find(stack);
    auto at = known == index_.end() ? 0 : known->second;
    for (; !open_.empty(); open_.pop_back()) {
      const auto depth = at == 0 ? 1 : depths_[at - 1] + 1;
      if (depth > kDeepestStack) return at;  // its innermost calls are left out
      depths_.push_back(depth);
      const auto frame = batch_.stacks[open_.back() - 1].frame;
      const auto name = frame < batch_.frames.size() ? names.of(batch_.frames[frame]) : 0;
      parent_.add(at);
      method_.add(name != 0 ? name : names.of("(unknown)"));
      at = static_cast<std::uint32_t>(index_.size() + 1);
      index_.emplace(open_.back(), at);
    }
    return at;
  }
  void put(ProtoWriter& out) const {
    parent_.put(out, 8);
    method_.put(out, 9);
  }
  std::size_t bytes() const { return index_.size() * 6; }

 private:
  const RequestBatch& batch_;
  std::unordered_map<std::uint32_t, std::uint32_t> index_;  // of the batch → 1 + position
  std::vector<std::uint32_t> open_;
  std::vector<std::uint32_t> depths_;  // by position
  Column parent_, method_;
};

struct SpanWriter {
  Column method, parent, begin, duration, self, queued, thread, kind, steps, step_begin,
      step_duration, step_thread;

  void put(ProtoWriter& out) const {
    const Column* columns[] = {&method, &parent, &begin, &duration,   &self,          &queued,
                               &thread, &kind,   &steps, &step_begin, &step_duration, &step_thread};
    std::uint32_t field = 0;
    for (const auto* column : columns) column->put(out, ++field);
  }
};

void write_source(ProtoWriter& out, const Source& source) {
  ProtoWriter inner;
  inner.text(1, valid_text(source.host, kLongestLabel));
  inner.text(2, valid_text(source.service, kLongestLabel));
  inner.text(3, valid_text(source.version, kLongestLabel));
  inner.text(4, source.instance);
  inner.varint(5, source.pid);
  inner.text(6, valid_text(source.runtime, kLongestLabel));
  inner.text(7, valid_text(source.relay_version, kLongestLabel));
  out.message(1, inner);
}

void write_recording(ProtoWriter& out, const Recording& recording) {
  ProtoWriter inner;
  inner.varint(1, recording.seen);
  inner.varint(2, recording.sampled);
  inner.varint(3, recording.lost_requests);
  inner.varint(4, recording.lost_spans);
  inner.varint(5, count_of(recording.cpu));
  inner.varint(6, recording.lost_samples);
  out.message(7, inner);
}

std::size_t write_spans(ProtoWriter& out, const RequestTrace& request,
                        const std::vector<std::string>& methods, NameTable& names) {
  if (request.spans.empty()) return 0;
  const auto count = std::min(request.spans.size(), kMostSpans);
  const auto self = self_times(request);
  std::unordered_map<std::uint64_t, std::uint32_t> positions;  // id → 1 + position
  positions.reserve(count);
  struct Place {
    std::uint32_t parent = 0, depth = 1;
  };
  std::vector<Place> places;
  SpanWriter columns;
  for (std::size_t at = 0; at < count; ++at) {
    const auto& span = request.spans[at];
    const auto found = positions.find(span.parent);
    Place place{.parent = found == positions.end() ? 0 : found->second};
    if (place.parent != 0) place.depth = places[place.parent - 1].depth + 1;
    if (place.depth > kDeepestStack) place = places[place.parent - 1];  // beside its caller
    places.push_back(place);
    positions.try_emplace(span.id, static_cast<std::uint32_t>(at + 1));
    const auto name = span.method < methods.size() ? names.of(methods[span.method]) : 0;
    columns.method.add(name != 0 ? name : names.of("(unknown)"));
    columns.parent.add(place.parent);
    columns.begin.add(count_of(span.begin - request.begin));
    columns.duration.add(count_of(span.end - span.begin));
    columns.self.add(count_of(self[at]));
    columns.queued.add(count_of(span.queued));
    columns.thread.add(span.thread);
    columns.kind.add(static_cast<std::uint64_t>(span.outcome) + (span.is_async ? 4U : 0U));
    columns.steps.add(span.steps.size());
    for (const auto& step : span.steps) {
      columns.step_begin.add(count_of(step.begin - request.begin));
      columns.step_duration.add(count_of(step.end - step.begin));
      columns.step_thread.add(step.thread);
    }
  }
  ProtoWriter inner;
  columns.put(inner);
  out.message(14, inner);
  return count;
}

void write_samples(ProtoWriter& out, const RequestTrace& request, std::size_t spans,
                   StackTable& stacks, NameTable& names) {
  if (request.samples.empty()) return;
  const auto of = spans_of_samples(request);
  Column time, weight, stack, span, thread;
  for (std::size_t at = 0; at < of.size(); ++at) {
    const auto& sample = request.samples[at];
    time.add(count_of(sample.time - request.begin));
    weight.add(count_of(std::max(sample.weight, nanoseconds{1})));
    stack.add(stacks.of(sample.stack, names));
    span.add(of[at] <= spans ? of[at] : 0);
    thread.add(sample.thread);
  }
  ProtoWriter inner;
  std::uint32_t field = 0;
  for (const auto* column : {&time, &weight, &stack, &span, &thread}) column->put(inner, ++field);
  out.message(17, inner);
}

std::uint64_t flags_of(const RequestTrace& request) {
  return (request.sampled ? 1U : 0U) | (request.forced ? 2U : 0U) | (request.aborted ? 4U : 0U) |
         (request.own_id ? 8U : 0U);
}

// How many spans it wrote.
std::size_t write_request(ProtoWriter& out, const RequestTrace& request, const ClockOffset& clock,
                          const std::vector<std::string>& methods, NameTable& names,
                          StackTable& stacks) {
  ProtoWriter inner;
  if (request.trace_id != TraceId{})
    inner.text(1, {reinterpret_cast<const char*>(request.trace_id.data()), 16});
  inner.fixed64(2, count_of(clock.wall(request.begin).time_since_epoch()));
  inner.varint(3, count_of(request.end - request.begin));
  inner.varint(4, count_of(request.running));
  inner.varint(5, count_of(request.waiting));
  inner.varint(6, count_of(request.queued));
  inner.varint(7, names.of(request.method));
  inner.varint(8, names.of(request.route));
  inner.varint(9, names.of(request.path));
  inner.varint(10, names.of(request.error));
  inner.varint(11, request.status);
  inner.varint(12, flags_of(request));
  const auto written = write_spans(inner, request, methods, names);
  inner.varint(13, request.spans_lost + (request.spans.size() - written));
  if (request.bytes_in != ~std::uint64_t{0}) inner.varint(15, request.bytes_in);
  if (request.bytes_out != ~std::uint64_t{0}) inner.varint(16, request.bytes_out);
  write_samples(inner, request, written, stacks, names);
  out.message(4, inner);
  return written;
}

}  // namespace

Recording& Recording::operator+=(const Recording& more) {
  seen += more.seen;
  sampled += more.sampled;
  lost_requests += more.lost_requests;
  lost_spans += more.lost_spans;
  cpu += more.cpu;
  lost_samples += more.lost_samples;
  return *this;
}

Recording operator-(Recording a, const Recording& b) {
  a.seen -= b.seen;
  a.sampled -= b.sampled;
  a.lost_requests -= b.lost_requests;
  a.lost_spans -= b.lost_spans;
  a.cpu -= b.cpu;
  a.lost_samples -= b.lost_samples;
  return a;
}

std::string new_instance() {
  std::string bytes(16, '\0');
  for (std::size_t have = 0; have < bytes.size();)
    if (const auto got = ::getrandom(bytes.data() + have, bytes.size() - have, 0); got > 0)
      have += static_cast<std::size_t>(got);
  return bytes;
}

ClockOffset ClockOffset::now() {
  return {wall_now().time_since_epoch() - TraceClock::now().time_since_epoch()};
}

std::vector<std::string> BatchEncoder::encode(const RequestBatch& batch, const ClockOffset& clock,
                                              const Recording& recording, WallTime created) {
  std::vector<std::string> out;
  auto request = batch.requests.begin();
  do {
    NameTable names;
    StackTable stacks{batch};
    ProtoWriter requests;
    for (; request != batch.requests.end() &&
           requests.bytes().size() + names.bytes() + stacks.bytes() < kBatchBytes;
         ++request) {
      spans_ += write_request(requests, *request, clock, batch.methods, names, stacks);
      samples_ += request->samples.size();
      ++requests_;
    }
    ProtoWriter head;
    write_source(head, source_);
    head.fixed64(2, count_of(created.time_since_epoch()));
    head.varint(5, requests_);
    head.varint(6, spans_);
    if (out.empty()) write_recording(head, recording);
    stacks.put(head);
    head.varint(10, samples_);
    out.push_back(std::move(head).take() + names.written().bytes() + requests.bytes());
  } while (request != batch.requests.end());
  return out;
}

}  // namespace clrscope::uplink
