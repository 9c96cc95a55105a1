#include "inspect/proc_view.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include "base/io.h"
#include "base/maps.h"
#include "base/target_root.h"
#include "base/text.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

std::string path_of(const MapsLine& line) {
  auto path = unescaped_maps_path(line.path);
  if (path.starts_with('/') && path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
  return path;
}

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> found;
  for (const auto word : split(trim(line), ' '))
    if (!word.empty()) found.push_back(word);
  return found;
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || at != text.data() + text.size()) return {};
  return value;
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// A regular file: nothing that a name in the target's folders leads to may keep us waiting.
Result<UniqueFd> only_regular(UniqueFd file, const std::string& path) {
  struct stat status {};
  if (!file) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    return fail(Errc::kNotFound, "{} is not a regular file", path);
  return file;
}

bool is_file_of(const UniqueFd& file, const FileMapping& line) {
  struct stat status {};
  return ::fstat(file.get(), &status) == 0 && status.st_ino == line.inode &&
         ::major(status.st_dev) == line.major && ::minor(status.st_dev) == line.minor;
}

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

}  // namespace

void parse_syscall_file(std::string_view text, OsThread& thread) {
  // "running", "-1 SP PC" (blocked outside of a system call) or "NR six arguments SP PC".
  const auto fields = words(text);
  if (fields.size() != 3 && fields.size() != 9) return;
  const auto sp = parse_number(fields[fields.size() - 2]);
  const auto pc = parse_number(fields[fields.size() - 1]);
  if (!sp || !pc || *pc == 0) return;
  thread.registers.set(unwind::kRsp, *sp);
  thread.registers.set(unwind::kRip, *pc);
  if (fields.size() == 3) return;
  thread.syscall = number<int>(fields[0]);
  constexpr unwind::Reg kArguments[] = {unwind::kRdi, unwind::kRsi, unwind::kRdx,
                                        unwind::kR10, unwind::kR8,  unwind::kR9};
  for (std::size_t i = 0; i < std::size(kArguments); ++i)
    if (const auto value = parse_number(fields[i + 1])) thread.registers.set(kArguments[i], *value);
}

