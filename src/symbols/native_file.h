// The bytes of a file whose tables are about to be read.
//
// Read into memory when small, so that somebody who overwrites the file meanwhile cannot harm us;
// mapped when large, where what is cut off meanwhile reads as zeros (symbols/guarded_mapping.h).
// Keep it only as long as the tables are being made.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "symbols/file_pieces.h"
#include "symbols/guarded_mapping.h"

namespace clrscope {

class NativeFile {
 public:
  // Regular files only.
  static Result<NativeFile> open(const std::string& path);
  // For a look at a few pages of it: mapped whatever its size, unless somebody else than root and
  // us owns it and could change it under our hands.
  static Result<NativeFile> open_few_pages(const std::string& path);
  enum class Tables : std::uint8_t {
    kHeaders,  // and notes
    kNames,    // headers and symbols
    kFrames,   // headers and how to unwind: .eh_frame, or the exception directory of an image
  };
  // Of an ELF file or a ReadyToRun image only what these tables are made of: the rest reads as
  // zeros. Other files whole.
  static Result<NativeFile> open_tables(const std::string& path, Tables tables);

  // Memory of ours that it takes as long as it lives.
  std::size_t copied_bytes() const { return copy_.capacity(); }
  // It is not looked into for a while: pages of a mapped file go back to the system, and come again
  // when they are.
  void rest() const { mapped_.rest(); }

  Bytes bytes() const {
    if (pieces_) return pieces_->bytes();
    return mapped_.bytes().empty() ? Bytes{copy_} : mapped_.bytes();
  }

 private:
  NativeFile() = default;
  enum class Manner : std::uint8_t { kCopy, kMap };
  static Result<NativeFile> open(const std::string& path, Manner small_ones);
  std::vector<std::uint8_t> copy_;
  GuardedMapping mapped_{};
  std::optional<FilePieces> pieces_{};
};

}  // namespace clrscope
