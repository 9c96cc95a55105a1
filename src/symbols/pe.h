// What a PE file says of itself: sections, directories, and where they are mapped.
//
// For ReadyToRun images, which the runtime maps section by section, and for what every managed
// module says of its PDB. Reads bytes that may be
// hostile; does no I/O and owns nothing. Format: the PE/COFF specification.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

struct PeSection {
  std::uint32_t rva = 0;
  std::uint32_t memory_size = 0;
  std::uint32_t file_offset = 0;
  std::uint32_t file_size = 0;
  std::uint32_t flags = 0;  // 0x20000000: executable
};

struct PeDirectory {
  std::uint32_t rva = 0;
  std::uint32_t size = 0;
};

class PeFile {
 public:
  // Fails when the headers are none of a 64-bit x86 image.
  static Result<PeFile> parse(Bytes bytes);
  // The same of an image for any machine, as modules with IL alone are.
  static Result<PeFile> parse_any(Bytes bytes);

  const std::vector<PeSection>& sections() const { return sections_; }
  PeDirectory exceptions() const { return directory(3); }
  PeDirectory clr_header() const { return directory(14); }
  PeDirectory directory(std::size_t number) const {
    return number < directories_.size() ? directories_[number] : PeDirectory{};
  }

  // A piece by its place in the file; empty when it runs past the end.
  Bytes piece(std::uint64_t file_offset, std::uint64_t size) const {
    if (file_offset > bytes_.size() || size > bytes_.size() - file_offset) return {};
    return bytes_.subspan(file_offset, size);
  }
  // From an address to the end of its section's part of the file; empty when there is none.
  Bytes bytes_at(std::uint32_t rva) const;
  // The address that a byte of the file is mapped to, where a mapping may begin with the page in
  // which the section begins.
  std::optional<std::uint32_t> rva_of_offset(std::uint64_t file_offset) const;

  // Sections and directories alone, for when the bytes go away: bytes_at() finds nothing in it.
  PeFile without_bytes() const {
    auto copy = *this;
    copy.bytes_ = {};
    return copy;
  }

 private:
  explicit PeFile(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
  std::uint16_t machine_ = 0;
  bool wide_ = false;  // PE32+
  std::vector<PeSection> sections_;
  std::vector<PeDirectory> directories_;
};

}  // namespace clrscope
