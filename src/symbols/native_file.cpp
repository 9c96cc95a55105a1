#include "symbols/native_file.h"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "base/fd.h"
#include "base/target_root.h"
#include "symbols/elf.h"
#include "symbols/pe.h"

namespace clrscope {
namespace {

constexpr std::size_t kLargestCopied = 32 << 20;
constexpr std::size_t kSmall = 128 << 10;         // not worth choosing parts
constexpr std::size_t kLargestTable = 256 << 20;  // what claims to be larger is left out

// How much of the file there was.
Result<std::size_t> read_whole(int fd, std::span<std::uint8_t> to) {
  std::size_t have = 0;
  while (have < to.size()) {
    const auto got = ::pread(fd, to.data() + have, to.size() - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errc_of(errno), "cannot read: {}", errno_text());
    if (got == 0) break;  // it became shorter meanwhile
    have += static_cast<std::size_t>(got);
  }
  return have;
}

struct OpenFile {
  UniqueFd fd;
  std::size_t size = 0;
  uid_t owner = 0;
};

Result<OpenFile> open_regular(const std::string& path) {
  OpenFile file{.fd = TRY(open_regular_file(path))};
  struct stat status {};
  if (::fstat(file.fd.get(), &status) != 0)
    return fail(errc_of(errno), "cannot read {}: {}", path, errno_text());
  file.size = static_cast<std::size_t>(status.st_size);
  file.owner = status.st_uid;
  return file;
}

bool is_wanted(const ElfSection& section, NativeFile::Tables tables) {
  if (section.type == SHT_NOTE || section.name == ".gnu_debuglink") return true;
  const bool symbols = section.type == SHT_SYMTAB || section.type == SHT_DYNSYM;
  const bool frames = section.name == ".eh_frame" || section.name == ".eh_frame_hdr";
  return (symbols && tables == NativeFile::Tables::kNames) ||
         (frames && tables == NativeFile::Tables::kFrames);
}

void need_elf_tables(FilePieces& file, NativeFile::Tables tables) {
  const auto elf = ElfFile::parse(file.bytes());
  if (!elf) return;
  const auto& sections = elf->sections();
  for (const auto& section : sections) {
    if (!is_wanted(section, tables) || section.size > kLargestTable) continue;
    file.need(section.bytes);
    if (section.type == SHT_NOTE || section.link >= sections.size()) continue;
    const auto& strings = sections[section.link];
    if (strings.type == SHT_STRTAB && strings.size <= kLargestTable) file.need(strings.bytes);
  }
}

// The headers, which are here, say where the codes are. False when it is no image.
bool need_image_tables(FilePieces& file) {
  constexpr std::size_t kLongestInfo = 4 + 255 * 2 + 2 + 12;  // head, codes, what it is chained to
  const auto image = PeFile::parse(file.bytes());
  if (!image) return false;
  const auto directory = image->exceptions();
  auto functions = image->bytes_at(directory.rva);
  functions = functions.first(std::min<std::size_t>(functions.size(), directory.size));
  file.need(functions);
  ByteReader in{functions};
  while (in.remaining() >= 12) {
    in.skip(8);  // where it begins and ends
    const auto info = image->bytes_at(in.read<std::uint32_t>());
    file.need(info.first(std::min(info.size(), kLongestInfo)));
  }
  return true;
}

}  // namespace

Result<NativeFile> NativeFile::open(const std::string& path) { return open(path, Manner::kCopy); }

Result<NativeFile> NativeFile::open_few_pages(const std::string& path) {
  return open(path, Manner::kMap);
}

Result<NativeFile> NativeFile::open(const std::string& path, Manner small_ones) {
  const auto [fd, size, owner] = TRY(open_regular(path));
  NativeFile file;
  const bool trusted = owner == 0 || owner == ::geteuid();
  if (size > kLargestCopied || (small_ones == Manner::kMap && trusted && size > 0)) {
    file.mapped_ = TRY(GuardedMapping::of(fd.get(), size));
  } else {
    file.copy_.resize(size);
    file.copy_.resize(TRY(read_whole(fd.get(), file.copy_)));
  }
  return file;
}

Result<NativeFile> NativeFile::open_tables(const std::string& path, Tables tables) {
  const auto opened = TRY(open_regular(path));
  if (opened.size <= kSmall || opened.size > FilePieces::kLargestFile) return open(path);
  auto pieces = TRY(FilePieces::of(opened.fd.get(), opened.size));
  if (need_elf_headers(pieces))
    need_elf_tables(pieces, tables);
  else if (!need_image_tables(pieces))
    return open(path);
  NativeFile file;
  file.pieces_ = std::move(pieces);
  return file;
}

}  // namespace clrscope
