#include "collect/eventpipe/rewrite.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <vector>

#include "base/decompress.h"
#include "base/fd.h"
#include "base/io.h"
#include "base/private_folder.h"
#include "model/provider_names.h"
#include "nettrace/convert.h"

namespace clrscope::collect {
namespace {

Result<> feed_file(int file, const std::function<Result<>(Bytes)>& take) {
  std::vector<std::uint8_t> chunk(1 << 20);
  Decompressor decompressor;
  for (;;) {
    const auto got = ::read(file, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Errc::kSystem, "cannot read the recording again: {}", errno_text());
    if (got == 0) break;
    TRY(decompressor.feed(Bytes{chunk}.first(static_cast<std::size_t>(got)), take));
  }
  (void)TRY(decompressor.finish(take));
  return {};
}

}  // namespace

bool is_runtime_sample(const Event& event) { return event.type->provider == kSamplerProvider; }

namespace {

bool is_sample(const Event& event) {
  return is_runtime_sample(event) ||
         (event.type->name == "cpu" && event.type->provider == kUniversalEventsProvider);
}

}  // namespace

bool names_something(const Event& event) {
  const auto& type = *event.type;
  if (type.provider == kUniversalSystemProvider || type.provider == kRundownProvider ||
      type.provider == kEventPipeProvider || type.provider == kSymbolsProvider)
    return true;
  if (type.provider != kRuntimeProvider) return false;
  // Methods and modules come and go; where their lines lie; which runtime it is.
  return (type.id >= 141 && type.id <= 144) || (type.id >= 151 && type.id <= 157) ||
         type.id == 187 || type.id == 190;
}

Result<RewriteSummary> rewrite_to(nettrace::TraceOutput& output, const Rewrite& rewrite) {
  std::uint64_t samples = 0;
  const auto keep = [&](const Event& event) {
    const bool outside = (rewrite.oldest && event.time < *rewrite.oldest) ||
                         (rewrite.newest && event.time > *rewrite.newest);
    if (outside && !names_something(event)) return false;
    if (rewrite.filter && !rewrite.filter->keeps(*event.type)) return false;
    if (is_sample(event)) ++samples;
    return true;
  };
  nettrace::Converter converter{[&](Bytes bytes) { return output.write(bytes); }, keep};
  if (rewrite.cut_begin) converter.begin_is_missing();
  if (rewrite.oldest) converter.begin_window(*rewrite.oldest);
  using Place = nettrace::Converter::Place;
  converter.include(rewrite.early_names.loaded_later, Place::kInTime);
  converter.include(rewrite.early_names.loaded_before, Place::kAtEnd);
  TRY(rewrite.feed([&](Bytes bytes) { return converter.feed(bytes); }));
  TRY(converter.finish());
  TRY(output.finish());
  const auto& written = converter.writer()->summary();
  return RewriteSummary{output.bytes(), written.events, written.lost, samples};
}

Result<RewriteSummary> rewrite_file(const std::string& path, nettrace::Packing packing,
                                    const EarlyNames::Traces& early_names) {
  const auto old_file = TRY(open_for_reading(path));
  const auto new_path = path + ".new";
  const UniqueFd new_file{
      ::open(new_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode)};
  if (!new_file) return fail(errc_of(errno), "cannot write {}: {}", new_path, errno_text());
  nettrace::TraceOutput output{new_file.get(), packing, nettrace::TraceVersion::kV6};
  auto done =
      rewrite_to(output, {.feed = [&](const auto& take) { return feed_file(old_file.get(), take); },
                          .early_names = early_names});
  if (done && ::rename(new_path.c_str(), path.c_str()) != 0)
    done = fail(errc_of(errno), "cannot replace {}: {}", path, errno_text());
  if (!done) ::unlink(new_path.c_str());
  return done;
}

}  // namespace clrscope::collect
