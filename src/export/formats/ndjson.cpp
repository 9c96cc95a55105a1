// Every event as one line of JSON (nettrace/event_json.h), in the order of the trace. Written while
// it is read: memory does not grow with the trace.
#include <optional>
#include <string>

#include "export/byte_sink.h"
#include "export/format.h"
#include "nettrace/event_json.h"
#include "nettrace/manifest.h"
#include "nettrace/reader.h"

namespace clrscope::exports {
namespace {

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
  void write(const Event& event, WallTime wall, std::chrono::nanoseconds since_start) {
    line_.clear();
    json_.append(line_, event, plans_->of(event), wall, since_start);
    out_.write(line_);
  }

  ByteSink& out_;
  std::optional<nettrace::ManifestSet> manifests_;
  std::optional<nettrace::PayloadPlans> plans_;
  nettrace::EventJson json_;
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
