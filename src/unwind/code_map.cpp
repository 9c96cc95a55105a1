#include "unwind/code_map.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

#include "base/fd.h"
#include "base/io.h"
#include "base/maps.h"
#include "base/proc.h"
#include "base/target_root.h"
#include "base/text.h"
#include "symbols/elf.h"
#include "symbols/native_file.h"
#include "symbols/pe.h"
#include "unwind/cfi_parts.h"
#include "unwind/cfi_table.h"
#include "unwind/r2r_table.h"

namespace clrscope::unwind {
namespace {

// Nothing for what cannot be executed.
std::optional<CodeMapping> parse_mapping(std::string_view line) {
  const auto m = parse_maps_line(line);
  if (!m || !m->executable) return std::nullopt;
  return CodeMapping{m->start, m->end, m->offset, std::string{trim(m->path)}, {}};
}

}  // namespace

Bytes own_vdso() {
  const auto mappings = code_mappings(::getpid());
  if (!mappings) return {};
  for (const auto& m : *mappings)
    if (m.path == "[vdso]")
      // NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel tells it as a number
      return {reinterpret_cast<const std::uint8_t*>(m.start), m.end - m.start};
  return {};
}

// What is kept of a file.
struct CodeMap::File {
  CodeKind kind = CodeKind::kUnknown;
  UniqueFd fd;  // outlives the file's name and its process
  LazyTable table;
  std::string build_id;
  std::vector<ElfSegment> segments;  // of an ELF file
  std::optional<PeFile> image;       // its section table only; the bytes are gone

  // Where the table has a byte of the file: an ELF vaddr, or an RVA.
  std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const {
    if (image) return image->rva_of_offset(file_offset);
    return code_vaddr_of_offset(segments, file_offset);
  }

  // By its first bytes.
  void read_headers(Bytes head, LazyTable::MakeWhole make, LazyTable::FindParts parts = {}) {
    if (const auto elf = ElfFile::parse(head)) {
      kind = CodeKind::kElf;
      segments = elf->segments();
      build_id = elf->build_id();
    } else if (const auto pe = PeFile::parse(head)) {
      kind = CodeKind::kR2r;
      image = pe->without_bytes();
    } else {
      return;
    }
    table = LazyTable{std::move(make), std::move(parts)};
  }
};

bool is_jit_mapping(const std::string& path) {
  return path.empty() || path.starts_with("/memfd:") || path.starts_with("//anon") ||
         path.starts_with("[anon") || path.starts_with("[heap") || path.starts_with("/dev/zero");
}

CodeMap::CodeMap() = default;
CodeMap::~CodeMap() = default;

namespace {

constexpr std::size_t kHead = 64 << 10;  // program headers, section table and build-id lie in it

UnwindTable table_of(Bytes bytes) {
  if (const auto elf = ElfFile::parse(bytes)) return make_cfi_table(*elf);
  if (const auto image = PeFile::parse(bytes)) return make_r2r_table(*image);
  return {};
}

UnwindTable table_of_open(int fd) {
  const auto file =
      NativeFile::open_tables(fmt::format("/proc/self/fd/{}", fd), NativeFile::Tables::kFrames);
  return file ? table_of(file->bytes()) : UnwindTable{};
}

}  // namespace

// Null when that file is missing or from another build.
const CodeMap::File* CodeMap::file_at(const std::string& path, const std::string& build_id) {
  auto opened = open_regular_file(path);
  struct stat status {};
  if (!opened || ::fstat(opened->get(), &status) != 0) return nullptr;
  auto fd = *std::move(opened);
  const auto changed = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  const Key key{status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size),
                static_cast<std::uint64_t>(changed)};
  auto& slot = files_[key];
  if (!slot) {
    slot = std::make_unique<File>();
    std::array<std::uint8_t, kHead> head;
    const auto got = ::pread(fd.get(), head.data(), head.size(), 0);
    const auto size = got < 0 ? 0 : static_cast<std::size_t>(got);
    slot->fd = std::move(fd);
    const int lent = slot->fd.get();
    slot->read_headers(
        Bytes{head}.first(size), [lent] { return table_of_open(lent); },
        [lent] { return cfi_parts(lent); });
  }
  if (!build_id.empty() && !slot->build_id.empty() && slot->build_id != build_id) return nullptr;
  return slot.get();
}

const CodeMap::File* CodeMap::file_of(const CodeMapping& mapping, pid_t pid) {
  if (mapping.path == "[vdso]") {
    auto& slot = files_[Key{}];
    if (!slot) {
      slot = std::make_unique<File>();
      slot->read_headers(own_vdso(), [] { return table_of(own_vdso()); });
    }
    return slot.get();
  }
  const auto known = by_build_id_.find(mapping.build_id);
  if (known != by_build_id_.end()) return known->second;
  const auto* file = file_at(proc_root(pid) + mapping.path, mapping.build_id);
  // Deleted or replaced: the mapping itself still leads to it, for the privileged.
  if (!file)
    file = file_at(fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.start, mapping.end),
                   mapping.build_id);
  // It has gone, or hides from us: the same build under the same name is as good.
  if (!file && (!mapping.build_id.empty() || ::access((proc_root(pid) + "/").c_str(), F_OK) != 0))
    file = file_at(mapping.path, mapping.build_id);
  if (file && !mapping.build_id.empty()) by_build_id_.emplace(mapping.build_id, file);
  return file;
}

LocatedCode CodeMap::locate(const CodeMapping& mapping, pid_t pid) {
  LocatedCode code{.range = {.start = mapping.start, .end = mapping.end}};
  auto& range = code.range;
  if (is_jit_mapping(mapping.path)) {
    range.kind = CodeKind::kJit;
    return code;
  }
  const auto* file = file_of(mapping, pid);
  if (!file) return code;
  const auto address = file->address_of(mapping.file_offset);
  if (!address) return code;
  range.kind = file->kind;
  range.bias = mapping.start - *address;
  range.table = &file->table;
  code.fd = file->fd.get();
  return code;
}

std::size_t CodeMap::tables() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(files_, [](const auto& entry) { return entry.second->table.made(); }));
}

std::size_t CodeMap::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, file] : files_) bytes += file->table.memory_bytes();
  return bytes;
}

void CodeMap::trim(std::size_t most) {
  auto bytes = memory_bytes();
  const bool all = bytes > 2 * most;
  for (const auto& [key, file] : files_) {
    const bool used = file->table.take_used();
    if (bytes <= most || (used && !all)) continue;
    bytes -= file->table.memory_bytes();
    file->table.forget();
  }
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
  for (const auto& mapping : TRY(code_mappings(pid))) space.add(map.locate(mapping, pid).range);
  return space;
}

const ProcessCode::Page& ProcessCode::page_at(std::uint64_t address) {
  if (pages_.empty()) pages_.resize(kPages);
  auto& slot = pages_[address / kPage % kPages];
  if (slot && slot->address == address) return *slot;
  if (!slot) slot = std::make_unique_for_overwrite<Page>();
  auto& page = *slot;
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
