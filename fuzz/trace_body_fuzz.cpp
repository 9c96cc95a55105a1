// Bodies of POST /trace and POST /sessions from anybody: taken, or refused with words.
//
// The corpus are bodies, good and bad; tests/data/fuzz/trace_body/.
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "http/trace_request.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clrscope;
  const auto request =
      http::parse_trace_body({reinterpret_cast<const char*>(data), size});  // NOLINT: bytes as text
  if (!request) {
    CHECK(!request.error().what.empty());
    return 0;
  }
  for (const auto& provider : request->providers) CHECK(!provider.name.empty());
  if (const auto record = http::record_request(*request); !record)
    CHECK(!record.error().what.empty());
  return 0;
}
