#include "collect/machine/machine_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace clrscope::collect {
namespace {

constexpr std::chrono::nanoseconds kLongestCut = std::chrono::seconds{10};
constexpr std::chrono::nanoseconds kShortestCut = std::chrono::seconds{1};

}  // namespace

MachineWriter::MachineWriter(RecordingFile file)
    : file_(std::move(file)), output_(file_.fd, file_.packing, nettrace::TraceVersion::kV6) {
  if (file_.last) ring_.emplace(file_.folder, *file_.last);
}

void MachineWriter::on_stop() {
  stopped_ = TraceClock::now();
  if (ring_) ring_->freeze();
}

std::optional<std::chrono::nanoseconds> MachineWriter::cut_every() const {
  if (!file_.last) return std::nullopt;
  return std::clamp(*file_.last / 8, kShortestCut, kLongestCut);
}

Result<WrittenFile> MachineWriter::finish(Ending ending) {
  if (!ring_ || ending == Ending::kWriteFailed) {
    if (ending == Ending::kComplete) TRY(output_.finish());
    return WrittenFile{.bytes = output_.bytes()};
  }
  const auto names = TRY(ring_->names());
  const auto rewritten =
      TRY(rewrite_to(output_, {.feed = [&](const auto& take) { return ring_->replay(take); },
                               .early_names = {.loaded_later = names},
                               .oldest = stopped_ - *file_.last,
                               .newest = stopped_,
                               .cut_begin = true}));
  return WrittenFile{
      .bytes = rewritten.bytes,
      .rewritten = rewritten,
      .reason = fmt::format("only the last {} are kept", format_duration(*file_.last))};
}

}  // namespace clrscope::collect
