#include "fleet/otlp_spans.h"

#include <fmt/format.h>

#include <cstdlib>

#include "fleet/otlp_receiver.h"
#include "store/clickhouse/hash.h"

namespace clrscope::fleet {
namespace {

constexpr std::uint32_t kMostSpans = 4000;  // of a message: below a megabyte
constexpr std::int64_t kSkewTolerated = 10'000'000'000;

using Attributes = google::protobuf::RepeatedPtrField<otlp::KeyValue>;

void put(Attributes& to, const char* key, const std::string& value) {
  if (value.empty()) return;
  auto& one = *to.Add();
  one.set_key(key);
  one.mutable_value()->set_string_value(value);
}
void put(Attributes& to, const char* key, std::int64_t value) {
  auto& one = *to.Add();
  one.set_key(key);
  one.mutable_value()->set_int_value(value);
}

std::string bytes_of(std::uint64_t id) {
  std::string out;
  for (unsigned shift = 64; shift > 0; shift -= 8) out += static_cast<char>(id >> (shift - 8));
  return out;
}

std::string id_of_span(std::uint64_t seed, std::size_t request, std::uint32_t span) {
  return bytes_of(store::path_of(seed + request, span + 1));
}

void fill_resource(const store::BatchSource& source, otlp::Resource& to) {
  auto& attributes = *to.mutable_attributes();
  put(attributes, "service.name", source.service);
  put(attributes, "service.version", source.version);
  std::string instance;
  for (const char c : source.instance)
    instance += fmt::format("{:02x}", static_cast<unsigned char>(c));
  put(attributes, "service.instance.id", instance);
  put(attributes, "host.name", source.host);
  put(attributes, "process.pid", source.pid);
  put(attributes, "process.runtime.name", std::string{".NET"});
  put(attributes, "process.runtime.description", source.runtime);
  put(attributes, "telemetry.sdk.name", std::string{"clrscope"});
  put(attributes, "telemetry.sdk.version", std::string{CLRSCOPE_VERSION});
}

class Encoder {
 public:
  explicit Encoder(const store::Batch& batch)
      : batch_(batch), shift_(otlp_clock_shift(batch)), seed_(store::hash_of(batch.id)) {
    begin();
  }

  std::vector<OtlpMessage> run() && {
    std::size_t span = 0;
    for (std::size_t i = 0; i < batch_.requests.size(); ++i) {
      const auto& request = batch_.requests[i];
      if ((request.flags & store::kSampled) != 0 && request.trace_id != TraceId{}) {
        if (spans_ > 0 && spans_ + 1 + request.spans > kMostSpans) end();
        add(request, i, span);
      }
      span += request.spans;
    }
    if (spans_ > 0) end();
    return std::move(messages_);
  }

 private:
  void begin() {
    message_.Clear();
    spans_ = 0;
    auto& resource = *message_.add_resource_spans();
    fill_resource(batch_.source, *resource.mutable_resource());
    scope_ = resource.add_scope_spans();
    scope_->mutable_scope()->set_name("clrscope");
  }
  void end() {
    messages_.push_back({message_.SerializeAsString(), spans_});
    begin();
  }

  std::string name(std::uint32_t position) const {
    return position == 0 ? std::string{} : batch_.names[position - 1];
  }
  // `span`: 0: the request itself.
  std::string id_of(std::size_t request, std::uint32_t span) const {
    return id_of_span(seed_, request, span);
  }

  otlp::Span& add_span(const store::BatchRequest& request, std::uint64_t begin,
                       std::uint64_t duration) {
    ++spans_;
    auto& span = *scope_->add_spans();
    span.set_trace_id(request.trace_id.data(), request.trace_id.size());
    const auto start = static_cast<std::uint64_t>(request.begin + shift_) + begin;
    span.set_start_time_unix_nano(start);
    span.set_end_time_unix_nano(start + duration);
    return span;
  }

  void add(const store::BatchRequest& request, std::size_t number, std::size_t first) {
    auto& root = add_span(request, 0, request.duration);
    root.set_span_id(id_of(number, 0));
    const auto method = name(request.method), route = name(request.route);
    root.set_name(route.empty() ? method : method + " " + route);
    root.set_kind(otlp::Span::SPAN_KIND_SERVER);
    auto& attributes = *root.mutable_attributes();
    put(attributes, "http.request.method", method);
    put(attributes, "http.route", route);
    put(attributes, "url.path", name(request.path));
    put(attributes, "http.response.status_code", request.status);
    put(attributes, "error.type", name(request.error));
    put(attributes, "clrscope.running_ns", static_cast<std::int64_t>(request.running));
    put(attributes, "clrscope.waiting_ns", static_cast<std::int64_t>(request.waiting));
    if (request.status >= 500 || request.error != 0)
      root.mutable_status()->set_code(otlp::Status::STATUS_CODE_ERROR);
    const auto& spans = batch_.spans;
    for (std::uint32_t i = 0; i < request.spans; ++i) {
      const auto at = first + i;
      auto& span = add_span(request, spans.begin[at], spans.duration[at]);
      span.set_span_id(id_of(number, i + 1));
      span.set_parent_span_id(id_of(number, spans.parent[at]));
      span.set_name(name(spans.method[at]));
      span.set_kind(otlp::Span::SPAN_KIND_INTERNAL);
      put(*span.mutable_attributes(), "thread.id", spans.thread[at]);
      put(*span.mutable_attributes(), "clrscope.self_ns",
          static_cast<std::int64_t>(spans.self[at]));
      if ((spans.kind[at] & 3U) == 1)  // ended with an exception
        span.mutable_status()->set_code(otlp::Status::STATUS_CODE_ERROR);
    }
  }

  const store::Batch& batch_;
  const std::int64_t shift_;
  const std::uint64_t seed_;
  otlp::ExportTraceServiceRequest message_;
  otlp::ScopeSpans* scope_ = nullptr;  // of message_
  std::uint32_t spans_ = 0;
  std::vector<OtlpMessage> messages_;
};

}  // namespace

std::string otlp_span_id(const store::Batch& batch, std::size_t request, std::uint32_t span) {
  return id_of_span(store::hash_of(batch.id), request, span);
}

std::string otlp_resource(const store::BatchSource& source) {
  otlp::Resource resource;
  fill_resource(source, resource);
  return resource.SerializeAsString();
}

std::int64_t otlp_clock_shift(const store::Batch& batch) {
  return std::abs(batch.skew) > kSkewTolerated ? batch.skew : 0;
}

std::vector<OtlpMessage> otlp_messages(const store::Batch& batch) { return Encoder{batch}.run(); }

}  // namespace clrscope::fleet
