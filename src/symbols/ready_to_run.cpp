#include "symbols/ready_to_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace clrscope {
namespace {

constexpr std::uint32_t kSignature = 0x00525452;  // "RTR"
constexpr std::uint16_t kBitsSince = 16;          // major version
constexpr std::uint32_t kFunctions = 102;         // types of sections
constexpr std::uint32_t kEntryPoints = 103;
constexpr std::uint32_t kDebugInfo = 105;
constexpr std::uint32_t kCallThunks = 106;
constexpr std::uint32_t kMostSections = 64;
constexpr std::uint32_t kBlock = 16;         // elements that share an entry of the array's index
constexpr std::uint32_t kFunctionSize = 12;  // begin, end, unwind info
constexpr std::uint32_t kMethodTable = 0x06;

}  // namespace

std::optional<ReadyToRunTables> ReadyToRunTables::open(Read read, std::uint64_t header,
                                                       std::uint64_t base) {
  struct Head {
    std::uint32_t signature;
    std::uint16_t major, minor;
    std::uint32_t flags, sections;
  };
  ReadyToRunTables made{std::move(read), base};
  const auto head = header == 0 ? std::nullopt : made.get<Head>(header);
  if (!head || head->signature != kSignature || head->sections > kMostSections) return {};
  made.coding_ = head->major >= kBitsSince ? BoundsCoding::kBits : BoundsCoding::kNibbles;
  for (std::uint32_t i = 0; i < head->sections; ++i) {
    const auto one = made.get<Section>(header + sizeof(Head) + i * sizeof(Section));
    if (!one) break;
    if (one->type == kDebugInfo) made.debug_info_ = *one;
    if (one->type == kFunctions) made.functions_ = *one;
    if (one->type == kEntryPoints) made.entry_points_ = *one;
    if (one->type == kCallThunks) made.call_thunks_ = *one;
  }
  return made;
}

IlMap ReadyToRunTables::il_map(std::uint32_t function) const {
  if (debug_info_.rva == 0) return {};
  const auto place = element(base_ + debug_info_.rva, function);
  const auto back = place == 0 ? std::nullopt : number(place);
  if (!back) return {};
  // Methods that share one name it by how far it lies before.
  const auto address = back->value == 0 ? back->next : place - back->value;
  // How long it is stands inside; it lies in one piece with other such things.
  for (std::size_t size = 512; size <= kMostDebugInfo; size *= 4) {
    std::vector<std::uint8_t> bytes(size);
    if (!read_(address, bytes)) return {};
    if (auto map = il_map_of_ready_to_run(bytes, coding_); !map.empty()) return map;
  }
  return {};
}

std::optional<std::uint32_t> ReadyToRunTables::function_of_token(std::uint32_t token) const {
  const auto row = token & 0xffffff;
  if (token >> 24 != kMethodTable || row == 0 || entry_points_.rva == 0) return {};
  const auto place = element(base_ + entry_points_.rva, row - 1);
  const auto id = place == 0 ? std::nullopt : number(place);
  if (!id) return {};
  return (id->value & 1) != 0 ? id->value >> 2 : id->value >> 1;  // 1: what it needs first follows
}

std::optional<std::uint32_t> ReadyToRunTables::function_at(std::uint64_t address) const {
  const auto around = function_around(address);
  if (!around || around->start != address) return {};
  return around->number;
}

