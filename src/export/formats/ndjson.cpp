// Every event as one line of JSON, in the order of the trace: who, what, when, where, and its
// fields by name. Written while it is read: memory does not grow with the trace.
//
//   {"time":"2026-11-15T02:45:12.123456Z","timeMs":12.345678,"provider":"…","name":"GC/Start",
//    "id":1,"pid":4312,"tid":4320,"payload":{"Count":1,"Reason":"AllocSmall"}}
//
// timeMs counts from the beginning of the session. The fields of an event that nobody describes are
// its bytes: "payloadHex".
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/event_name.h"
#include "base/clock.h"
#include "base/json.h"
#include "export/byte_sink.h"
#include "export/format.h"
#include "nettrace/manifest.h"
#include "nettrace/payload_text.h"
#include "nettrace/reader.h"

namespace clrscope::exports {
namespace {

using std::chrono::nanoseconds;

void append_padded(std::string& out, std::int64_t number, int digits) {
  char text[20];
  for (int i = digits - 1; i >= 0; --i, number /= 10)
    text[i] = static_cast<char>('0' + number % 10);
  out.append(text, static_cast<std::size_t>(digits));
}

// Times of events that follow closely: the date is made once for each second.
class TimeText {
 public:
  void append(std::string& out, WallTime time) {
    const auto second = std::chrono::floor<std::chrono::seconds>(time);
    if (!second_ || *second_ != second) {
      second_ = second;
      prefix_ = iso8601(second);
      prefix_.resize(prefix_.find('.') + 1);
    }
    out += prefix_;
    append_padded(out, (time - second).count() / 1000, 6);
    out += 'Z';
  }

 private:
  std::optional<std::chrono::sys_seconds> second_;
  std::string prefix_;
};

void append_ms(std::string& out, nanoseconds time) {
  auto count = time.count();
  if (count < 0) out += '-', count = -count;
  fmt::format_int whole{count / 1'000'000};
  out.append(whole.data(), whole.size());
  out += '.';
  append_padded(out, count % 1'000'000, 6);
}

void append_int(std::string& out, std::string_view key, auto number) {
  const fmt::format_int text{number};
  out.append(key).append(text.data(), text.size());
}

void append_hex(std::string& out, Bytes bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const auto byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
}

class Lines {
 public:
  explicit Lines(ByteSink& out) : out_(out) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
    const nettrace::TraceInfo& info = *reader.info();
    if (!plans_) {
      manifests_.emplace(info.pointer_size);
      plans_.emplace(info.pointer_size, &*manifests_);
    }
    const TraceTime start = info.time_of(info.sync_ticks);
    for (const Event& event : batch.events) {
      if (!out_.ok()) return;
      if (event.type->id == nettrace::kManifestEventId)
        manifests_->add(event.type->provider, event.payload);
      write(event, info.wall_of(event.time), event.time - start);
    }
  }

 private:
  void write(const Event& event, WallTime wall, nanoseconds since_start) {
    const nettrace::PayloadPlan& plan = plans_->of(*event.type);
    line_ = "{\"time\":\"";
    times_.append(line_, wall);
    line_ += "\",\"timeMs\":";
    append_ms(line_, since_start);
    line_ += middle(*event.type, plan);
    append_int(line_, ",\"pid\":", static_cast<std::int32_t>(event.process));
    append_int(line_, ",\"tid\":", static_cast<std::uint64_t>(event.thread));
    if (event.activity)
      line_.append(",\"activityId\":\"").append(to_string(*event.activity)).append("\"");
    if (event.related)
      line_.append(",\"relatedActivityId\":\"").append(to_string(*event.related)).append("\"");
    if (plan.schema() != nettrace::Schema::kUnknown) {
      line_ += ",\"payload\":";
      nettrace::append_json(line_, plan, event.payload);
    } else if (!event.payload.empty()) {
      line_ += ",\"payloadHex\":\"";
      append_hex(line_, event.payload);
      line_ += '"';
    }
    line_ += "}\n";
    out_.write(line_);
  }

  // What is the same in all events of a type. A type that nobody describes may be described later.
  const std::string& middle(const EventType& type, const nettrace::PayloadPlan& plan) {
    if (type.index >= middles_.size()) middles_.resize(type.index + 1);
    Middle& middle = middles_[type.index];
    if (!middle.text.empty() && middle.schema == plan.schema()) return middle.text;
    middle = {.text = ",\"provider\":", .schema = plan.schema()};
    append_json_string(middle.text, type.provider);
    middle.text += ",\"name\":";
    append_json_string(middle.text,
                       plan.event_name().empty() ? analyze::event_name(type) : plan.event_name());
    append_int(middle.text, ",\"id\":", type.id);
    return middle.text;
  }

  struct Middle {
    std::string text{};
    nettrace::Schema schema = nettrace::Schema::kUnknown;
  };

  ByteSink& out_;
  std::optional<nettrace::ManifestSet> manifests_;
  std::optional<nettrace::PayloadPlans> plans_;
  std::vector<Middle> middles_;  // by type index
  TimeText times_;
  std::string line_;
};

Result<Rewritten> rewrite(const ReadTrace& read, ByteSink& out) {
  nettrace::Reader reader;
  Lines lines{out};
  const nettrace::OnBatch on_batch = [&](const nettrace::Batch& batch) {
    lines.on_batch(reader, batch);
  };
  const auto on_chunk = [&](Bytes chunk) -> Result<> {
    TRY(reader.feed(chunk, on_batch));
    return out.ok() ? Result<>{} : out.finish();
  };
  TRY(read(on_chunk));
  TRY(reader.finish(on_batch));
  TRY(out.finish());
  const auto damage = reader.damage();
  return Rewritten{.events = reader.summary().events,
                   .lost = reader.summary().lost,
                   .read = reader.summary(),
                   .damage = {damage.begin(), damage.end()}};
}

}  // namespace

extern const Format ndjson_format{
    .name = "ndjson",
    .extension = ".ndjson",
    .summary = "every event as a line of JSON, for jq and scripts",
    .rewrite = rewrite,
};

}  // namespace clrscope::exports
