#include "nettrace/convert.h"

#include <algorithm>

namespace clrscope::nettrace {

Converter::Converter(WriteBytes write, std::function<bool(const Event&)> keep)
    : write_(std::move(write)),
      keep_(std::move(keep)),
      on_batch_([this](const Batch& batch) { this->on_batch(batch); }) {}

// Their sequence numbers are their own: sources beside the one we convert.
Result<> Converter::write_included(Place place) {
  for (const auto& [trace, wanted] : included_) {
    if (wanted != place || trace.empty()) continue;
    Reader other;
    const auto source = writer_->add_source(Writer::Numbering::kFromFirstSeen);
    std::optional<Error> failed;
    const auto write = [&](const Batch& batch) {
      for (Event event : batch.events) {
        if (failed) return;
        if (place == Place::kAtEnd) event.ticks = std::max(event.ticks, newest_);
        if (auto written = writer_->write(source, event, other.stack(event.stack)); !written)
          failed = written.error();
      }
    };
    TRY(other.feed(trace, write));
    TRY(other.finish(write));
    if (failed) return fail(*failed);
  }
  return {};
}

Result<> Converter::feed(Bytes chunk) { return checked(reader_.feed(chunk, on_batch_)); }

Result<> Converter::flush() { return writer_ ? writer_->flush() : Result<>{}; }

Result<> Converter::finish() {
  TRY(checked(reader_.finish(on_batch_)));
  if (!ensure_writer()) return fail(Errc::kCorrupt, "the trace has no header");
  TRY(write_included(Place::kAtEnd));
  checkpoint_all();
  // Of the last seconds only, what lies before is missing on purpose.
  if (!window_ && !cut_begin_) writer_->tell_damage(reader_.summary(), reader_.damage());
  return writer_->finish();
}

Result<> Converter::checked(Result<> read) {
  if (error_) return fail(*error_);
  return read;
}

bool Converter::ensure_writer() {
  if (writer_) return true;
  const auto* info = reader_.info();
  if (!info) return false;
  auto described = *info;
  if (const auto sync = info->time_of(info->sync_ticks); window_ && *window_ > sync)
    described.window_ns = (*window_ - sync).count();
  writer_.emplace(described, write_);
  source_ = writer_->add_source(cut_begin_           ? Writer::Numbering::kIndexFromFirstSeen
                                : info->version >= 6 ? Writer::Numbering::kFromZero
                                : info->version == 3 ? Writer::Numbering::kNone
                                                     : Writer::Numbering::kFromFirstSeen);
  // Before everything: readers keep them until their time comes.
  if (auto written = write_included(Place::kInTime); !written) error_ = written.error();
  return true;
}

void Converter::on_batch(const Batch& batch) {
  if (error_ || !ensure_writer()) return;
  name_threads();
  for (const auto& event : batch.events) {
    newest_ = std::max(newest_, event.ticks);
    if (keep_ && !keep_(event)) {
      writer_->skip(source_, event);
      continue;
    }
    if (auto written = writer_->write(source_, event, reader_.stack(event.stack)); !written) {
      error_ = written.error();
      return;
    }
  }
  if (!batch.sequence_point) return;
  checkpoint_all();
  if (auto written = writer_->sequence_point(batch.sequence_point->ticks); !written)
    error_ = written.error();
}

void Converter::name_threads() {
  if (reader_.thread_count() == named_threads_) return;
  named_threads_ = reader_.thread_count();
  for (const auto& thread : reader_.threads())
    if (!thread.name.empty()) writer_->name_thread(thread.process, thread.thread, thread.name);
}

void Converter::checkpoint_all() {
  for (const auto& capture : reader_.loss())
    if (capture.live) writer_->checkpoint(source_, capture.id, capture.sequence);
}

}  // namespace clrscope::nettrace
