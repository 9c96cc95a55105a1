// What the DAC worker says: answers over bytes that foreign code may have made up, the names in
// them, and the text that tells a build.
//
// The first byte chooses the question. The corpus are real answers, see tests/data/fuzz/dac/.
#include <cstdint>

#include "inspect/dac/locate.h"
#include "inspect/dac/names.h"
#include "inspect/dac/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clrscope;
  using namespace clrscope::inspect::dac;
  if (size == 0) return 0;
  const Bytes answer{data + 1, size - 1};
  switch (data[0] % 8) {
    case 0:
      if (const auto threads = read_threads(answer))
        for (const auto& thread : *threads) (void)readable_type(thread.exception_type);
      break;
    case 1:
      if (const auto methods = read_methods(answer))
        for (const auto& method : *methods) (void)readable_method(method);
      break;
    case 2:
      if (const auto type = read_type(answer)) (void)readable_type(type->name);
      break;
    case 3:
      (void)read_sync_blocks(answer);
      break;
    case 4:
      if (const auto frames = read_frames(answer))
        for (const auto& frame : *frames) (void)readable_method(frame.method);
      break;
    case 5:
      (void)read_il_offset(answer);
      (void)read_printable(answer);
      break;
    case 6:
      (void)readable_full_name(as_text(answer));
      (void)readable_type(as_text(answer));
      break;
    default:
      (void)version_of_identity(identity_in(answer));
  }
  return 0;
}
