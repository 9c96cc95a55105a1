// The formats that a trace can be written as: one file each in formats/, listed in formats.inc.
//
// A format is made either from a profile (samples with their stacks named) or from the trace itself
// (every event, while it is read). docs/adding-a-format.md shows how to add one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope::analyze {
struct Profile;
}

namespace clrscope::exports {

class ByteSink;

// The trace, piece by piece; an empty one is its end. A piece lives until the next call.
using NextChunk = std::function<Result<Bytes>()>;

// What came through when a trace was rewritten.
struct Rewritten {
  std::uint64_t events = 0;
  std::uint64_t lost = 0;     // by the recorder
  std::uint64_t damaged = 0;  // pieces of the trace that could not be read
  bool truncated = false;     // the trace ends in the middle of something
};

// Exactly one of `write` and `rewrite` is there.
struct Format {
  std::string_view name;       // of --format
  std::string_view extension;  // ".folded"
  std::string_view summary;    // for --help
  Result<> (*write)(const analyze::Profile& profile, ByteSink& out) = nullptr;
  Result<Rewritten> (*rewrite)(const NextChunk& next, ByteSink& out) = nullptr;
};

std::span<const Format* const> formats();
const Format* find_format(std::string_view name);

}  // namespace clrscope::exports
