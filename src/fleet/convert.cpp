#include "fleet/convert.h"

#include <google/protobuf/stubs/logging.h>

#include <algorithm>

#include "base/zstd_block.h"
#include "model/trace_id.h"

namespace clrscope::fleet {
namespace {

std::uint64_t unsigned_ns(std::chrono::nanoseconds time) {
  return static_cast<std::uint64_t>(time.count());
}
std::uint64_t unsigned_ns(WallTime time) { return unsigned_ns(time.time_since_epoch()); }

// A column of `count` elements; an empty one is zeros.
template <class From, class T>
Result<> append_column(const From& from, int count, std::vector<T>& to) {
  if (from.empty())
    to.resize(to.size() + static_cast<std::size_t>(count));
  else if (from.size() == count)
    to.insert(to.end(), from.begin(), from.end());
  else
    return fail(Errc::kCorrupt, "a column of {} elements, {} are expected", from.size(), count);
  return {};
}

Result<> append_spans(const v1::Spans& from, store::BatchSpans& to, store::BatchRequest& request) {
  const int count = from.method_size(),
            steps = from.step_begin_ns_size() > 0
                        ? from.step_begin_ns_size()
                        : std::max(from.step_duration_ns_size(), from.step_thread_size());
  TRY(append_column(from.method(), count, to.method));
  TRY(append_column(from.parent(), count, to.parent));
  TRY(append_column(from.begin_ns(), count, to.begin));
  TRY(append_column(from.duration_ns(), count, to.duration));
  TRY(append_column(from.self_ns(), count, to.self));
  TRY(append_column(from.queued_ns(), count, to.queued));
  TRY(append_column(from.thread(), count, to.thread));
  TRY(append_column(from.kind(), count, to.kind));
  TRY(append_column(from.steps(), count, to.steps));
  TRY(append_column(from.step_begin_ns(), steps, to.step_begin));
  TRY(append_column(from.step_duration_ns(), steps, to.step_duration));
  TRY(append_column(from.step_thread(), steps, to.step_thread));
  request.spans = static_cast<std::uint32_t>(count);
  request.steps = static_cast<std::uint32_t>(steps);
  return {};
}

Result<> append_samples(const v1::Samples& from, store::BatchSamples& to,
                        store::BatchRequest& request) {
  const int count = from.weight_ns_size();
  TRY(append_column(from.time_ns(), count, to.time));
  TRY(append_column(from.weight_ns(), count, to.weight));
  TRY(append_column(from.stack(), count, to.stack));
  TRY(append_column(from.span(), count, to.span));
  TRY(append_column(from.thread(), count, to.thread));
  request.samples = static_cast<std::uint32_t>(count);
  return {};
}

Result<store::BatchRequest> request_of(const v1::Request& from, store::Batch& batch) {
  store::BatchRequest to{.begin = static_cast<std::int64_t>(from.begin_unix_ns()),
                         .duration = from.duration_ns(),
                         .running = from.running_ns(),
                         .waiting = from.waiting_ns(),
                         .queued = from.queued_ns(),
                         .method = from.method(),
                         .route = from.route(),
                         .path = from.path(),
                         .error = from.error(),
                         .spans_lost = from.spans_lost(),
                         .status = static_cast<std::uint16_t>(std::min(from.status(), 65535U)),
                         .flags = static_cast<std::uint8_t>(from.flags())};
  if (from.has_bytes_in()) to.bytes_in = from.bytes_in();
  if (from.has_bytes_out()) to.bytes_out = from.bytes_out();
  if (!from.trace_id().empty()) {
    if (from.trace_id().size() != to.trace_id.size())
      return fail(Errc::kCorrupt, "trace_id must be 16 bytes long, not {}", from.trace_id().size());
    std::copy(from.trace_id().begin(), from.trace_id().end(), to.trace_id.begin());
  }
  TRY(append_spans(from.spans(), batch.spans, to));
  TRY(append_samples(from.samples(), batch.samples, to));
  return to;
}

Result<store::Batch> convert(const v1::RequestBatch& from) {
  store::Batch to;
  const auto& source = from.source();
  to.source = {.host = source.host(),
               .service = source.service(),
               .version = source.service_version(),
               .instance = source.instance(),
               .pid = source.pid(),
               .runtime = source.runtime(),
               .relay_version = source.relay_version()};
  to.created = static_cast<std::int64_t>(from.created_unix_ns());
  to.names.assign(from.names().begin(), from.names().end());
  to.written_requests = from.written_requests();
  to.written_spans = from.written_spans();
  const auto& recording = from.recording();
  to.recording = {.seen = recording.seen_requests(),
                  .sampled = recording.sampled_requests(),
                  .lost_requests = recording.lost_requests(),
                  .lost_spans = recording.lost_spans(),
                  .cpu_ns = recording.cpu_ns(),
                  .lost_samples = recording.lost_samples()};
  to.written_samples = from.written_samples();
  TRY(append_column(from.stack_method(), from.stack_method_size(), to.stacks.method));
  TRY(append_column(from.stack_parent(), from.stack_method_size(), to.stacks.parent));
  to.requests.reserve(static_cast<std::size_t>(from.requests_size()));
  for (const auto& request : from.requests()) to.requests.push_back(TRY(request_of(request, to)));
  return to;
}

}  // namespace

void silence_protobuf() { google::protobuf::SetLogHandler(nullptr); }

Result<store::Batch> batch_of(const v1::BatchEnvelope& envelope, std::uint64_t max_bytes) {
  store::Batch batch;
  if (envelope.has_batch()) {
    batch = TRY(convert(envelope.batch()));
  } else {
    const auto plain = TRY(read_zstd_block(as_bytes(envelope.batch_zstd()), max_bytes));
    v1::RequestBatch parsed;
    if (!parsed.ParseFromString(plain))
      return fail(Errc::kCorrupt, "batch_zstd does not hold a RequestBatch");
    batch = TRY(convert(parsed));
  }
  batch.id = envelope.id();
  TRY(store::check_batch(batch));
  return batch;
}

Result<BatchOutline> outline_of(std::string_view serialized_batch) {
  v1::RequestBatch batch;
  if (!batch.ParseFromArray(serialized_batch.data(), static_cast<int>(serialized_batch.size())))
    return fail(Errc::kCorrupt, "{} bytes are not a RequestBatch", serialized_batch.size());
  BatchOutline outline{.requests = static_cast<std::uint64_t>(batch.requests_size()),
                       .written_requests = batch.written_requests(),
                       .written_spans = batch.written_spans()};
  for (const auto& request : batch.requests()) {
    outline.spans += static_cast<std::uint64_t>(request.spans().method_size());
    outline.samples += static_cast<std::uint64_t>(request.samples().weight_ns_size());
  }
  return outline;
}

store::TimeRange range_of(const v1::TimeRange& range) {
  const auto time_of = [](std::uint64_t unix_ns) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min<std::uint64_t>(unix_ns, kMost));
  };
  store::TimeRange out{.from = time_of(range.from_unix_ns())};
  if (range.to_unix_ns() != 0) out.to = time_of(range.to_unix_ns());
  return out;
}

