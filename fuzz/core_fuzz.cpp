// The reader of cores, over bytes that claim to be one: headers, notes, memory, mappings.
//
// The corpus are small cores made by hand, see tests/data/fuzz/core/.
#include <cstdint>
#include <cstring>

#include "inspect/core_image.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clrscope;
  const auto read_at = [=](std::uint64_t offset, std::span<std::uint8_t> out) -> std::size_t {
    if (offset >= size || out.empty()) return 0;
    const auto there = std::min<std::size_t>(out.size(), size - offset);
    std::memcpy(out.data(), data + offset, there);
    return there;
  };
  const auto core = inspect::CoreImage::parse(read_at, size);
  if (!core) return 0;
  std::uint8_t bytes[4096];
  std::uint64_t last = 0;
  for (const auto& mapping : core->mappings()) {
    CHECK(mapping.start >= last && mapping.start < mapping.end);
    last = mapping.end;
    CHECK(core->read(mapping.start, bytes) <= sizeof bytes);
    (void)core->read(mapping.end - 1, bytes);
    CHECK((core->gap_at(mapping.start) == 0) == (core->read(mapping.start, {bytes, 1}) == 1));
  }
  for (const auto& thread : core->notes().threads)
    (void)core->read(thread.registers[unwind::kRsp], bytes);
  return 0;
}
