// A trace, or the recipe of one with extreme numbers, written as every format that goes to one
// file: what is JSON must parse as JSON, and a nettrace must be readable without damage.
#include <algorithm>
#include <cstdlib>
#include <string>

#include "analyze/profile_builder.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "export/byte_sink.h"
#include "export/format.h"
#include "extreme_trace.h"

using namespace clrscope;
using namespace clrscope::exports;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void check_lines(std::string_view text) {
  require(text.empty() || text.ends_with('\n'));
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = read_json(text.substr(0, end));
    require(line.has_value());
    require(line->find("atMs") && line->find("atMs")->number());
    require(line->find("time") && line->find("time")->text());
    require(line->find("time")->text()->size() ==
            std::string_view{"2026-11-15T02:45:12.123456Z"}.size());
    text.remove_prefix(end + 1);
  }
}

// It tells the damage of what it was made from, and no other.
void check_trace(std::string_view text, const nettrace::Summary& source) {
  constexpr std::uint64_t kMostDamaged = 1'000'000'000;
  nettrace::Reader reader;
  const auto ignore = [](const nettrace::Batch&) {};
  require(reader.feed(as_bytes(text), ignore).has_value());
  require(reader.finish(ignore).has_value());
  require(reader.summary().damaged == std::min(source.damaged, kMostDamaged));
}

void check_rewritten(const Format& format, std::string_view trace) {
  const ReadTrace read = [&](const OnChunk& on_chunk) { return on_chunk(as_bytes(trace)); };
  std::string text;
  ByteSink out{text};
  const auto rewritten = format.rewrite(read, out);
  if (!rewritten) return;
  if (format.name == "ndjson") check_lines(text);
  if (format.name == "nettrace") check_trace(text, rewritten->read);
}

void check_written(std::string_view trace) {
  analyze::ProfileBuilder builder;
  nettrace::Reader reader;
  const auto on_batch = [&](const nettrace::Batch& batch) { builder.on_batch(reader, batch); };
  if (!reader.feed(as_bytes(trace), on_batch) || !reader.finish(on_batch)) return;
  builder.end_of_trace(reader);
  const auto profile = std::move(builder).finish();
  for (const auto* format : formats()) {
    if (!format->write) continue;
    std::string text;
    ByteSink out{text};
    if (!format->write(profile, out) || !out.finish()) continue;
    if (format->extension.ends_with(".json")) require(read_json(text).has_value());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input{data, size};
  const auto trace =
      fuzz::looks_like_trace(input) ? std::string{as_text(input)} : fuzz::ExtremeTrace::make(input);
  for (const auto* format : formats())
    if (format->rewrite) check_rewritten(*format, trace);
  check_written(trace);
  return 0;
}
