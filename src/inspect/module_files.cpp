#include "inspect/module_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kHead = 64 << 10;  // headers and notes
constexpr std::uint32_t kPeExecutable = 0x20000000;
constexpr std::uint32_t kPeWritable = 0x80000000;

constexpr std::uint64_t page_of(std::uint64_t address) { return address & ~(kPage - 1); }
constexpr std::uint64_t page_end_of(std::uint64_t address) {
  return page_of(address + (kPage - 1));
}

std::size_t read_at(const UniqueFd& fd, std::uint64_t offset, std::span<std::uint8_t> out) {
  if (offset >> 62 != 0) return 0;
  const auto got = ::pread(fd.get(), out.data(), out.size(), static_cast<off_t>(offset));
  return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
}

Result<UniqueFd> open_regular(const std::string& path) {
  UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  struct stat status {};
  if (!file) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(Errc::kNotFound, "{} is not a regular file", path);
  return file;
}

WallTime changed_at(const UniqueFd& file) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return WallTime::max();
  return WallTime{std::chrono::seconds{status.st_ctim.tv_sec} +
                  std::chrono::nanoseconds{status.st_ctim.tv_nsec}};
}

std::vector<std::uint8_t> head_of(const UniqueFd& file) {
  std::vector<std::uint8_t> head(kHead);
  head.resize(read_at(file, 0, head));
  return head;
}

// The loaded segment that holds an address of the file, whole pages.
const ElfSegment* segment_of(const std::vector<ElfSegment>& segments, std::uint64_t vaddr) {
  for (const auto& segment : segments)
    if (segment.type == PT_LOAD && vaddr >= page_of(segment.vaddr) &&
        vaddr - page_of(segment.vaddr) < page_end_of(segment.vaddr % kPage + segment.file_size))
      return &segment;
  return nullptr;
}

}  // namespace

ModuleFiles::ModuleFiles(const CoreImage& core, std::string folder, WallTime written)
    : core_(core), folder_(std::move(folder)), written_(written) {
  for (const auto& file : core.notes().files) mapped_[file.path].push_back(&file);
}

std::vector<std::uint8_t> ModuleFiles::head_in_core(const CoreFile& file) const {
  std::vector<std::uint8_t> head(std::min<std::uint64_t>(kHead, file.end - file.start));
  head.resize(file.file_offset == 0 ? core_.read(file.start, head) : 0);
  return head;
}

ModuleFiles::Module& ModuleFiles::module_of(const std::string& path) {
  auto& slot = modules_[path];
  if (slot) return *slot;
  slot = std::make_unique<Module>();
  if (auto same = identify(*slot, path); !same) {
    slot->why = std::move(same).error();
    slot->fd.reset();
  }
  return *slot;
}

Result<> ModuleFiles::identify(Module& module, const std::string& path) {
  if (!path.starts_with('/')) return fail(Errc::kNotFound, "{} is not a file", path);
  module.fd = TRY(open_regular(folder_ + path));
  const auto head = head_of(module.fd);
  const auto& parts = mapped_.at(path);
  if (as_text(head).starts_with(std::string_view{ELFMAG, SELFMAG}))
    return identify_elf(module, head, *parts.front());
  if (as_text(head).starts_with("MZ")) return identify_pe(module, head, path);
  return fail(Errc::kUnsupported, "cannot verify that {} is the file that was mapped", path);
}

Result<> ModuleFiles::identify_elf(Module& module, Bytes head, const CoreFile& first) {
  const auto here = TRY(ElfFile::parse(head));
  const auto in_core = head_in_core(first);
  const auto then = ElfFile::parse(in_core);
  const auto id = then ? then->build_id() : std::string{};
  if (id.empty())
    return fail(Errc::kUnsupported, "the core does not contain the build id of {}", first.path);
  if (id != here.build_id())
    return fail(Errc::kNotFound, "{} has build {}, but the core was made with {}",
                folder_ + first.path, here.build_id(), id)
        .hint("read the core on the machine it was written on");
  module.segments = here.segments();
  for (const auto& segment : module.segments)
    if (segment.type == PT_LOAD) {
      module.base = first.start - page_of(segment.vaddr);  // the first: that of offset 0
      break;
    }
  return {};
}

