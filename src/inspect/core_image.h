// What an ELF core (64-bit, x86-64) holds: memory, threads with registers, mapped files.
//
// Bytes come from whoever has them, a piece at a time; they may be hostile or cut short: every
// offset and size is checked, and what is not there is as if it had never been dumped. Knows cores
// of createdump, gcore and the kernel. Opens no file; see core_target.cpp for that.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "inspect/target.h"

namespace clrscope::inspect {

// A file mapping, from NT_FILE.
struct CoreFile {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::string path{};
};

struct CoreNotes {
  pid_t pid = 0;
  std::string name{};                   // of the process
  std::vector<OsThread> threads{};      // as they come
  std::vector<CoreFile> files{};        // by start, without overlap
  std::optional<std::uint64_t> vdso{};  // AT_SYSINFO_EHDR

  // Notes that are damaged are left out, and all that follows them.
  static CoreNotes parse(Bytes notes);
};

class CoreImage {
 public:
  // As many bytes from an offset of the core on as there are.
  using ReadAt = std::function<std::size_t(std::uint64_t offset, std::span<std::uint8_t> out)>;

  // `size` is that of the whole core.
  static Result<CoreImage> parse(ReadAt read_at, std::uint64_t size);

  const CoreNotes& notes() const { return notes_; }
  // As many bytes from the address on as are in the core without a gap.
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) const;
  // How many bytes from the address on are not in the core; 0 when it is.
  std::uint64_t gap_at(std::uint64_t address) const;
  // Files and anonymous memory, by start. A part of a file that was left out may have no
  // protection.
  std::vector<Mapping> mappings() const;
  // The bytes that its headers promise; more than size(): it is cut short.
  std::uint64_t promised() const { return promised_; }
  std::uint64_t size() const { return size_; }

 private:
  struct Segment {
    std::uint64_t start = 0;  // address
    std::uint64_t end = 0;    // of what is in the core: start, when nothing is
    std::uint64_t whole = 0;  // end of the memory it stands for
    std::uint64_t offset = 0;
    std::uint32_t flags = 0;
  };
  CoreImage(ReadAt read_at, std::uint64_t size) : read_at_(std::move(read_at)), size_(size) {}
  std::vector<std::uint8_t> piece(std::uint64_t offset, std::uint64_t size) const;
  Result<> read_headers();
  const Segment* segment_at(std::uint64_t address) const;
  void note_syscalls();

  ReadAt read_at_;
  std::uint64_t size_ = 0;
  std::uint64_t promised_ = 0;
  std::vector<Segment> segments_;  // by start, without overlap
  CoreNotes notes_;
};

}  // namespace clrscope::inspect
