#include "symbols/native_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/fd.h"
#include "symbols/elf.h"

namespace clrscope {
namespace {

constexpr std::size_t kLargestCopied = 32 << 20;
constexpr std::size_t kSmall = 128 << 10;  // not worth choosing parts
constexpr std::size_t kLargestSparse = std::size_t{16} << 30;
constexpr std::size_t kHead = 64 << 10;

// Reads a part of the file into the same place of `whole`; what is beyond its end stays as it is.
Result<std::size_t> read_part(int fd, std::span<std::uint8_t> whole, std::uint64_t offset,
                              std::uint64_t size) {
  if (offset >= whole.size()) return 0;
  auto part = whole.subspan(offset, std::min<std::uint64_t>(size, whole.size() - offset));
  std::size_t have = 0;
  while (have < part.size()) {
    const auto got =
        ::pread(fd, part.data() + have, part.size() - have, static_cast<off_t>(offset + have));
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
  OpenFile file{.fd = UniqueFd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)}};
  if (!file.fd) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  struct stat status {};
  if (::fstat(file.fd.get(), &status) != 0)
    return fail(errc_of(errno), "cannot read {}: {}", path, errno_text());
  if (!S_ISREG(status.st_mode)) return fail(Errc::kUnsupported, "{} is not a regular file", path);
  file.size = static_cast<std::size_t>(status.st_size);
  file.owner = status.st_uid;
  return file;
}

bool is_string_table(const ElfSection& section) { return section.type == SHT_STRTAB; }

bool is_table(const ElfSection& section) {
  return section.type == SHT_SYMTAB || section.type == SHT_DYNSYM || section.type == SHT_NOTE ||
         section.name == ".eh_frame" || section.name == ".eh_frame_hdr" ||
         section.name == ".gnu_debuglink";
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
    void* start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (start == MAP_FAILED) return fail(errc_of(errno), "cannot map {}: {}", path, errno_text());
    file.mapped_ = {static_cast<const std::uint8_t*>(start), size};
  } else {
    file.copy_.resize(size);
    file.copy_.resize(TRY(read_part(fd.get(), file.copy_, 0, size)));
  }
  return file;
}

// Memory as large as the file, of which only the pages of the tables are ever touched. False when
// the file does not say where its tables are.
Result<bool> NativeFile::read_tables(int fd, std::size_t size) {
  void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return fail(errc_of(errno), "no memory: {}", errno_text());
  const std::span whole{static_cast<std::uint8_t*>(start), size};
  mapped_ = whole;
  (void)TRY(read_part(fd, whole, 0, kHead));
  const auto header = ByteReader{mapped_}.read<Elf64_Ehdr>();
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shoff == 0 ||
      header.e_shnum == 0)
    return false;
  // A section's name is a place in another section: in two steps.
  (void)TRY(
      read_part(fd, whole, header.e_shoff, std::uint64_t{header.e_shentsize} * header.e_shnum));
  for (int step = 0; step < 2; ++step) {
    const auto elf = ElfFile::parse(mapped_);
    if (!elf || elf->sections().empty()) return false;
    for (const auto& section : elf->sections()) {
      if (section.bytes.empty() || (step == 0 ? !is_string_table(section) : !is_table(section)))
        continue;
      const auto offset = static_cast<std::uint64_t>(section.bytes.data() - mapped_.data());
      (void)TRY(read_part(fd, whole, offset, section.bytes.size()));
    }
  }
  return true;
}

Result<NativeFile> NativeFile::open_tables(const std::string& path) {
  const auto opened = TRY(open_regular(path));
  if (opened.size <= kSmall || opened.size > kLargestSparse) return open(path);
  NativeFile file;
  if (!TRY(file.read_tables(opened.fd.get(), opened.size))) return open(path);
  return file;
}

NativeFile::~NativeFile() {
  if (!mapped_.empty()) ::munmap(const_cast<std::uint8_t*>(mapped_.data()), mapped_.size());
}

}  // namespace clrscope
