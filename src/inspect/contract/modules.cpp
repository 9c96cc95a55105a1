#include "inspect/contract/modules.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kMostMetadata = 256 << 20;
constexpr std::size_t kMostPath = 4096;
constexpr std::size_t kMostModules = 65536;

// Fetches a piece when something in it is asked for.
class TargetMetadata final : public MetadataBytes {
 public:
  TargetMetadata(Memory& memory, const MetadataPlace& place)
      : memory_(memory),
        place_(place),
        bytes_(std::make_unique_for_overwrite<std::uint8_t[]>(place.size)),
        there_((place.size + kPiece - 1) / kPiece) {}

  std::size_t size() const override { return place_.size; }

  Bytes get(std::size_t offset, std::size_t count) override {
    if (offset > place_.size || count > place_.size - offset || count == 0) return {};
    for (auto piece = offset / kPiece; piece <= (offset + count - 1) / kPiece; ++piece)
      if (!there_[piece] && !fetch(piece)) return {};
    return {bytes_.get() + offset, count};
  }

 private:
  static constexpr std::size_t kPiece = 16 << 10;

  bool fetch(std::size_t piece) {
    const auto start = piece * kPiece;
    const auto part = memory_.block(place_.address + start, std::min(kPiece, place_.size - start));
    if (part.empty()) return false;
    std::memcpy(bytes_.get() + start, part.data(), part.size());
    there_[piece] = true;
    return true;
  }

  Memory& memory_;
  MetadataPlace place_;
  std::unique_ptr<std::uint8_t[]> bytes_;  // NOLINT(modernize-avoid-c-arrays): sized once, unset
  std::vector<bool> there_;
};

struct Section {
  std::uint32_t memory_size, rva, file_size, file_offset;
};

class ImageHeaders {
 public:
  ImageHeaders(Memory& memory, std::uint64_t base) : memory_(memory), base_(base) {}

  std::optional<MetadataPlace> metadata() {
    const auto start = memory_.get<std::uint32_t>(base_ + 0x3c);
    if (memory_.get<std::uint16_t>(base_) != 0x5a4d || !start || *start > 4096) return {};
    const auto header = base_ + *start;
    if (memory_.get<std::uint32_t>(header) != 0x4550) return {};
    const auto sections = memory_.get<std::uint16_t>(header + 6);
    const auto optional_size = memory_.get<std::uint16_t>(header + 20);
    const auto magic = memory_.get<std::uint16_t>(header + 24);
    if (!sections || !optional_size || !magic || *sections > 96) return {};
    const auto directories = header + 24 + (*magic == 0x20b ? 112 : 96);
    const auto clr = memory_.get<std::uint32_t>(directories + 14 * 8);
    if (!clr || *clr == 0) return {};
    for (std::size_t i = 0; i < *sections; ++i) {
      const auto section = memory_.get<Section>(header + 24 + *optional_size + i * 40 + 8);
      if (section) sections_.push_back(*section);
    }
    for (const bool mapped : {true, false})
      if (auto place = by(*clr, mapped)) return place;
    return {};
  }

 private:
  std::optional<MetadataPlace> by(std::uint32_t clr_rva, bool mapped) {
    const auto clr = address_of(clr_rva, mapped);
    if (!clr || memory_.get<std::uint32_t>(*clr) != 72) return {};
    const auto rva = memory_.get<std::uint32_t>(*clr + 8);
    const auto size = memory_.get<std::uint32_t>(*clr + 12);
    if (!rva || !size || *size < 32 || *size > kMostMetadata) return {};
    const auto address = address_of(*rva, mapped);
    if (!address || memory_.get<std::uint32_t>(*address) != 0x424a5342) return {};
    return MetadataPlace{*address, *size};
  }

  std::optional<std::uint64_t> address_of(std::uint32_t rva, bool mapped) const {
    if (mapped) return base_ + rva;
    for (const auto& section : sections_)
      if (rva >= section.rva && rva - section.rva < section.file_size)
        return base_ + section.file_offset + (rva - section.rva);
    return {};
  }

  Memory& memory_;
  std::uint64_t base_;
  std::vector<Section> sections_;
};

}  // namespace

std::optional<MetadataPlace> locate_metadata(Memory& memory, std::uint64_t image_base) {
  return ImageHeaders{memory, image_base}.metadata();
}

Result<Modules> Modules::open(Memory& memory, const Descriptor& descriptor) {
  TRY(descriptor.require("Loader", 1));
  TRY(descriptor.require("EcmaMetadata", 1));
  Modules made{memory};
  Needs needs{descriptor};
  made.base_ = needs.field("Module", "Base");
  made.path_ = needs.field("Module", "Path");
  made.file_name_ = descriptor.offset("Module", "FileName");
  made.dynamic_ = needs.field("Module", "DynamicMetadata");
  made.dynamic_size_ = needs.field("DynamicMetadata", "Size");
  made.dynamic_data_ = needs.field("DynamicMetadata", "Data");
  TRY(needs.met());
  return made;
}

std::string Modules::text_at(std::uint64_t pointer_address) {
  const auto text = memory_->pointer(pointer_address);
  if (!text || *text == 0) return {};
  std::vector<std::uint8_t> units;
  for (std::size_t i = 0; i < kMostPath; ++i) {
    const auto unit = memory_->get<std::uint16_t>(*text + 2 * i);
    if (!unit) return {};
    if (*unit == 0) return utf8_of(units);
    units.push_back(static_cast<std::uint8_t>(*unit));
    units.push_back(static_cast<std::uint8_t>(*unit >> 8));
  }
  return {};
}

std::unique_ptr<Metadata> Modules::metadata_of(std::uint64_t address) {
  std::optional<MetadataPlace> place;
  // What was added at run time comes with the module's own; it is the whole then.
  if (const auto dynamic = memory_->pointer(address + dynamic_); dynamic && *dynamic != 0) {
    const auto size = memory_->get<std::uint32_t>(*dynamic + dynamic_size_);
    if (size && *size <= kMostMetadata) place = MetadataPlace{*dynamic + dynamic_data_, *size};
  } else if (const auto base = memory_->pointer(address + base_); base && *base != 0) {
    place = locate_metadata(*memory_, *base);
  }
  if (!place) return nullptr;
  auto opened = Metadata::open(std::make_unique<TargetMetadata>(*memory_, *place));
  return opened ? std::make_unique<Metadata>(*std::move(opened)) : nullptr;
}

Module& Modules::at(std::uint64_t address) {
  if (const auto known = modules_.find(address); known != modules_.end()) return *known->second;
  if (modules_.size() >= kMostModules) modules_.clear();
  auto made = std::make_unique<Module>();
  made->address = address;
  made->path = text_at(address + path_);
  if (made->path.empty() && file_name_) made->path = text_at(address + *file_name_);
  made->metadata = metadata_of(address);
  return *(modules_[address] = std::move(made));
}

}  // namespace clrscope::inspect
