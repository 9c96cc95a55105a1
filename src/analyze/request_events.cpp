#include "analyze/request_events.h"

#include <algorithm>
#include <utility>

#include "analyze/durations.h"
#include "base/bytes.h"
#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

using std::chrono::nanoseconds;

enum Id : std::uint32_t { kMethod = 1, kSpan, kStep, kPart, kRequest, kSummary, kUnmeasured };
enum Flag : std::uint32_t { kSampled = 1, kForced = 2, kAborted = 4, kOwnId = 8 };
constexpr std::size_t kMostHeld = 500'000;
constexpr std::size_t kMostMethods = 1 << 17;
constexpr std::size_t kMostRefused = 1000;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kMostNameBytes = 16 << 20;  // of all methods
constexpr nanoseconds kUnknown{-1};
constexpr double kMillion = 1e6;

Field field(std::string_view name, TypeCode type) {
  return {.name = std::string{name}, .type = type};
}

std::vector<EventType> event_types() {
  constexpr auto u16 = TypeCode::kUInt16;
  constexpr auto u32 = TypeCode::kUInt32;
  constexpr auto u64 = TypeCode::kUInt64;
  constexpr auto i64 = TypeCode::kInt64;
  constexpr auto text = TypeCode::kUtf16Text;
  std::vector<EventType> out;
  const auto add = [&](Id id, std::string_view name, std::vector<Field> fields) {
    out.push_back({.index = static_cast<std::uint32_t>(out.size()),
                   .provider = std::string{kRequestsProvider},
                   .name = std::string{name},
                   .id = id,
                   .level = 4,
                   .fields = std::move(fields)});
  };
  add(kMethod, "Method", {field("Method", u32), field("Name", text)});
  add(kSpan, "Span",
      {field("Request", u64), field("Span", u64), field("Parent", u64), field("Method", u32),
       field("Async", u32), field("Outcome", u32), field("StartNs", i64), field("DurationNs", i64),
       field("QueuedNs", i64)});
  add(kStep, "Step",
      {field("Request", u64), field("Span", u64), field("StartNs", i64), field("DurationNs", i64),
       field("QueuedNs", i64)});
  add(kPart, "Part", {field("Request", u64), field("StartNs", i64), field("DurationNs", i64)});
  add(kRequest, "Request",
      {field("Request", u64), field("TraceId", text), field("Method", text), field("Route", text),
       field("Path", text), field("Error", text), field("Status", u16), field("Flags", u32),
       field("SinceBeginNs", i64), field("DurationNs", i64), field("RunningNs", i64),
       field("WaitingNs", i64), field("QueuedNs", i64), field("BytesIn", u64),
       field("BytesOut", u64), field("SpansLost", u32)});
  add(kSummary, "Summary",
      {field("DurationNs", i64), field("Seen", u64), field("Sampled", u64), field("Forced", u64),
       field("InFlight", u64), field("ProbabilityPpm", u32), field("LostRecords", u64),
       field("LostRequests", u64), field("LostSpans", u64), field("Late", u64),
       field("Orphans", u64), field("Damaged", u64), field("HooksNs", i64), field("ProcessNs", i64),
       field("MethodsChosen", u64), field("MethodsInstrumented", u64), field("MethodsRefused", u64),
       field("HearingNs", i64)});
  add(kUnmeasured, "Unmeasured",
      {field("Name", text), field("Reason", text), field("Answer", text)});
  return out;
}

void put_text(ByteWriter& out, std::string_view utf8) {
  for (const auto unit : utf16_of(utf8)) {
    if (unit == 0) break;
    out.write(unit);
  }
  out.write(char16_t{0});
}

void put_time(ByteWriter& out, nanoseconds time) { out.write(std::int64_t{time.count()}); }

std::string text_of(ByteReader& in) { return utf8_of(in.take_utf16z()); }

// A duration of a trace: not below 0.
nanoseconds length_of(ByteReader& in) {
  return nanoseconds{std::max<std::int64_t>(in.read<std::int64_t>(), 0)};
}

TraceTime later(TraceTime time, nanoseconds by) {
  return TraceTime{sum(time.time_since_epoch(), by)};
}

}  // namespace

// --- writing ---