std::optional<ReadyToRunTables::Function> ReadyToRunTables::function_around(
    std::uint64_t address) const {
  std::uint32_t low = 0;
  std::uint32_t high = functions_.size / kFunctionSize;
  while (low < high) {  // the first that begins behind it
    const auto middle = low + (high - low) / 2;
    const auto there = function(middle);
    if (!there) return {};
    if (there->start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  const auto last = low == 0 ? std::nullopt : function(low - 1);
  return last && address < last->end ? last : std::nullopt;
}

std::optional<ReadyToRunTables::Function> ReadyToRunTables::function_before(
    const Function& function) const {
  return function.number == 0 ? std::nullopt : this->function(function.number - 1);
}

std::optional<ReadyToRunTables::Function> ReadyToRunTables::function(std::uint32_t number) const {
  const auto ends = get<std::array<std::uint32_t, 2>>(base_ + functions_.rva +
                                                      std::uint64_t{number} * kFunctionSize);
  if (!ends) return {};
  return Function{number, base_ + (*ends)[0], base_ + (*ends)[1]};
}

bool ReadyToRunTables::has_il_map(std::uint32_t function) const {
  return debug_info_.rva != 0 && element(base_ + debug_info_.rva, function) != 0;
}

std::uint32_t ReadyToRunTables::method_rows() const {
  const auto head = entry_points_.rva == 0 ? std::nullopt : number(base_ + entry_points_.rva);
  return head ? head->value >> 2 : 0;
}

// One to five bytes; how many ones the first begins with, from below, says how many.
std::optional<ReadyToRunTables::Number> ReadyToRunTables::number(std::uint64_t address) const {
  const auto first = get<std::uint8_t>(address);
  if (!first) return {};
  unsigned more = 0;
  while (more < 5 && (*first >> more & 1) != 0) ++more;
  if (more == 5) return {};
  if (more == 4) {
    const auto whole = get<std::uint32_t>(address + 1);
    return whole ? std::optional{Number{*whole, address + 5}} : std::nullopt;
  }
  std::uint32_t value = *first >> (more + 1);
  for (unsigned i = 1; i <= more; ++i) {
    const auto byte = get<std::uint8_t>(address + i);
    if (!byte) return {};
    value |= std::uint32_t{*byte} << (8 * i - more - 1);
  }
  return Number{value, address + more + 1};
}

// A sparse array: an index of blocks, then a binary tree in each.
std::uint64_t ReadyToRunTables::element(std::uint64_t array, std::uint32_t index) const {
  const auto head = number(array);
  if (!head || index >= head->value >> 2) return 0;
  const auto width = std::uint64_t{1} << (head->value & 3);
  std::uint32_t offset = 0;
  if (width > 4 ||
      !read_(head->next + width * (index / kBlock),
             {reinterpret_cast<std::uint8_t*>(&offset), static_cast<std::size_t>(width)}))
    return 0;
  auto at = head->next + offset;
  for (auto bit = kBlock / 2; bit > 0; bit /= 2) {
    const auto node = number(at);
    if (!node) return 0;
    if ((index & bit) != 0 && (node->value & 2) != 0) {
      at += node->value >> 2;
    } else if ((index & bit) == 0 && (node->value & 1) != 0) {
      at = node->next;
    } else {
      // A leaf that stands for one element only.
      const bool own = (node->value & 3) == 0 && node->value >> 2 == index % kBlock;
      return own ? node->next : 0;
    }
  }
  return at;
}

Result<ReadyToRunImage> ReadyToRunImage::open(const std::string& path,
                                              const std::optional<PdbReference>& wanted) {
  constexpr std::uint32_t kManagedNativeHeader = 64;  // in the CLR header: where the image's is
  auto file = TRY(NativeFile::open_few_pages(path));
  auto pe = TRY(PeFile::parse(file.bytes()));
  const auto own = pdb_reference(pe);
  if (wanted && (!own || own->guid != wanted->guid))
    return fail(Errc::kNotFound, "{} is from another build", path);
  ByteReader in{pe.bytes_at(pe.clr_header().rva)};
  in.skip(kManagedNativeHeader);
  const auto header = in.read<std::uint32_t>();
  // The rest of a section's last page reads as zeros, as it does when mapped.
  const auto read = [pe](std::uint64_t address, std::span<std::uint8_t> out) {
    if (address > UINT32_MAX) return false;
    const auto bytes = pe.bytes_at(static_cast<std::uint32_t>(address));
    if (bytes.empty()) return false;
    const auto there = std::min(bytes.size(), out.size());
    std::memcpy(out.data(), bytes.data(), there);
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(there), out.end(), std::uint8_t{0});
    return true;
  };
  auto tables = ReadyToRunTables::open(read, in.ok() ? header : 0, 0);
  if (!tables) return fail(Errc::kNotFound, "{} has no code compiled ahead of time", path);
  return ReadyToRunImage{std::move(file), std::move(pe), std::move(*tables)};
}

}  // namespace clrscope
