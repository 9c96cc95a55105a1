// Numbers of texts and call paths that every server computes alike; they are stored: never change.
#pragma once

#include <cstdint>
#include <string_view>

namespace clrscope::store {

inline std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 32U;
  value *= 0xd6e8feb86659fd93U;
  value ^= value >> 32U;
  value *= 0xd6e8feb86659fd93U;
  return value ^ (value >> 32U);
}

inline std::uint64_t hash_of(std::string_view text) {
  auto hash = 0x9e3779b97f4a7c15U ^ text.size();
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3U;
  return mix(hash);
}

// Of a caller's path (0: none) and the text of a method; never 0.
inline std::uint64_t path_of(std::uint64_t parent, std::uint64_t method) {
  const auto path = mix(mix(parent + 0x632be59bd9b4e019U) + method);
  return path == 0 ? 1 : path;
}

}  // namespace clrscope::store
