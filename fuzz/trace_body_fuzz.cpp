// Bodies of POST /trace and POST /sessions from anybody: taken, or refused with words.
//
// The corpus are bodies, good and bad; tests/data/fuzz/trace_body/.
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "http/trace_wish.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clrscope;
  const auto wish =
      http::parse_trace_body({reinterpret_cast<const char*>(data), size});  // NOLINT: bytes as text
  if (!wish) {
    CHECK(!wish.error().what.empty());
    return 0;
  }
  for (const auto& provider : wish->providers) CHECK(!provider.name.empty());
  if (const auto record = http::record_wish(*wish); !record) CHECK(!record.error().what.empty());
  return 0;
}
