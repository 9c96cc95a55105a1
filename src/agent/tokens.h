// What an enumeration of the metadata gives, one token after the other.
#pragma once

#include "agent/clr_abi.h"

namespace clrscope::agent {

// Calls take(token) with everything that next(&position, tokens, count, &got) gives.
template <class Next, class Take>
void for_each_token(ComObject* metadata, Next next, Take take) {
  constexpr std::uint32_t kChunk = 64;
  void* position = nullptr;
  Token tokens[kChunk];
  for (std::uint32_t got = kChunk; got == kChunk;) {
    got = 0;
    if (next(&position, &tokens[0], kChunk, &got) < 0 || got > kChunk) break;
    for (std::uint32_t i = 0; i < got; ++i) take(tokens[i]);
  }
  if (position) call(metadata, metadata::kCloseEnum, position);
}

}  // namespace clrscope::agent