store::Selection selection_of(const v1::Selection& selection) {
  return {.range = range_of(selection.range()),
          .service = selection.service(),
          .route = selection.route(),
          .host = selection.host(),
          .version = selection.version(),
          .status_from = selection.status_from(),
          .status_to = selection.status_to() == 0 ? ~0U : selection.status_to()};
}

Result<TraceId> trace_id_of(std::string_view hex) {
  const auto id = parse_trace_id(hex);
  if (!id) return fail(Errc::kUsage, "a trace id must be 32 hexadecimal digits");
  return *id;
}

void fill(const store::ServiceSummary& from, v1::ServiceSummary& to) {
  to.set_service(from.service);
  to.set_requests(from.requests);
  to.set_sampled(from.sampled);
  to.set_errors(from.errors);
  to.set_spans(from.spans);
  to.set_first_unix_ns(unsigned_ns(from.first));
  to.set_last_unix_ns(unsigned_ns(from.last));
}

void fill(const store::Latency& from, v1::Latency& to) {
  to.set_requests(from.requests);
  to.set_errors(from.errors);
  to.set_p50_ns(unsigned_ns(from.p50));
  to.set_p90_ns(unsigned_ns(from.p90));
  to.set_p99_ns(unsigned_ns(from.p99));
  to.set_max_ns(unsigned_ns(from.max));
  to.set_running_ns(unsigned_ns(from.running));
  to.set_sampled(from.sampled);
  to.set_p95_ns(unsigned_ns(from.p95));
  to.set_waiting_ns(unsigned_ns(from.waiting));
  to.set_queued_ns(unsigned_ns(from.queued));
}

namespace {

void fill_points(const std::vector<store::RoutePoint>& from,
                 google::protobuf::RepeatedPtrField<v1::RoutePoint>& to) {
  for (const auto& point : from) {
    auto& one = *to.Add();
    one.set_time_unix_ns(unsigned_ns(point.time));
    fill(point.latency, *one.mutable_latency());
  }
}

}  // namespace