RequestEventWriter::RequestEventWriter(nettrace::Writer& writer, ProcessId process)
    : writer_(writer),
      source_(writer.add_source(nettrace::Writer::Numbering::kNone)),
      process_(process),
      types_(event_types()) {}

Result<> RequestEventWriter::put(std::uint32_t type, ThreadId thread, Bytes payload) {
  return writer_.write(source_, Event{.type = &types_[type - 1],
                                      .time = newest_,
                                      .ticks = newest_.time_since_epoch().count(),
                                      .thread = thread,
                                      .capture_thread = 1,
                                      .payload = payload,
                                      .process = process_});
}

Result<> RequestEventWriter::write(const RequestBatch& batch) {
  for (const auto& request : batch.requests) {
    // One capture thread: its events are in order of time.
    newest_ = std::max(newest_, request.end);
    for (; methods_ < batch.methods.size(); ++methods_) {
      ByteWriter payload;
      payload.write(static_cast<std::uint32_t>(methods_));
      put_text(payload, batch.methods[methods_]);
      TRY(put(kMethod, {}, payload.bytes()));
    }
    TRY(write_request(request));
  }
  return {};
}

Result<> RequestEventWriter::write_request(const RequestTrace& request) {
  const auto thread_of = [](std::uint32_t thread) { return ThreadId{thread}; };
  ByteWriter payload;
  for (const auto& span : request.spans) {
    payload.clear();
    payload.write(request.number);
    payload.write(span.id);
    payload.write(span.parent);
    payload.write(span.method);
    payload.write(span.is_async ? 1U : 0U);
    payload.write(static_cast<std::uint32_t>(span.outcome));
    put_time(payload, between(request.begin, span.begin));
    put_time(payload, between(span.begin, span.end));
    put_time(payload, span.queued);
    TRY(put(kSpan, thread_of(span.thread), payload.bytes()));
    for (const auto& step : span.steps) {
      payload.clear();
      payload.write(request.number);
      payload.write(span.id);
      put_time(payload, between(request.begin, step.begin));
      put_time(payload, between(step.begin, step.end));
      put_time(payload, step.queued);
      TRY(put(kStep, thread_of(step.thread), payload.bytes()));
    }
  }
  for (const auto& part : request.parts) {
    payload.clear();
    payload.write(request.number);
    put_time(payload, between(request.begin, part.begin));
    put_time(payload, between(part.begin, part.end));
    TRY(put(kPart, thread_of(part.thread), payload.bytes()));
  }
  payload.clear();
  payload.write(request.number);
  put_text(payload, to_text(request.trace_id));
  put_text(payload, request.method);
  put_text(payload, request.route);
  put_text(payload, request.path);
  put_text(payload, request.error);
  payload.write(request.status);
  payload.write((request.sampled ? kSampled : 0U) | (request.forced ? kForced : 0U) |
                (request.aborted ? kAborted : 0U) | (request.own_id ? kOwnId : 0U));
  // From its own begin, also where the event was moved to a later time.
  put_time(payload, between(request.begin, newest_));
  put_time(payload, between(request.begin, request.end));
  put_time(payload, request.running);
  put_time(payload, request.waiting);
  put_time(payload, request.queued);
  payload.write(request.bytes_in);
  payload.write(request.bytes_out);
  payload.write(request.spans_lost);
  return put(kRequest, {}, payload.bytes());
}

Result<> RequestEventWriter::finish(const RequestProfile& profile, TraceTime now) {
  newest_ = std::max(newest_, now);
  ByteWriter payload;
  for (const auto& one : profile.methods.not_measured) {
    payload.clear();
    put_text(payload, one.method);
    put_text(payload, one.reason);
    put_text(payload, one.code.value_or(""));
    TRY(put(kUnmeasured, {}, payload.bytes()));
  }
  payload.clear();
  put_time(payload, profile.duration);
  payload.write(profile.seen);
  payload.write(profile.sampled);
  payload.write(profile.forced);
  payload.write(profile.in_flight);
  payload.write(static_cast<std::uint32_t>(std::clamp(profile.probability, 0.0, 1.0) * kMillion));
  payload.write(profile.lost.records);
  payload.write(profile.lost.requests);
  payload.write(profile.lost.spans);
  payload.write(profile.lost.late);
  payload.write(profile.lost.orphans);
  payload.write(profile.lost.damaged);
  put_time(payload, profile.cost.hooks);
  put_time(payload, profile.cost.process);
  payload.write(profile.methods.chosen);
  payload.write(profile.methods.instrumented);
  payload.write(profile.methods.refused);
  put_time(payload, profile.cost.hearing.value_or(kUnknown));
  return put(kSummary, {}, payload.bytes());
}

