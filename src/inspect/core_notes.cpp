#include <elf.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include <algorithm>

#include "inspect/core_image.h"
#include "inspect/stopped_threads.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostThreads = 1 << 20;

constexpr std::size_t aligned4(std::size_t size) { return (size + 3) & ~std::size_t{3}; }

std::string text_of(const char* chars, std::size_t size) {
  return {chars, static_cast<std::size_t>(std::find(chars, chars + size, '\0') - chars)};
}

std::chrono::nanoseconds time_of(const auto& time) {
  if (time.tv_sec < 0 || time.tv_sec > 1'000'000'000) return {};
  return std::chrono::seconds{time.tv_sec} + std::chrono::microseconds{time.tv_usec % 1'000'000};
}

void read_status(ByteReader in, CoreNotes& notes) {
  const auto status = in.read<elf_prstatus>();
  if (!in.ok() || status.pr_pid <= 0 || notes.threads.size() >= kMostThreads) return;
  user_regs_struct user{};
  static_assert(sizeof user == sizeof status.pr_reg);
  std::memcpy(&user, &status.pr_reg, sizeof user);
  OsThread thread{.tid = status.pr_pid, .namespace_tid = status.pr_pid};
  thread.cpu = time_of(status.pr_utime) + time_of(status.pr_stime);
  thread.registers = registers_of(user);
  if (user.orig_rax < 4096) thread.syscall = static_cast<int>(user.orig_rax);
  notes.threads.push_back(std::move(thread));
}

void read_process(ByteReader in, CoreNotes& notes) {
  const auto process = in.read<elf_prpsinfo>();
  if (!in.ok()) return;
  notes.pid = process.pr_pid;
  notes.name = text_of(process.pr_fname, sizeof process.pr_fname);
}

void read_auxiliary(ByteReader in, CoreNotes& notes) {
  while (in.remaining() >= 16) {
    const auto type = in.read<std::uint64_t>();
    const auto value = in.read<std::uint64_t>();
    if (type == AT_SYSINFO_EHDR) notes.vdso = value;
  }
}

// count, unit of the offsets, count × {start, end, offset}, count names that end with a zero
void read_files(ByteReader in, CoreNotes& notes) {
  const auto count = in.read<std::uint64_t>();
  const auto unit = in.read<std::uint64_t>();
  if (!in.ok() || count > in.remaining() / 25 || unit == 0 || unit > 1 << 30) return;
  ByteReader entries{in.take(count * 24)};
  auto names = as_text(in.rest());
  for (std::uint64_t i = 0; i < count; ++i) {
    CoreFile file{.start = entries.read<std::uint64_t>(), .end = entries.read<std::uint64_t>()};
    const auto offset = entries.read<std::uint64_t>();
    const auto end = names.find('\0');
    if (end == std::string_view::npos) break;
    file.path = names.substr(0, end);
    names.remove_prefix(end + 1);
    if (file.start >= file.end || offset > (std::uint64_t{1} << 62) / unit) continue;
    file.file_offset = offset * unit;
    notes.files.push_back(std::move(file));
  }
}

}  // namespace

CoreNotes CoreNotes::parse(Bytes bytes) {
  CoreNotes notes;
  ByteReader in{bytes};
  while (in.remaining() >= sizeof(Elf64_Nhdr)) {
    const auto header = in.read<Elf64_Nhdr>();
    const auto owner = as_text(in.take(aligned4(header.n_namesz)));
    const auto body = in.take(header.n_descsz);
    if (!in.ok()) break;
    in.skip(std::min<std::size_t>(in.remaining(), aligned4(header.n_descsz) - header.n_descsz));
    if (!owner.starts_with("CORE")) continue;
    if (header.n_type == NT_PRSTATUS) read_status(ByteReader{body}, notes);
    if (header.n_type == NT_PRPSINFO) read_process(ByteReader{body}, notes);
    if (header.n_type == NT_AUXV) read_auxiliary(ByteReader{body}, notes);
    if (header.n_type == NT_FILE) read_files(ByteReader{body}, notes);
  }
  std::ranges::stable_sort(notes.files, {}, &CoreFile::start);
  std::uint64_t last = 0;
  std::erase_if(notes.files, [&](const CoreFile& file) {
    const bool overlaps = file.start < last;
    if (!overlaps) last = file.end;
    return overlaps;
  });
  for (auto& thread : notes.threads)
    if (thread.tid == notes.pid) thread.name = notes.name;
  return notes;
}

}  // namespace clrscope::inspect