void fill(const store::RouteSummary& from, v1::RouteSummary& to) {
  to.set_route(from.route);
  fill(from.latency, *to.mutable_latency());
  fill_points(from.points, *to.mutable_points());
}

void fill(const store::Flame& from, v1::FlameAnswer& to) {
  to.set_requests(from.requests);
  to.set_total_ns(unsigned_ns(from.total));
  to.mutable_names()->Add(from.names.begin(), from.names.end());
  to.mutable_name()->Add(from.name.begin(), from.name.end());
  to.mutable_depth()->Add(from.depth.begin(), from.depth.end());
  to.mutable_self_ns()->Add(from.self_ns.begin(), from.self_ns.end());
  to.mutable_calls()->Add(from.calls.begin(), from.calls.end());
  to.set_shortest_ns(unsigned_ns(from.shortest));
  to.set_longest_ns(unsigned_ns(from.longest));
  to.set_samples(from.samples);
}

void fill(const store::StoredRequest& from, v1::StoredRequest& to) {
  to.set_trace_id(from.trace_id);
  to.set_service(from.service);
  to.set_host(from.host);
  to.set_version(from.version);
  to.set_method(from.method);
  to.set_route(from.route);
  to.set_path(from.path);
  to.set_error(from.error);
  to.set_status(from.status);
  to.set_flags(from.flags);
  to.set_begin_unix_ns(unsigned_ns(from.begin));
  to.set_duration_ns(unsigned_ns(from.duration));
  to.set_running_ns(unsigned_ns(from.running));
  to.set_waiting_ns(unsigned_ns(from.waiting));
  to.set_queued_ns(unsigned_ns(from.queued));
  to.set_spans_lost(from.spans_lost);
  to.set_span_count(from.span_count);
  to.set_sample_count(from.sample_count);
  for (const auto& span : from.spans) {
    auto& one = *to.add_spans();
    one.set_method(span.method);
    one.set_parent(span.parent);
    one.set_begin_ns(unsigned_ns(span.begin));
    one.set_duration_ns(unsigned_ns(span.duration));
    one.set_self_ns(unsigned_ns(span.self));
    one.set_queued_ns(unsigned_ns(span.queued));
    one.set_thread(span.thread);
    one.set_kind(span.kind);
    for (const auto& step : span.steps) {
      one.add_step_begin_ns(unsigned_ns(step.begin));
      one.add_step_duration_ns(unsigned_ns(step.duration));
      one.add_step_thread(step.thread);
    }
  }
  for (const auto& stack : from.stacks) {
    auto& one = *to.add_stacks();
    one.set_span(stack.span);
    one.set_samples(stack.samples);
    one.set_cpu_ns(unsigned_ns(stack.cpu));
    one.mutable_frames()->Add(stack.frames.begin(), stack.frames.end());
  }
}

void fill(const store::Series& from, v1::SeriesGroup& to) {
  to.set_group(from.group);
  fill(from.latency, *to.mutable_latency());
  to.set_per_second(from.latency.per_second.value_or(0));
  fill_points(from.points, *to.mutable_points());
}

void fill(const store::HostSummary& from, v1::HostSummary& to) {
  to.set_host(from.host);
  to.set_service(from.service);
  to.set_version(from.version);
  to.set_instance(from.instance);
  to.set_pid(from.pid);
  to.set_runtime(from.runtime);
  to.set_relay_version(from.relay_version);
  to.set_first_unix_ns(unsigned_ns(from.first));
  to.set_last_unix_ns(unsigned_ns(from.last));
  to.set_skew_ns(from.skew.count());
  to.set_batches(from.batches);
  to.set_duplicates(from.duplicates);
  to.set_written_requests(from.written_requests);
  to.set_written_spans(from.written_spans);
  to.set_stored_requests(from.stored_requests);
  to.set_stored_spans(from.stored_spans);
  to.set_lost_requests(from.lost_requests);
  to.set_lost_spans(from.lost_spans);
  to.set_seen_requests(from.seen);
  to.set_sampled_requests(from.sampled);
  to.set_unrecorded_requests(from.unrecorded_requests);
  to.set_unrecorded_spans(from.unrecorded_spans);
  to.set_recorder_cpu_ns(unsigned_ns(from.recorder_cpu));
  to.set_written_samples(from.written_samples);
  to.set_stored_samples(from.stored_samples);
  to.set_lost_samples(from.lost_samples);
  to.set_unrecorded_samples(from.unrecorded_samples);
  to.set_configuration(from.configuration);
  to.set_wanted_configuration(from.wanted_configuration);
  to.set_configuration_trouble(from.configuration_trouble);
}

}  // namespace clrscope::fleet
