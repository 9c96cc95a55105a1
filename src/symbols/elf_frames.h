// The records of .eh_frame: which address ranges have call frame information, and the programs that
// give it. Running the programs is unwind/'s matter; here are only the records, for function starts
// and for the unwinder.
//
// Reads bytes that may be hostile: a record that makes no sense is left out and counted. Format:
// DWARF 5 section 6.4 and the Linux Standard Base's .eh_frame chapter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "symbols/elf.h"

namespace clrscope {

struct FrameCie {
  std::uint64_t code_align = 1;
  std::int64_t data_align = 1;
  std::uint64_t return_register = 16;
  std::uint8_t pointer_encoding = 0;  // of FDE addresses
  bool augmented = false;             // FDEs carry a sized augmentation
  bool signal_frame = false;
  Bytes program{};
};

struct FrameFde {
  std::uint64_t start = 0;  // vaddr
  std::uint64_t end = 0;    // one past the last
  std::uint32_t cie = 0;    // index into FrameRecords::cies
  Bytes program{};
};

struct FrameRecords {
  std::vector<FrameCie> cies;
  std::vector<FrameFde> fdes;  // by start, then by end
  std::size_t damaged = 0;     // records left out
};

FrameRecords read_frame_records(const ElfPiece& eh_frame);
// The same where the programs do not matter.
struct FrameRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};
std::vector<FrameRange> read_frame_ranges(const ElfPiece& eh_frame);  // by start, then by end

// The file's own index of its records (.eh_frame_hdr): where functions begin, in that order, and
// where their records lie.
class FrameIndex {
 public:
  // Nothing when it is none that can be searched.
  static std::optional<FrameIndex> of(const ElfPiece& header);

  struct Place {
    std::uint64_t function = 0;  // vaddrs, both
    std::uint64_t record = 0;
  };
  std::size_t size() const { return entries_.size() / sizeof(Entry); }
  Place at(std::size_t number) const;
  // The bytes of some entries.
  Bytes entries(std::size_t first, std::size_t count) const;

 private:
  struct Entry {
    std::int32_t function, record;  // as distances from the header's start
  };
  FrameIndex(std::uint64_t vaddr, Bytes entries) : vaddr_(vaddr), entries_(entries) {}

  std::uint64_t vaddr_;
  Bytes entries_;
};

// Only the records at these addresses. `need` is called for each piece of the section before it is
// looked at.
using NeedBytes = std::function<void(Bytes)>;
FrameRecords read_frame_records_at(const ElfPiece& eh_frame, std::span<const std::uint64_t> records,
                                   const NeedBytes& need);
// Only those that hold one of these addresses (sorted), found by the index: for a look at a few
// functions of a large file. Nothing when there is no index.
std::optional<FrameRecords> find_frame_records(const ElfFile& file,
                                               std::span<const std::uint64_t> vaddrs);

// A pointer as .eh_frame encodes it; `vaddr` is the address of the reader's first byte.
// Fails the reader on encodings that need more than the section.
std::uint64_t read_encoded_pointer(ByteReader& in, std::uint8_t encoding, std::uint64_t vaddr);

std::int64_t read_sleb(ByteReader& in);

}  // namespace clrscope