// --- reading ---

void RequestEventReader::on_event(const Event& event) {
  if (event.type->provider != kRequestsProvider || event.type->version != 0) return;
  switch (event.type->id) {
    case kMethod:
      return on_method(event);
    case kSpan:
      return on_span(event);
    case kStep:
      return on_step(event);
    case kPart:
      return on_part(event);
    case kRequest:
      return on_request(event);
    case kSummary:
      return on_summary(event);
    case kUnmeasured:
      return on_unmeasured(event);
    default:
      return;
  }
}

void RequestEventReader::end_of_trace() {
  pending_.clear();
  method_of_.clear();
  unmeasured_.clear();
  held_ = 0;
}

RequestEventReader::Pending* RequestEventReader::pending_of(std::uint64_t request) {
  if (held_ >= kMostHeld) {
    ++damaged_;
    return nullptr;
  }
  ++held_;
  return &pending_[request];
}

void RequestEventReader::on_method(const Event& event) {
  ByteReader in{event.payload};
  const auto number = in.read<std::uint32_t>();
  auto name = text_of(in);
  if (!in.ok() || methods_.size() >= kMostMethods || method_of_.size() >= kMostMethods ||
      name.size() > std::min(kLongestName, kMostNameBytes - name_bytes_)) {
    ++damaged_;
    return;
  }
  const auto [known, is_new] =
      by_name_.try_emplace(name, static_cast<std::uint32_t>(methods_.size()));
  if (is_new) {
    name_bytes_ += name.size();
    methods_.push_back(std::move(name));
  }
  method_of_[number] = known->second;
}

// Times are since the begin of the request, until the request itself is read.
void RequestEventReader::on_span(const Event& event) {
  ByteReader in{event.payload};
  const auto request = in.read<std::uint64_t>();
  RequestSpan span{.id = in.read<std::uint64_t>(), .parent = in.read<std::uint64_t>()};
  const auto method = in.read<std::uint32_t>();
  span.is_async = in.read<std::uint32_t>() != 0;
  const auto outcome = in.read<std::uint32_t>();
  span.begin = TraceTime{nanoseconds{in.read<std::int64_t>()}};
  span.end = later(span.begin, length_of(in));
  span.queued = length_of(in);
  span.thread = static_cast<std::uint32_t>(event.thread);
  if (!in.ok() || outcome > static_cast<std::uint32_t>(SpanOutcome::kOpen)) {
    ++damaged_;
    return;
  }
  span.outcome = static_cast<SpanOutcome>(outcome);
  const auto known = method_of_.find(method);
  span.method = known == method_of_.end() ? ~0U : known->second;
  if (auto* pending = pending_of(request)) pending->spans.push_back(std::move(span));
}

void RequestEventReader::on_step(const Event& event) {
  ByteReader in{event.payload};
  const auto request = in.read<std::uint64_t>();
  const auto span = in.read<std::uint64_t>();
  RunningPart step{.begin = TraceTime{nanoseconds{in.read<std::int64_t>()}}};
  step.end = later(step.begin, length_of(in));
  step.queued = length_of(in);
  step.thread = static_cast<std::uint32_t>(event.thread);
  auto* pending = in.ok() ? pending_of(request) : nullptr;
  // A step follows its span.
  if (!pending || pending->spans.empty() || pending->spans.back().id != span) {
    ++damaged_;
    return;
  }
  pending->spans.back().steps.push_back(step);
}

void RequestEventReader::on_part(const Event& event) {
  ByteReader in{event.payload};
  const auto request = in.read<std::uint64_t>();
  RunningPart part{.begin = TraceTime{nanoseconds{in.read<std::int64_t>()}}};
  part.end = later(part.begin, length_of(in));
  part.thread = static_cast<std::uint32_t>(event.thread);
  if (!in.ok())
    ++damaged_;
  else if (auto* pending = pending_of(request))
    pending->parts.push_back(part);
}

