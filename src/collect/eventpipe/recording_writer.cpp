#include "collect/eventpipe/recording_writer.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/text.h"

namespace clrscope::collect {
namespace {

// A ring or a filter makes a new trace; otherwise the runtime's bytes stay as they are.
nettrace::TraceVersion version_of(const RecordingFile& file, const EventFilter& filter) {
  return file.last || !filter.empty() ? nettrace::TraceVersion::kV6 : nettrace::TraceVersion::kV4;
}

bool is_regular_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// The runtime sends method names at the end; a target that is gone by then cannot.
bool ended_without_names(const StreamOutcome& outcome) {
  return outcome.ending == Ending::kTargetDied || outcome.ending == Ending::kNoAnswer;
}

}  // namespace

RecordingWriter::RecordingWriter(RecordingFile file, EventFilter filter)
    : file_(std::move(file)),
      output_(file_.fd, file_.packing, version_of(file_, filter)),
      filter_(std::move(filter)) {
  if (file_.last)
    ring_.emplace(file_.folder, *file_.last);
  else if (!filter_.empty())
    converter_.emplace([this](Bytes bytes) { return output_.write(bytes); },
                       [this](const Event& event) { return filter_.keeps(*event.type); });
}

Result<> RecordingWriter::write(Bytes blocks) {
  if (ring_) return ring_->add(blocks);
  return converter_ ? converter_->feed(blocks) : output_.write(blocks);
}

void RecordingWriter::on_stop() {
  stopped_ = TraceClock::now();
  if (ring_) ring_->freeze();
}

void RecordingWriter::on_status() {
  if (converter_) (void)converter_->flush();
  if (!ring_) (void)output_.tick();  // the next write fails too, and its error is reported
}

std::optional<std::uint64_t> RecordingWriter::kept_events() const {
  if (!converter_) return std::nullopt;
  return converter_->writer() ? converter_->writer()->summary().events : 0;
}

Result<> RecordingWriter::end_output(const StreamOutcome& outcome) {
  if (outcome.ending == Ending::kWriteFailed) return {};
  if (converter_) {
    TRY(converter_->finish());
    return output_.finish();
  }
  return outcome.summary.ended || outcome.unreadable ? output_.finish() : output_.finish_early();
}

Result<WrittenFile> RecordingWriter::finish(const StreamOutcome& outcome, EarlyNames* early) {
  const auto names = early && ended_without_names(outcome) ? early->take() : EarlyNames::Traces{};
  if (ring_) {
    const auto end = stopped_.value_or(TraceClock::now());
    const auto rewritten =
        TRY(rewrite_to(output_, {.feed = [&](const auto& take) { return ring_->replay(take); },
                                 .early_names = names,
                                 .oldest = end - *file_.last,
                                 .newest = end,
                                 .filter = &filter_}));
    return WrittenFile{
        .bytes = rewritten.bytes,
        .rewritten = rewritten,
        .reason = fmt::format("only the last {} are kept", format_duration(*file_.last))};
  }
  TRY(end_output(outcome));
  if (names.empty() || file_.path == "-" || !is_regular_file(file_.fd))
    return WrittenFile{.bytes = output_.bytes(), .events = kept_events()};
  const auto rewritten = TRY(rewrite_file(
      file_.path, output_.packed() ? nettrace::Packing::kZstd : nettrace::Packing::kPlain, names));
  return WrittenFile{.bytes = rewritten.bytes,
                     .rewritten = rewritten,
                     .reason = "method names taken early were added"};
}

}  // namespace clrscope::collect
