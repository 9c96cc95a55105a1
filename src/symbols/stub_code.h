// What kind of stub the runtime made, by its instructions: the small pieces of code between methods
// that no event of the runtime names. x86-64, .NET 8 to 10.
//
// Reports only what matches a known form byte by byte. Does no I/O.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace clrscope {

struct StubCode {
  std::uint64_t start = 0;
  std::uint64_t end = 0;  // the first address behind it
  std::string_view name;  // "[stub: call counting]"
};

// Stubs of which nothing more is known.
inline constexpr std::string_view kAnyStub = "[stub]";
// In precompiled images: where a call leads until its target is known.
inline constexpr std::string_view kUnboundCallStub = "[stub: unbound call]";
inline constexpr bool is_stub_name(std::string_view name) { return name.starts_with("[stub"); }

// How much before and behind an address is worth having.
inline constexpr std::size_t kStubReach = 96;

// `code` are the bytes from `code_start` on, around the address or from the start of its page.
std::optional<StubCode> stub_at(Bytes code, std::uint64_t code_start, std::uint64_t address);

}  // namespace clrscope
