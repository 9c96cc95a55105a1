// A file of which only the pieces asked for are read; the rest reads as zeros.
//
// As large as the file in address space, but no more memory than the pages that were needed. Read,
// not mapped: somebody who cuts the file short meanwhile cannot harm us.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

class FilePieces {
 public:
  static constexpr std::size_t kLargestFile = std::size_t{16} << 30;
  // `fd` is lent, and `size` what the file had when it was opened.
  static Result<FilePieces> of(int fd, std::size_t size);

  FilePieces(FilePieces&& other) noexcept
      : fd_(other.fd_), whole_(std::exchange(other.whole_, {})), here_(std::move(other.here_)) {}
  FilePieces& operator=(FilePieces&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(whole_, other.whole_);
    std::swap(here_, other.here_);
    return *this;
  }
  FilePieces(const FilePieces&) = delete;
  FilePieces& operator=(const FilePieces&) = delete;
  ~FilePieces();

  Bytes bytes() const { return whole_; }
  // Reads the pages of this piece that are not here yet; what lies beyond the file is not there.
  void need(std::uint64_t offset, std::uint64_t size);
  void need(Bytes piece) {
    need(static_cast<std::uint64_t>(piece.data() - whole_.data()), piece.size());
  }

 private:
  FilePieces(int fd, std::span<std::uint8_t> whole);
  int fd_;
  std::span<std::uint8_t> whole_;
  std::vector<bool> here_;  // by page
};

// Headers, section table and names of sections of an ELF file; false when it has none, or is none.
bool need_elf_headers(FilePieces& file);

}  // namespace clrscope
