// Writes a trace in another format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "ops/lines.h"
#include "ops/trace_bytes.h"

namespace clrscope::exports {
struct Format;
}

namespace clrscope::ops {

struct ConvertRequest {
  std::string input;  // "-": standard input, then `output` must be said
  const exports::Format* format = nullptr;
  std::string output{};  // empty: beside the input; a folder: in it; "-": standard output
  LinesOptions lines{};  // of formats made from samples
  TraceLimits limits{};
  // Before so many bytes more of the output are written; its failure ends the work.
  std::function<Result<>(std::uint64_t bytes)> on_output{};
};

struct ConvertWatcher {
  // `total` is 0 when the input's size is not known. Called about once for each megabyte.
  std::function<void(std::uint64_t done, std::uint64_t total)> on_progress{};
};

struct ConvertSummary {
  std::string file;
  const exports::Format* format = nullptr;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> samples{};  // of a format made from samples
  std::uint64_t events = 0;                // read
  std::uint64_t lost = 0;                  // by the recorder
  std::string damage{};                    // a line on what could not be read, or empty
  std::string missing_lines{};             // likewise on source lines
};

// The format of that name, or an error that lists them.
Result<const exports::Format*> parse_format(std::string_view name);

// The name of a trace without what it ends in: "a.nettrace.zst" to "a".
std::string trace_stem(std::string name);

// Where the output goes when nobody says: "a.nettrace" and "a.nettrace.zst" to "a.folded".
std::string converted_name(const std::string& input, const exports::Format& format);

// The output appears when it is whole. A damaged or truncated trace is converted as far as it can
// be read; what is no trace, or has no samples where the format needs them, fails.
Result<ConvertSummary> convert(const ConvertRequest& request, const ConvertWatcher& watcher = {});

}  // namespace clrscope::ops