Result<> ModuleFiles::identify_pe(Module& module, Bytes head, const std::string& path) {
  const auto image = TRY(PeFile::parse_any(head));
  bool seen = false;
  for (const auto* part : mapped_.at(path)) {
    const auto in_core = head_in_core(*part);
    const auto size = std::min<std::size_t>({in_core.size(), head.size(), kPage});
    if (size < std::min<std::size_t>(head.size(), kPage)) continue;
    if (!std::ranges::equal(Bytes{in_core}.first(size), head.first(size)))
      return fail(Errc::kNotFound, "{} is not the file that the core was made with", folder_ + path)
          .hint("read the core on the machine it was written on");
    seen = true;
  }
  if (!seen && (changed_at(module.fd) > written_ || !same_machine()))
    return fail(Errc::kUnsupported, "cannot verify that {} is the file that was mapped",
                folder_ + path)
        .hint("read the core on the machine it was written on, before the program is updated");
  module.image = image.without_bytes();
  module.size =
      static_cast<std::uint64_t>(std::max<off_t>(::lseek(module.fd.get(), 0, SEEK_END), 0));
  return {};
}

bool ModuleFiles::same_machine() {
  if (same_machine_) return *same_machine_;
  std::size_t same = 0;
  for (const auto& [path, parts] : mapped_) {
    const auto head = head_in_core(*parts.front());
    const auto elf = ElfFile::parse(head);
    if (!elf || elf->build_id().empty()) continue;
    if (!module_of(path).fd) {
      same_machine_ = false;
      return false;
    }
    ++same;
  }
  same_machine_ = same > 0;
  return *same_machine_;
}

std::size_t ModuleFiles::read(std::uint64_t address, std::span<std::uint8_t> out) {
  const auto& files = core_.notes().files;
  const auto after = std::ranges::upper_bound(files, address, {}, &CoreFile::start);
  if (after == files.begin()) return 0;
  const auto& file = *std::prev(after);
  if (address >= file.end) return 0;
  const auto& module = module_of(file.path);
  if (!module.fd) return 0;
  const auto offset = file.file_offset + (address - file.start);
  auto most = std::min<std::uint64_t>(out.size(), file.end - address);
  // What could be written may have been: only what could not is in memory as in the file.
  if (module.image) {
    // Sections are mapped one by one, whole pages of the file each.
    for (const auto& section : module.image->sections())
      if ((section.flags & kPeWritable) != 0 && page_of(section.file_offset) <= file.file_offset &&
          file.file_offset < std::uint64_t{section.file_offset} + section.file_size)
        return 0;
  } else {
    const auto vaddr = address - module.base;
    const auto* segment = segment_of(module.segments, vaddr);
    if (!segment || (segment->flags & PF_W) != 0) return 0;
    most = std::min(most, page_of(segment->vaddr) +
                              page_end_of(segment->vaddr % kPage + segment->file_size) - vaddr);
  }
  return read_at(module.fd, offset, out.first(most));
}

Result<UniqueFd> ModuleFiles::open(const std::string& path) {
  if (!mapped_.contains(path)) return open_regular(folder_ + path);
  const auto& module = module_of(path);
  if (!module.fd) return fail(module.why);
  return open_regular(folder_ + path);
}

std::optional<ElfSegment> ModuleFiles::segment_at(const CoreFile& file) {
  const auto& module = module_of(file.path);
  if (!module.fd) return {};
  if (module.image) {
    // A whole file was mapped to be looked at; a whole section of code, and not all, to be run.
    const auto end = file.file_offset + (file.end - file.start);
    ElfSegment found{.flags = PF_R};
    if (file.file_offset == 0 && end >= module.size) return found;
    for (const auto& section : module.image->sections())
      if ((section.flags & kPeExecutable) != 0 && file.file_offset <= section.file_offset &&
          end >= std::uint64_t{section.file_offset} + section.file_size)
        found.flags |= PF_X;
    return found;
  }
  const auto* segment = segment_of(module.segments, file.start - module.base);
  return segment ? std::optional{*segment} : std::nullopt;
}

}  // namespace clrscope::inspect
