// One trace of all that a listener hears, whatever process it comes from: nettrace version 6.
//
// Payloads and stacks are as the runtimes sent them. Events that were dropped or lost are gaps in
// the sequence numbers of a capture thread of their own, so that every reader counts them. A plain
// file can be read at every instant, also when clrscope is killed; what is younger than two seconds
// may not be in it yet.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/fd.h"
#include "base/private_folder.h"
#include "base/text.h"
#include "nettrace/trace_output.h"
#include "nettrace/writer.h"
#include "sinks/own_events.h"
#include "sinks/rotation.h"
#include "sinks/sink_kind.h"

namespace clrscope::sinks {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

// Events come to us this late at most, mostly: what is older is put in order and written.
constexpr seconds kPatience{1};
// An event may be a little older than the trace.
constexpr seconds kBeforeStart{2};

struct FileRequest {
  std::string path;
  std::uint64_t max_size = 0;  // 0: no limit
  nettrace::Packing packing = nettrace::Packing::kPlain;
};

// A trace from its header to its end.
class Trace {
 public:
  Trace(UniqueFd fd, nettrace::Packing packing)
      : fd_(std::move(fd)),
        output_(fd_.get(), packing, nettrace::TraceVersion::kV6),
        info_(info()),
        writer_(info_, [this](Bytes bytes) { return output_.write(bytes); }),
        losses_(writer_.add_source(nettrace::Writer::Numbering::kNone)) {}

  Result<> begin() {
    TRY(writer_.advance(0));  // from now on events wait for earlier ones
    return writer_.flush();   // a file with a header, before the first event
  }

  Result<> write(const hub::Batch& batch) {
    const auto& block = *batch.block;
    const auto reader = reader_of(block);
    for (const auto row : batch.rows) {
      auto event = block.events()[row];
      event.process = process_of(block, event);
      event.ticks = std::max(event.time.time_since_epoch().count(), info_.sync_ticks);
      newest_ = std::max(newest_, event.ticks);
      TRY(writer_.write(reader, event, block.stack(row)));
    }
    waiting_ = true;
    return {};
  }

  void add_lost(std::uint64_t events) {
    writer_.add_lost(losses_, events);
    waiting_ = true;
  }

  Result<> tick() {
    const auto until = (TraceClock::now() - kPatience).time_since_epoch().count();
    if (std::exchange(waiting_, until < newest_)) TRY(writer_.sequence_point(until));
    return output_.tick();
  }

  Result<> forget(std::uint64_t source) {
    for (auto at = readers_.begin(); at != readers_.end();) {
      if (at->second.source != source) {
        ++at;
        continue;
      }
      TRY(writer_.remove_source(at->second.id));
      at = readers_.erase(at);
    }
    return {};
  }

  Result<> finish() {
    TRY(writer_.finish());
    return output_.finish();
  }
  void abandon() { (void)output_.finish_early(); }

  std::uint64_t bytes() const { return output_.bytes(); }

 private:
  struct Reader {
    nettrace::SourceId id;
    std::uint64_t source;
  };

  static nettrace::TraceInfo info() {
    nettrace::TraceInfo info{
        .version = 6,
        .start = wall_now() - kBeforeStart,
        .sync_ticks = (TraceClock::now() - kBeforeStart).time_since_epoch().count(),
        .ticks_per_second = 1'000'000'000};
    info.processors = static_cast<std::uint32_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
    return info;
  }

  nettrace::SourceId reader_of(const hub::Block& block) {
    const auto at = readers_.find(block.reader());
    if (at != readers_.end()) return at->second.id;
    const auto id = writer_.add_source(nettrace::Writer::Numbering::kNone);
    readers_.emplace(block.reader(), Reader{.id = id, .source = block.source().id});
    return id;
  }

  UniqueFd fd_;
  nettrace::TraceOutput output_;
  nettrace::TraceInfo info_;
  nettrace::Writer writer_;
  nettrace::SourceId losses_;
  std::map<std::uint64_t, Reader> readers_;
  bool waiting_ = false;  // something that the file does not have
  std::int64_t newest_ = 0;
};

class FileSink final : public hub::Sink {
 public:
  explicit FileSink(FileRequest request) : request_(std::move(request)) {}

