#include "unwind/cfi_parts.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "symbols/elf_frames.h"
#include "symbols/file_pieces.h"
#include "unwind/cfi_table.h"

namespace clrscope::unwind {
namespace {

// Fewer cost memory for their starts, more for neighbours that no stack leads into.
constexpr std::size_t kFunctionsInPart = 4;

// A section's place, for when its bytes are not at hand.
struct Place {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t vaddr = 0;

  static Place of(const ElfPiece& piece, Bytes file) {
    return {static_cast<std::uint64_t>(piece.bytes.data() - file.data()), piece.bytes.size(),
            piece.vaddr};
  }
  ElfPiece in(Bytes file) const { return {file.subspan(offset, size), vaddr}; }
};

struct Sections {
  int fd = -1;
  std::size_t file_size = 0;
  Place header{};  // .eh_frame_hdr
  Place frames{};  // .eh_frame
};

constexpr std::size_t kLargestIndex = 64 << 20;  // eight million functions
constexpr std::uint64_t kIndexHead = 12;         // of .eh_frame_hdr, before its entries

UnwindTable make_part(const Sections& sections, std::size_t part) {
  auto file = FilePieces::of(sections.fd, sections.file_size);
  if (!file) return {};
  file->need(sections.header.offset, kIndexHead);
  const auto index = FrameIndex::of(sections.header.in(file->bytes()));
  const auto first = part * kFunctionsInPart;
  if (!index || first >= index->size()) return {};  // it was overwritten
  const auto count = std::min(kFunctionsInPart, index->size() - first);
  file->need(index->entries(first, count));
  std::array<std::uint64_t, kFunctionsInPart> records{};
  for (std::size_t i = 0; i < count; ++i) records[i] = index->at(first + i).record;
  return make_cfi_table(read_frame_records_at(sections.frames.in(file->bytes()),
                                              std::span{records}.first(count),
                                              [&](Bytes piece) { file->need(piece); }));
}

}  // namespace

std::optional<TableParts> cfi_parts(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return std::nullopt;
  Sections sections{.fd = fd, .file_size = static_cast<std::size_t>(status.st_size)};
  auto file = FilePieces::of(fd, sections.file_size);
  if (!file) return std::nullopt;
  (void)need_elf_headers(*file);  // without sections, segments say it too
  const auto elf = ElfFile::parse(file->bytes());
  const auto header = elf ? elf->eh_frame_hdr() : std::nullopt;
  if (!header || header->bytes.size() > kLargestIndex) return std::nullopt;
  file->need(header->bytes);
  const auto frames = elf->eh_frame();
  const auto index = FrameIndex::of(*header);
  if (!frames || !index || index->size() == 0) return std::nullopt;
  sections.header = Place::of(*header, file->bytes());
  sections.frames = Place::of(*frames, file->bytes());

  TableParts parts{.base = index->at(0).function};
  parts.starts.reserve(index->size() / kFunctionsInPart + 1);
  auto last = parts.base;
  for (std::size_t i = 0; i < index->size(); ++i) {
    const auto function = index->at(i).function;
    if (function < last || function - parts.base > ~std::uint32_t{0}) return std::nullopt;
    last = function;
    if (i % kFunctionsInPart == 0)
      parts.starts.push_back(static_cast<std::uint32_t>(function - parts.base));
  }
  parts.make = [sections](std::size_t part) { return make_part(sections, part); };
  return parts;
}

}  // namespace clrscope::unwind