bool parse_thread_stat(std::string_view text, OsThread& thread) {
  const auto open = text.find('(');
  const auto close = text.rfind(')');  // the name itself may hold blanks and brackets
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return false;
  const auto fields = words(text.substr(close + 1));  // fields[0] is field 3 of proc(5)
  if (fields.size() < 13) return false;
  thread.name = text.substr(open + 1, close - open - 1);
  thread.state = fields[0][0];
  static const auto per_second = ::sysconf(_SC_CLK_TCK);
  const auto ticks =
      number<std::int64_t>(fields[11]).value_or(0) + number<std::int64_t>(fields[12]).value_or(0);
  thread.cpu = std::chrono::nanoseconds{ticks * (1'000'000'000 / per_second)};
  return true;
}

NamespaceIds parse_namespace_ids(std::string_view status) {
  NamespaceIds ids;
  for (const auto line : split(status, '\n')) {
    if (!line.starts_with("NSpid:")) continue;
    for (const auto id : split(trim(line.substr(6)), '\t')) {
      ids.own = number<pid_t>(trim(id)).value_or(0);
      ++ids.depth;
    }
  }
  return ids;
}

std::optional<std::chrono::nanoseconds> parse_schedstat(std::string_view text) {
  const auto fields = words(text);
  const auto run = fields.size() == 3 ? number<std::int64_t>(fields[0]) : std::nullopt;
  if (!run || *run <= 0) return std::nullopt;
  return std::chrono::nanoseconds{*run};
}

Result<ProcView> ProcView::open(pid_t pid) {
  if (pid <= 0) return fail(Errc::kNotFound, "process {} does not exist", pid);
  const auto path = fmt::format("/proc/{}", pid);
  UniqueFd folder{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!folder && errno == ENOENT)
    return fail(Errc::kNotFound, "process {} does not exist", pid)
        .hint("clrscope ps lists the .NET processes");
  if (!folder) return fail(errc_of(errno), "cannot open {}: {}", path, errno_text());
  return ProcView{pid, std::move(folder)};
}

Result<std::string> ProcView::read(const std::string& name) const {
  UniqueFd file{::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC)};
  std::string content;
  while (file) {
    const auto used = content.size();
    content.resize(used + std::max<std::size_t>(used, 4096));
    const auto got = ::read(file.get(), content.data() + used, content.size() - used);
    content.resize(used + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return content;
    if (got < 0 && errno != EINTR) break;
  }
  return unreadable(name);
}

Failure ProcView::unreadable(const std::string& name) const {
  if (errno == ENOENT || errno == ESRCH)
    return fail(Errc::kGone, "process {} has ended ({})", pid_, name);
  return fail(errc_of(errno), "cannot read /proc/{}/{}: {}", pid_, name, errno_text());
}

Result<std::string> ProcView::read_line(const std::string& name) const {
  const UniqueFd file{::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return unreadable(name);
  std::array<char, 1024> text;  // read() fills it
  ssize_t got = 0;
  do {
    got = ::read(file.get(), text.data(), text.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) return unreadable(name);
  const auto size = static_cast<std::size_t>(got);
  if (size == text.size()) return read(name);  // longer than they are so far
  return std::string{text.data(), size};
}

Result<std::vector<Mapping>> ProcView::mappings() const {
  const auto text = TRY(read("maps"));
  std::vector<Mapping> mappings;
  for (const auto line : split(text, '\n'))
    if (const auto m = parse_maps_line(line))
      mappings.push_back({.start = m->start,
                          .end = m->end,
                          .file_offset = m->offset,
                          .path = path_of(*m),
                          .executable = m->executable,
                          .writable = m->writable});
  if (mappings.empty()) return fail(Errc::kGone, "process {} has ended", pid_);
  return mappings;
}

Result<std::vector<pid_t>> ProcView::thread_ids() const {
  const int tasks = ::openat(folder_.get(), "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const Folder folder{tasks < 0 ? nullptr : ::fdopendir(tasks)};
  if (!folder) return fail(Errc::kGone, "process {} has ended", pid_);
  std::vector<pid_t> ids;
  while (const auto* entry = ::readdir(folder.get()))
    if (const auto id = number<pid_t>(entry->d_name)) ids.push_back(*id);
  if (ids.empty()) return fail(Errc::kGone, "process {} has ended", pid_);
  std::ranges::sort(ids);
  return ids;
}

Result<bool> ProcView::is_nested() const {
  return parse_namespace_ids(TRY(read("status"))).depth > 1;
}

std::optional<OsThread> ProcView::thread(pid_t id, bool nested) const {
  const auto folder = fmt::format("task/{}/", id);
  const auto stat = read_line(folder + "stat");
  OsThread thread{.tid = id, .namespace_tid = id};
  if (!stat || !parse_thread_stat(*stat, thread)) return std::nullopt;
  if (const auto call = read_line(folder + "syscall")) parse_syscall_file(*call, thread);
  if (thread.state != 'R')
    if (const auto channel = read_line(folder + "wchan"); channel && *channel != "0")
      thread.wait_channel = trim(*channel);
  if (nested)
    if (const auto status = read(folder + "status"))
      thread.namespace_tid = parse_namespace_ids(*status).own;
  return thread;
}

Result<std::vector<OsThread>> ProcView::threads() const {
  const bool nested = TRY(is_nested());
  std::vector<OsThread> threads;
  for (const auto id : TRY(thread_ids())) {
    auto thread = this->thread(id, nested);
    if (!thread) continue;
    if (const auto schedule = read_line(fmt::format("task/{}/schedstat", id)))
      thread->cpu = parse_schedstat(*schedule).value_or(thread->cpu);
    threads.push_back(*std::move(thread));
  }
  if (threads.empty()) return fail(Errc::kGone, "process {} has ended", pid_);
  return threads;
}

Result<UniqueFd> ProcView::open_below_root(const std::string& path) const {
  return TRY(TargetRoot::open(folder_.get(), pid_)).open_file(path);
}

Result<> ProcView::read_files() const {
  const auto maps = TRY(read("maps"));
  files_.clear();
  for (const auto line : split(maps, '\n'))
    if (const auto m = parse_maps_line(line); m && m->inode != 0)
      files_.try_emplace(path_of(*m), FileMapping{.start = m->start,
                                                  .end = m->end,
                                                  .inode = m->inode,
                                                  .major = m->major,
                                                  .minor = m->minor,
                                                  .deleted = m->path.ends_with(kDeleted)});
  return {};
}

Result<UniqueFd> ProcView::open_file(const std::string& path) const {
  if (!path.starts_with('/')) return fail(Errc::kNotFound, "{} is not a file", path);
  auto named = open_below_root(path);
  // The file that was mapped when the mappings were last read is the right one still.
  if (const auto known = files_.find(path);
      known != files_.end() && named && is_file_of(*named, known->second))
    return named;
  TRY(read_files());
  const auto mapped_at = files_.find(path);
  if (mapped_at == files_.end()) return named;
  const auto& mapping = mapped_at->second;
  if (named && is_file_of(*named, mapping)) return named;
  // Replaced or deleted since it was mapped: the mapping still leads to it, for the privileged.
  const auto link = fmt::format("map_files/{:x}-{:x}", mapping.start, mapping.end);
  auto mapped = only_regular(UniqueFd{::openat(folder_.get(), link.c_str(), kOpenFlags)}, path);
  if (mapped) return mapped;
  // Layered file systems show another device in the mappings than for the file.
  if (named && !mapping.deleted) return named;
  return fail(mapped.error().code, "cannot open {}: it was deleted or replaced, and {}", path,
              mapped.error().what)
      .hint("run as root: only then the mapping of a deleted file can be opened");
}

}  // namespace clrscope::inspect
