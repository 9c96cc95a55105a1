#include "unwind/code_map.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "base/io.h"
#include "base/maps.h"
#include "base/proc.h"
#include "base/text.h"
#include "symbols/elf.h"
#include "symbols/native_file.h"
#include "symbols/pe.h"
#include "unwind/cfi_table.h"
#include "unwind/r2r_table.h"

namespace clrscope::unwind {
namespace {

bool is_jit(const std::string& path) {
  return path.empty() || path.starts_with("/memfd:") || path.starts_with("//anon") ||
         path.starts_with("[anon") || path.starts_with("[heap") || path.starts_with("/dev/zero");
}

// Nothing for what cannot be executed.
std::optional<CodeMapping> parse_mapping(std::string_view line) {
  const auto m = parse_maps_line(line);
  if (!m || !m->executable) return std::nullopt;
  return CodeMapping{m->start, m->end, m->offset, std::string{trim(m->path)}};
}

// The kernel's own library, the same in every process: read in ours.
Bytes own_vdso() {
  const auto mappings = code_mappings(::getpid());
  if (!mappings) return {};
  for (const auto& m : *mappings)
    if (m.path == "[vdso]")
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells it as a number
      return {reinterpret_cast<const std::uint8_t*>(m.start), m.end - m.start};
  return {};
}

}  // namespace

// What is left of a file once its table is made.
struct CodeMap::File {
  CodeKind kind = CodeKind::kUnknown;
  UnwindTable table;
  std::vector<ElfSegment> segments;  // of an ELF file
  std::optional<PeFile> image;       // its section table only; the bytes are gone

  // Where the table has a byte of the file: an ELF vaddr, or an RVA.
  std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const {
    if (image) return image->rva_of_offset(file_offset);
    return code_vaddr_of_offset(segments, file_offset);
  }
};

CodeMap::CodeMap() = default;
CodeMap::~CodeMap() = default;

const CodeMap::File* CodeMap::file_of(const CodeMapping& mapping, pid_t pid) {
  const bool vdso = mapping.path == "[vdso]";
  auto path = proc_root(pid) + mapping.path;
  struct stat status {};
  if (!vdso && ::stat(path.c_str(), &status) != 0) {
    // Deleted or replaced: the mapping itself still leads to it, for the privileged.
    path = fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.start, mapping.end);
    if (::stat(path.c_str(), &status) != 0) return nullptr;
  }
  const auto changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  const Key key{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                static_cast<std::uint64_t>(changed)};
  auto& slot = files_[key];
  if (slot) return slot.get();
  slot = std::make_unique<File>();
  const auto read =
      vdso ? Result<NativeFile>{fail(Errc::kNotFound, "in memory")} : NativeFile::open(path);
  if (!vdso && !read) return slot.get();
  const auto bytes = vdso ? own_vdso() : read->bytes();
  if (const auto elf = ElfFile::parse(bytes)) {
    slot->kind = CodeKind::kElf;
    slot->segments = elf->segments();
    slot->table = make_cfi_table(*elf);
  } else if (const auto image = PeFile::parse(bytes)) {
    slot->kind = CodeKind::kR2r;
    slot->table = make_r2r_table(*image);
    slot->image = image->without_bytes();
  }
  return slot.get();
}

CodeRange CodeMap::range_of(const CodeMapping& mapping, pid_t pid) {
  CodeRange range{.start = mapping.start, .end = mapping.end};
  if (is_jit(mapping.path)) {
    range.kind = CodeKind::kJit;
    return range;
  }
  const auto* file = file_of(mapping, pid);
  if (!file) return range;
  const auto address = file->address_of(mapping.file_offset);
  if (!address) return range;
  range.kind = file->kind;
  range.bias = mapping.start - *address;
  range.table = &file->table;
  return range;
}

std::size_t CodeMap::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, file] : files_) bytes += file->table.memory_bytes();
  return bytes;
}

Result<std::vector<CodeMapping>> code_mappings(pid_t pid) {
  const auto text = TRY(read_file(fmt::format("/proc/{}/maps", pid)));
  std::vector<CodeMapping> mappings;
  for (const auto line : split(text, '\n'))
    if (auto mapping = parse_mapping(line)) mappings.push_back(*std::move(mapping));
  return mappings;
}

Result<AddressSpace> address_space_of(pid_t pid, CodeMap& map) {
  AddressSpace space;
  for (const auto& mapping : TRY(code_mappings(pid))) space.add(map.range_of(mapping, pid));
  return space;
}

const ProcessCode::Page& ProcessCode::page_at(std::uint64_t address) {
  if (pages_.empty()) pages_.resize(kPages);
  auto& page = pages_[address / kPage % kPages];
  if (page.address == address) return page;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of another process
  const iovec remote{reinterpret_cast<void*>(address), kPage};
  const iovec local{page.bytes.data(), kPage};
  const auto got = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  page.address = address;
  page.size = got < 0 ? 0 : static_cast<std::size_t>(got);
  return page;
}

std::size_t ProcessCode::read(std::uint64_t address, std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto at = address + done;
    const auto& page = page_at(at - at % kPage);
    const auto from = static_cast<std::size_t>(at % kPage);
    if (from >= page.size) break;
    const auto size = std::min(out.size() - done, page.size - from);
    __builtin_memcpy(out.data() + done, page.bytes.data() + from, size);
    done += size;
  }
  return done;
}

}  // namespace clrscope::unwind