  Result<> open() override { return begin(); }

  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    TRY(usable());
    if (change == hub::SourceChange::kGone) {
      sources_.erase(source.id);
      std::erase_if(names_, [&](const auto& one) { return one.block->source().id == source.id; });
      return kept(trace_->forget(source.id));
    }
    sources_.emplace(source.id, source);
    return kept(trace_->write(event_of(source, TraceClock::now(), wall_offset_)));
  }

  Result<> on_batch(const hub::Batch& batch) override {
    TRY(usable());
    if (batch.block->reader() == kNamesReader) names_.push_back(batch);
    return kept(trace_->write(batch));
  }

  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    TRY(usable());
    return kept(trace_->write(events_of(values, wall_offset_)));
  }

  Result<> on_dropped(std::uint64_t events) override {
    TRY(usable());
    trace_->add_lost(events);
    told_dropped_ += events;
    return {};
  }

  Result<> on_tick() override {
    TRY(usable());
    TRY(kept(trace_->tick()));
    return request_.max_size != 0 && trace_->bytes() >= request_.max_size ? kept(turn())
                                                                          : Result<>{};
  }

  Result<> close(const hub::SessionSummary& summary) override {
    TRY(usable());
    trace_->add_lost(summary.lost + summary.dropped - told_dropped_);
    return kept(trace_->finish());
  }

 private:
  Result<> begin() {
    // What was recorded before a restart or a new plan is not for us to throw away.
    struct stat before {};
    if (::stat(request_.path.c_str(), &before) == 0 && S_ISREG(before.st_mode) &&
        before.st_size > 0)
      TRY(put_aside(request_.path));
    UniqueFd fd{::open(request_.path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode)};
    if (!fd) return fail(Errc::kSystem, "cannot write {}: {}", request_.path, errno_text());
    wall_offset_ = wall_offset_now();
    trace_.emplace(std::move(fd), request_.packing);
    TRY(trace_->begin());
    for (const auto& [id, source] : sources_)
      TRY(trace_->write(event_of(source, TraceClock::now(), wall_offset_)));
    for (const auto& batch : names_) TRY(trace_->write(batch));
    return {};
  }

  Result<> turn() {
    TRY(trace_->finish());
    TRY(put_aside(request_.path));
    return begin();
  }

  // A write that failed left something out that later events may refer to: the file ends there, and
  // what follows is counted as failed.
  Result<> usable() {
    if (error_) return fail(*error_);
    if (!trace_) return begin();
    return {};
  }
  Result<> kept(Result<> done) {
    if (!done) {
      error_ = done.error();
      trace_->abandon();
    }
    return done;
  }

  FileRequest request_;
  nanoseconds wall_offset_{};
  std::optional<Trace> trace_;
  std::map<std::uint64_t, hub::SourceInfo> sources_;  // those that are there
  std::vector<hub::Batch> names_;                     // of the methods in stacks, for the next file
  std::uint64_t told_dropped_ = 0;
  std::optional<Error> error_;
};

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting&) {
  FileRequest request{.path = address.target};
  request.max_size = TRY(address.size("max-size", 0));
  if (TRY(address.truth("compress", request.path.ends_with(".zst"))))
    request.packing = nettrace::Packing::kZstd;
  TRY(can_write(request.path));
  return std::make_unique<FileSink>(std::move(request));
}

constexpr SinkOption kOptions[] = {
    {"max-size", "SIZE",
     "size at which the file is renamed to NAME.1.nettrace and a new one is started"},
    {"compress", "yes|no", "compress with zstd (default: yes if the name ends in .zst)"},
};

}  // namespace

extern const SinkKind file_sink{
    .name = "file",
    .target = "PATH.nettrace",
    .summary = "a trace of all processes, for PerfView, dotnet-trace and clrscope report",
    .options = kOptions,
    .whole_events = true,
    .make = make,
};

}  // namespace clrscope::sinks
