// An .eh_frame section, the unwinder that follows its rules, and the scan of instructions.
//
// The first 16 bytes choose registers; the rest is the section, the stack and the code at once. The
// corpus is made by hand, see tests/data/fuzz/cfi/.
#include <array>
#include <cstdint>

#include "unwind/cfi_table.h"
#include "unwind/code_scan_x64.h"
#include "unwind/expression_x64.h"
#include "unwind/r2r_table.h"
#include "unwind/unwinder.h"

namespace {

using namespace clrscope;
using namespace clrscope::unwind;

constexpr std::uint64_t kStack = 0x7f0000000000;

class GivenCode final : public CodeBytes {
 public:
  explicit GivenCode(Bytes bytes) : bytes_(bytes) {}
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    const auto rest = bytes_.subspan(address % (bytes_.size() + 1));
    const auto size = std::min(out.size(), rest.size());
    std::copy_n(rest.begin(), size, out.begin());
    return size;
  }

 private:
  Bytes bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 16) return 0;
  ByteReader in{Bytes{data, size}};
  const std::uint64_t rip = in.read<std::uint32_t>();
  const std::uint64_t rsp = in.read<std::uint32_t>();
  const std::uint64_t rbp = in.read<std::uint32_t>();
  in.skip(4);
  const auto bytes = in.rest();

  const LazyTable table{make_cfi_table(ElfPiece{bytes, 0x1000})};
  (void)rule_of_unwind_codes(bytes, rip % 256);
  CHECK(instruction_size(bytes) <= 15);
  (void)scan_ahead(bytes);
  (void)scan_epilogue(bytes);

  Registers registers;
  for (std::uint8_t r = 0; r < kRegCount; ++r) registers.set(static_cast<Reg>(r), kStack + r);
  registers.set(kRip, rip % 0x4000);
  registers.set(kRsp, kStack + rsp % 64 * 8);
  registers.set(kRbp, kStack + rbp % 128 * 8);
  const StackCopy stack{kStack, bytes};
  (void)evaluate(bytes, registers, stack, kStack);

  AddressSpace space;
  space.add({.start = 0, .end = 0x2000, .kind = CodeKind::kElf, .table = &table});
  space.add({.start = 0x2000, .end = 0x3000, .kind = CodeKind::kJit});
  space.add({.start = 0x3000,
             .end = kStack / 2,
             .bias = 0x3000,
             .kind = CodeKind::kR2r,
             .table = &table});
  GivenCode code{bytes};
  Unwinder unwinder{space, nullptr, &code};
  std::array<Frame, 64> frames;
  CHECK(unwinder.unwind(registers, stack, frames).frames <= frames.size());
  return 0;
}
