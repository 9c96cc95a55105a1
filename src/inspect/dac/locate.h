// Where a target's runtime is mapped, and the data access library that belongs to exactly that
// build.
//
// Both files carry one text with version and commit; they must be equal. There is no "nearest": a
// library of another build reads nonsense. See docs/adr/0003-dac-worker.md
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "inspect/target.h"

namespace clrscope::inspect::dac {

struct RuntimeImage {
  std::string path{};
  std::uint64_t base = 0;
  std::string identity{};  // "8.0.3126.42015 @Commit: 1219a…"
  std::string version{};   // "8.0.31"
};
Result<RuntimeImage> find_runtime(Target& target);

// Whether the process's C library is musl (Alpine): its data access library needs the same.
bool uses_musl(std::span<const Mapping> mappings);

struct LibraryFile {
  std::string path{};
  UniqueFd file{};
};
Result<LibraryFile> find_library(Target& target, const RuntimeImage& runtime);

// The text behind "@(#)Version " in these bytes; empty when there is none.
std::string identity_in(Bytes bytes);
// "8.0.3126.42015 @Commit: …" → "8.0.31"; empty when it is none.
std::string version_of_identity(std::string_view identity);

}  // namespace clrscope::inspect::dac
