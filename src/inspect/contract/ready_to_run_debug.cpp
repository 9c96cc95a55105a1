#include "inspect/contract/ready_to_run_debug.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kSignature = 0x00525452;  // "RTR"
constexpr std::uint32_t kDebugInfo = 105;         // type of a section
constexpr std::uint32_t kMostSections = 64;
constexpr std::uint32_t kBlock = 16;  // elements that share an entry of the array's index

}  // namespace

Result<ReadyToRunDebug> ReadyToRunDebug::open(Memory& memory, const Descriptor& descriptor) {
  ReadyToRunDebug made{memory};
  Needs needs{descriptor};
  made.in_module_ = needs.field("Module", "ReadyToRunInfo");
  made.composite_ = needs.field("ReadyToRunInfo", "CompositeInfo");
  made.header_ = needs.field("ReadyToRunInfo", "ReadyToRunHeader");
  TRY(needs.met());
  return made;
}

std::uint64_t ReadyToRunDebug::find(const CodeBlock& block) {
  if (block.kind != CodeBlock::Kind::kReadyToRun) return 0;
  auto info = memory_->pointer(block.module + in_module_).value_or(0);
  if (info == 0) return 0;
  if (const auto composite = memory_->pointer(info + composite_); composite && *composite != 0)
    info = *composite;
  const auto array = section(memory_->pointer(info + header_).value_or(0), block.image_base);
  const auto place = array == 0 ? 0 : element(array, block.function);
  const auto back = place == 0 ? std::nullopt : number(place);
  if (!back) return 0;
  // Methods that share one name it by how far it lies before.
  return back->value == 0 ? back->next : place - back->value;
}

std::uint64_t ReadyToRunDebug::section(std::uint64_t header, std::uint64_t image_base) {
  struct Section {
    std::uint32_t type, rva, size;
  };
  if (header == 0 || memory_->get<std::uint32_t>(header) != kSignature) return 0;
  const auto count = memory_->get<std::uint32_t>(header + 12);
  if (!count || *count > kMostSections) return 0;
  for (std::uint32_t i = 0; i < *count; ++i) {
    const auto one = memory_->get<Section>(header + 16 + i * sizeof(Section));
    if (one && one->type == kDebugInfo) return image_base + one->rva;
  }
  return 0;
}

// One to five bytes; how many ones the first begins with, from below, says how many.
std::optional<ReadyToRunDebug::Number> ReadyToRunDebug::number(std::uint64_t address) {
  const auto first = memory_->get<std::uint8_t>(address);
  if (!first) return {};
  unsigned more = 0;
  while (more < 5 && (*first >> more & 1) != 0) ++more;
  if (more == 5) return {};
  if (more == 4) {
    const auto whole = memory_->get<std::uint32_t>(address + 1);
    return whole ? std::optional{Number{*whole, address + 5}} : std::nullopt;
  }
  std::uint32_t value = *first >> (more + 1);
  for (unsigned i = 1; i <= more; ++i) {
    const auto byte = memory_->get<std::uint8_t>(address + i);
    if (!byte) return {};
    value |= std::uint32_t{*byte} << (8 * i - more - 1);
  }
  return Number{value, address + more + 1};
}

// A sparse array: an index of blocks, then a binary tree in each.
std::uint64_t ReadyToRunDebug::element(std::uint64_t array, std::uint32_t index) {
  const auto head = number(array);
  if (!head || index >= head->value >> 2) return 0;
  const auto width = std::uint64_t{1} << (head->value & 3);
  std::uint32_t offset = 0;
  if (width > 4 ||
      !memory_->read(head->next + width * (index / kBlock),
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

}  // namespace clrscope::inspect
