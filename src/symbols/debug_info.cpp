#include "symbols/debug_info.h"

#include <algorithm>
#include <vector>

namespace clrscope {
namespace {

constexpr std::uint8_t kHasPatchpoint = 1;
constexpr std::size_t kPatchpointHead = 40;
constexpr std::uint32_t kMostLocals = 65536;
constexpr std::uint32_t kMostEntries = 65536;
constexpr unsigned kSourceBits = 2;
constexpr std::uint32_t kIlBias = 3;  // so that the three special offsets are small numbers

// Numbers in groups of three bits, the highest first, each in a nibble that says whether more
// follow; of a byte the lower nibble comes first.
class NibbleReader {
 public:
  explicit NibbleReader(Bytes bytes) : bytes_(bytes) {}

  std::uint32_t read() {
    std::uint32_t value = 0;
    for (int groups = 0; groups < 11 && at_ / 2 < bytes_.size(); ++groups) {
      const auto nibble = std::uint32_t{bytes_[at_ / 2]} >> (at_ % 2 * 4) & 15;
      ++at_;
      value = value << 3 | (nibble & 7U);
      if ((nibble & 8) == 0) return value;
    }
    ok_ = false;
    return 0;
  }
  bool ok() const { return ok_; }
  Bytes rest() const { return bytes_.subspan((at_ + 1) / 2); }  // from the next whole byte on

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

class BitReader {
 public:
  explicit BitReader(Bytes bytes) : bytes_(bytes) {}

  std::uint32_t read(unsigned bits) {  // at most 32
    std::uint64_t value = 0;
    for (unsigned done = 0; done < bits;) {
      if (at_ / 8 >= bytes_.size()) {
        ok_ = false;
        return 0;
      }
      const auto part = std::min<unsigned>(bits - done, 8 - at_ % 8);
      const auto piece = static_cast<std::uint64_t>(bytes_[at_ / 8] >> (at_ % 8)) &
                         ((std::uint64_t{1} << part) - 1);
      value |= piece << done;
      done += part;
      at_ += part;
    }
    return static_cast<std::uint32_t>(value);
  }
  bool ok() const { return ok_; }

 private:
  Bytes bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

IlMap read_nibbles(Bytes bounds) {
  NibbleReader in{bounds};
  const auto count = in.read();
  if (!in.ok() || count > kMostEntries) return {};
  std::vector<IlMap::Entry> entries;
  std::uint32_t native = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    native += in.read();
    const auto il = in.read() - kIlBias;
    in.read();  // what kind of place
    if (!in.ok()) return {};
    entries.push_back({native, il});
  }
  return IlMap{std::move(entries)};
}

IlMap read_bits(Bytes bounds) {
  NibbleReader head{bounds};
  const auto count = head.read();
  const auto native_bits = head.read() + 1;
  const auto il_bits = head.read() + 1;
  if (!head.ok() || count > kMostEntries || native_bits > 32 || il_bits > 32) return {};
  BitReader bits{head.rest()};
  std::vector<IlMap::Entry> entries;
  std::uint32_t native = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    bits.read(kSourceBits);
    native += bits.read(native_bits);
    const auto il = bits.read(il_bits) - kIlBias;
    if (!bits.ok()) return {};
    entries.push_back({native, il});
  }
  return IlMap{std::move(entries)};
}

}  // namespace

IlMap il_map_of_ready_to_run(Bytes debug_info, BoundsCoding coding) {
  NibbleReader head{debug_info};
  const auto size = head.read();
  head.read();  // of what is known of variables
  if (!head.ok() || size > head.rest().size()) return {};
  const auto bounds = head.rest().first(size);
  return coding == BoundsCoding::kBits ? read_bits(bounds) : read_nibbles(bounds);
}

IlMap il_map_of_jitted(Bytes debug_info) {
  ByteReader in{debug_info};
  const auto flags = in.read<std::uint8_t>();
  if ((flags & ~kHasPatchpoint) != 0) return {};
  if ((flags & kHasPatchpoint) != 0) {
    in.skip(16);
    const auto locals = in.read<std::uint32_t>();
    if (locals > kMostLocals) return {};
    in.skip(kPatchpointHead - 20 + std::size_t{4} * locals);
  }
  return in.ok() ? il_map_of_ready_to_run(in.rest()) : IlMap{};
}

}  // namespace clrscope
