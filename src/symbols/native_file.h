// The bytes of a file whose tables are about to be read.
//
// Read into memory when small, so that somebody who overwrites the file meanwhile cannot harm us;
// mapped when large. Keep it only as long as the tables are being made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope {

class NativeFile {
 public:
  // Regular files only.
  static Result<NativeFile> open(const std::string& path);
  // For a look at a few pages of it: mapped whatever its size, unless somebody else than root and
  // us owns it and could cut it short under our hands.
  static Result<NativeFile> open_few_pages(const std::string& path);
  // Of an ELF file only what names and unwind tables are made of: headers, symbols, notes and call
  // frame information. The rest reads as zeros. Other files whole.
  static Result<NativeFile> open_tables(const std::string& path);

  NativeFile(NativeFile&& other) noexcept
      : copy_(std::move(other.copy_)), mapped_(std::exchange(other.mapped_, {})) {}
  NativeFile& operator=(NativeFile&& other) noexcept {
    std::swap(copy_, other.copy_);
    std::swap(mapped_, other.mapped_);
    return *this;
  }
  NativeFile(const NativeFile&) = delete;
  NativeFile& operator=(const NativeFile&) = delete;
  ~NativeFile();

  Bytes bytes() const { return mapped_.empty() ? Bytes{copy_} : mapped_; }

 private:
  NativeFile() = default;
  enum class Manner : std::uint8_t { kCopy, kMap };
  static Result<NativeFile> open(const std::string& path, Manner small_ones);
  Result<bool> read_tables(int fd, std::size_t size);
  std::vector<std::uint8_t> copy_;
  Bytes mapped_{};
};

}  // namespace clrscope
