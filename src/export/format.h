// The formats that a trace can be written as: one file each in formats/, listed in formats.inc.
//
// A format is made either from a profile (samples with their stacks named) or from the trace itself
// (every event, while it is read). docs/adding-a-format.md shows how to add one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "nettrace/reader.h"

namespace clrscope::analyze {
struct Profile;
}

namespace clrscope::exports {

class ByteSink;

// Gives a trace to `on_chunk` from its beginning to its end, piece by piece; a piece lives until
// `on_chunk` returns.
using OnChunk = std::function<Result<>(Bytes)>;
using ReadTrace = std::function<Result<>(const OnChunk& on_chunk)>;

// What was read and written when a trace was rewritten.
struct Rewritten {
  std::uint64_t events = 0;  // written
  std::uint64_t lost = 0;    // by the recorder, as the output says
  nettrace::Summary read{};
  std::vector<nettrace::Damage> damage{};  // of the trace: the first pieces
};

// Exactly one of `write`, `rewrite` and `rewrite_folder` is there.
struct Format {
  std::string_view name;       // of --format
  std::string_view extension;  // ".folded"
  std::string_view summary;    // for --help
  Result<> (*write)(const analyze::Profile& profile, ByteSink& out) = nullptr;
  Result<Rewritten> (*rewrite)(const ReadTrace& read, ByteSink& out) = nullptr;
  // Files of its own in an empty folder that is there.
  Result<Rewritten> (*rewrite_folder)(const ReadTrace& read, const std::string& folder) = nullptr;
};

std::span<const Format* const> formats();
const Format* find_format(std::string_view name);

}  // namespace clrscope::exports