void RequestEventReader::on_request(const Event& event) {
  ByteReader in{event.payload};
  RequestTrace out;
  out.number = in.read<std::uint64_t>();
  out.trace_id = parse_trace_id(text_of(in)).value_or(TraceId{});
  out.method = text_of(in);
  out.route = text_of(in);
  out.path = text_of(in);
  out.error = text_of(in);
  out.status = in.read<std::uint16_t>();
  const auto flags = in.read<std::uint32_t>();
  const auto since = length_of(in);
  out.begin = TraceTime{sum(event.time.time_since_epoch(), -since)};
  out.end = later(out.begin, length_of(in));
  out.running = length_of(in);
  out.waiting = length_of(in);
  out.queued = length_of(in);
  out.bytes_in = in.read<std::uint64_t>();
  out.bytes_out = in.read<std::uint64_t>();
  out.spans_lost = in.read<std::uint32_t>();
  if (!in.ok()) {
    ++damaged_;
    return;
  }
  out.sampled = (flags & kSampled) != 0;
  out.forced = (flags & kForced) != 0;
  out.aborted = (flags & kAborted) != 0;
  out.own_id = (flags & kOwnId) != 0;
  if (auto found = pending_.extract(out.number); !found.empty() && out.sampled) {
    const auto origin = out.begin.time_since_epoch();
    const auto move = [&](auto& one) {
      one.begin = later(one.begin, origin);
      one.end = later(one.end, origin);
    };
    out.spans = std::move(found.mapped().spans);
    out.parts = std::move(found.mapped().parts);
    held_ -= std::min(held_, out.spans.size() + out.parts.size());
    for (auto& span : out.spans) {
      held_ -= std::min(held_, span.steps.size());
      move(span);
      for (auto& step : span.steps) move(step);
    }
    for (auto& part : out.parts) move(part);
  }
  on_request_(std::move(out));
}

void RequestEventReader::on_unmeasured(const Event& event) {
  ByteReader in{event.payload};
  UnmeasuredMethod one{.method = text_of(in), .reason = text_of(in)};
  if (auto code = text_of(in); !code.empty()) one.code = std::move(code);
  const bool is_short = std::max({one.method.size(), one.reason.size(),
                                  one.code.value_or("").size()}) <= kLongestName;
  if (in.ok() && is_short && unmeasured_.size() < kMostRefused)
    unmeasured_.push_back(std::move(one));
  else
    ++damaged_;
}

void RequestEventReader::on_summary(const Event& event) {
  ByteReader in{event.payload};
  RequestProfile out{.pid = static_cast<std::int32_t>(event.process), .duration = length_of(in)};
  out.seen = in.read<std::uint64_t>();
  out.sampled = in.read<std::uint64_t>();
  out.forced = in.read<std::uint64_t>();
  out.in_flight = in.read<std::uint64_t>();
  out.probability = std::min(in.read<std::uint32_t>() / kMillion, 1.0);
  out.lost.records = in.read<std::uint64_t>();
  out.lost.requests = in.read<std::uint64_t>();
  out.lost.spans = in.read<std::uint64_t>();
  out.lost.late = in.read<std::uint64_t>();
  out.lost.orphans = in.read<std::uint64_t>();
  out.lost.damaged = in.read<std::uint64_t>();
  out.cost.hooks = length_of(in);
  out.cost.process = length_of(in);
  if (out.cost.process.count() > 0)
    out.cost.cpu_percent = 100.0 * static_cast<double>(out.cost.hooks.count()) /
                           static_cast<double>(out.cost.process.count());
  out.methods.chosen = in.read<std::uint64_t>();
  out.methods.instrumented = in.read<std::uint64_t>();
  out.methods.refused = in.read<std::uint64_t>();
  const bool is_whole = in.ok();
  if (in.remaining() > 0)  // older versions end here
    if (const nanoseconds hearing{in.read<std::int64_t>()}; in.ok() && hearing >= nanoseconds{})
      out.cost.hearing = hearing;
  out.methods.not_measured = std::exchange(unmeasured_, {});
  order_and_cut(out.methods.not_measured);
  if (is_whole)
    summary_ = std::move(out);
  else
    ++damaged_;
}

}  // namespace clrscope::analyze
