// The trace as CTF 1.8, a folder of two files: every event in order of time, with typed fields and
// its stack, for babeltrace2 and Trace Compass. Memory does not grow with the trace.
#include <fcntl.h>

#include <functional>
#include <optional>

#include "base/fd.h"
#include "base/io.h"
#include "base/private_folder.h"
#include "base/text.h"
#include "ctf/writer.h"
#include "export/format.h"
#include "nettrace/manifest.h"
#include "nettrace/order.h"

namespace clrscope::exports {
namespace {

Result<UniqueFd> create(const std::string& path) {
  UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode)};
  if (!file) return fail(Errc::kSystem, "cannot create {}: {}", path, errno_text());
  return file;
}

class CtfEvents {
 public:
  CtfEvents(const nettrace::Reader& reader, const UniqueFd& stream)
      : reader_(reader), stream_(stream) {}

  void on_batch(const nettrace::Batch& batch) {
    if (!writer_) begin(*reader_.info());
    for (const Event& event : batch.events) {
      if (!done_) return;
      if (event.type->id == nettrace::kManifestEventId)
        manifests_->add(event.type->provider, event.payload);
      const auto& plan = plans_->of(event);
      done_ =
          writer_->write(classes_->of(*event.type, plan), event, plan, reader_.stack(event.stack));
    }
    writer_->set_lost(reader_.summary().lost);
  }

  // The metadata, when all is written.
  Result<std::string> finish() {
    if (!writer_) return fail(Errc::kCorrupt, "the trace has no header");
    TRY(done_);
    writer_->set_lost(reader_.summary().lost);
    TRY(writer_->flush());
    return writer_->metadata();
  }
  const Result<>& done() const { return done_; }
  std::uint64_t events() const { return writer_ ? writer_->events() : 0; }

 private:
  void begin(const nettrace::TraceInfo& info) {
    const auto sync = info.time_of(info.sync_ticks);
    const ctf::TraceFacts facts{
        .clock_offset = info.start.time_since_epoch() - sync.time_since_epoch(),
        .environment = {{"domain", "ust"}, {"tracer_name", "clrscope"}},
    };
    writer_.emplace(facts, [this](Bytes bytes) { return write_all(stream_.get(), bytes); });
    classes_.emplace(*writer_);
    manifests_.emplace(info.pointer_size);
    plans_.emplace(info.pointer_size, &*manifests_);
  }

  const nettrace::Reader& reader_;
  const UniqueFd& stream_;
  std::optional<nettrace::ManifestSet> manifests_;
  std::optional<nettrace::PayloadPlans> plans_;
  std::optional<ctf::Writer> writer_;
  std::optional<ctf::Classes> classes_;
  Result<> done_{};
};

Result<Rewritten> rewrite_folder(const ReadTrace& read, const std::string& folder) {
  const auto stream = TRY(create(folder + "/stream"));
  const auto metadata = TRY(create(folder + "/metadata"));
  nettrace::Reader reader;
  CtfEvents events{reader, stream};
  nettrace::TimeOrder in_order{reader,
                               [&](const nettrace::Batch& batch) { events.on_batch(batch); }};
  const auto on_chunk = [&](Bytes chunk) -> Result<> {
    TRY(reader.feed(chunk, std::ref(in_order)));
    return events.done();
  };
  TRY(read(on_chunk));
  TRY(reader.finish(std::ref(in_order)));
  in_order.finish();
  const auto text = TRY(events.finish());
  TRY(write_all(metadata.get(), as_bytes(text)));
  const auto damage = reader.damage();
  return Rewritten{.events = events.events(),
                   .lost = reader.summary().lost,
                   .read = reader.summary(),
                   .damage = {damage.begin(), damage.end()}};
}

}  // namespace

extern const Format ctf_format{
    .name = "ctf",
    .extension = ".ctf",
    .summary = "a folder in the Common Trace Format, for babeltrace2 and Trace Compass",
    .rewrite_folder = rewrite_folder,
};

}  // namespace clrscope::exports
