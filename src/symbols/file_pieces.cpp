#include "symbols/file_pieces.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/fd.h"
#include "symbols/elf.h"

namespace clrscope {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHead = 64 << 10;  // program headers, notes and often the section table

// What is beyond the file's end, or cannot be read, stays as it is.
void read_at(int fd, std::span<std::uint8_t> to, std::uint64_t offset) {
  std::size_t have = 0;
  while (have < to.size()) {
    const auto got =
        ::pread(fd, to.data() + have, to.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;  // it became shorter meanwhile
    have += static_cast<std::size_t>(got);
  }
}

}  // namespace

FilePieces::FilePieces(int fd, std::span<std::uint8_t> whole)
    : fd_(fd), whole_(whole), here_((whole.size() + kPage - 1) / kPage) {}

Result<FilePieces> FilePieces::of(int fd, std::size_t size) {
  if (size == 0 || size > kLargestFile)
    return fail(Errc::kUnsupported, "a file of {} bytes is not read by pieces", size);
  void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return fail(errc_of(errno), "no memory: {}", errno_text());
  return FilePieces{fd, {static_cast<std::uint8_t*>(start), size}};
}

FilePieces::~FilePieces() {
  if (!whole_.empty()) ::munmap(whole_.data(), whole_.size());
}

void FilePieces::need(std::uint64_t offset, std::uint64_t size) {
  if (offset >= whole_.size() || size == 0) return;
  const auto end = offset + std::min<std::uint64_t>(size, whole_.size() - offset);
  for (auto page = offset / kPage; page * kPage < end;) {
    auto after = page;
    for (; after * kPage < end && !here_[after]; ++after) here_[after] = true;
    if (after == page) {
      ++page;
      continue;
    }
    const auto from = page * kPage;
    const auto to = std::min<std::uint64_t>(after * kPage, whole_.size());
    read_at(fd_, whole_.subspan(from, to - from), from);
    page = after;
  }
}

bool need_elf_headers(FilePieces& file) {
  file.need(0, kHead);
  const auto header = ByteReader{file.bytes()}.read<Elf64_Ehdr>();
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shoff == 0 ||
      header.e_shnum == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    return false;
  file.need(header.e_shoff, std::uint64_t{header.e_shentsize} * header.e_shnum);
  const auto elf = ElfFile::parse(file.bytes());
  if (!elf || header.e_shstrndx >= elf->sections().size()) return false;
  file.need(elf->sections()[header.e_shstrndx].bytes);
  return true;
}

}  // namespace clrscope
