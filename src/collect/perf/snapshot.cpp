#include "collect/perf/snapshot.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <charconv>
#include <filesystem>

#include "base/io.h"
#include "base/proc.h"
#include "base/text.h"

namespace clrscope::collect::perf {
namespace {

// A number up to (and with) the separator that must follow.
bool take_number(std::string_view& text, int base, char separator, std::uint64_t& value) {
  const auto* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || at == end || *at != separator) return false;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()) + 1);
  return true;
}

std::string unescaped(std::string_view path) {
  std::string out;
  for (std::size_t at = 0; at < path.size();) {
    if (path.substr(at).starts_with("\\012")) {
      out += '\n';
      at += 4;
    } else {
      out += path[at++];
    }
  }
  return out;
}

// The last number of "NSpid:	12	1".
ThreadId own_id_of(pid_t process, pid_t thread) {
  const auto status = read_file(fmt::format("/proc/{}/task/{}/status", process, thread));
  if (!status) return ThreadId{};
  for (const auto line : split(*status, '\n')) {
    if (!line.starts_with("NSpid:")) continue;
    const auto last = parse_number(line.substr(line.find_last_of("\t ") + 1));
    return ThreadId{last.value_or(0)};
  }
  return ThreadId{};
}

class ProcessSnapshot {
 public:
  ProcessSnapshot(pid_t pid, TraceTime as_of, const SnapshotSink& sink, SnapshotTotals& totals)
      : pid_(pid), sink_(sink), totals_(totals) {
    facts_.process = ProcessId{pid};
    origin_.process = facts_.process;
    origin_.thread = ThreadId{static_cast<std::uint64_t>(pid)};
    origin_.time = as_of;
  }

  void take() {
    const auto status = proc_status(pid_);
    if (!status) {
      ++totals_.gone;
      return;
    }
    facts_.own_pid = status->namespace_pid;
    facts_.name = status->comm;
    facts_.start_ticks = status->start_ticks;
    facts_.container = container_of(pid_);
    facts_.other_mounts = in_other_namespace(pid_, "mnt");
    list_threads();
    ++totals_.processes;
    totals_.threads += facts_.threads.size();
    if (sink_.on_process) sink_.on_process(facts_);
    name_threads();
    mappings();
  }

 private:
  void list_threads() {
    std::error_code gone;
    for (std::filesystem::directory_iterator it{fmt::format("/proc/{}/task", pid_), gone}, end;
         !gone && it != end; it.increment(gone)) {
      const auto tid = parse_number(it->path().filename().native());
      if (!tid) continue;
      const ThreadId thread{*tid};
      const bool same_namespace = facts_.own_pid == pid_;
      facts_.threads.push_back(
          {thread, same_namespace ? thread : own_id_of(pid_, static_cast<pid_t>(*tid))});
    }
  }

  void name_threads() const {
    for (const auto& thread : facts_.threads) {
      const auto tid = static_cast<std::uint64_t>(thread.thread);
      const auto comm = read_file(fmt::format("/proc/{}/task/{}/comm", pid_, tid));
      if (!comm) continue;
      ThreadName name{.origin = origin_, .process = facts_.process, .thread = thread.thread};
      name.origin.thread = thread.thread;
      name.name = comm->ends_with('\n') ? std::string_view{*comm}.substr(0, comm->size() - 1)
                                        : std::string_view{*comm};
      sink_.on_record(name);
    }
  }

  void mappings() const {
    const auto maps = read_file(fmt::format("/proc/{}/maps", pid_));
    if (!maps) {
      ++(maps.error().code == Errc::kDenied ? totals_.denied : totals_.gone);
      return;
    }
    for (const auto line : split(*maps, '\n')) {
      auto mapping = parse_maps_line(line);
      if (!mapping || (mapping->protection & PROT_EXEC) == 0) continue;
      mapping->origin = origin_;
      mapping->process = facts_.process;
      mapping->thread = origin_.thread;
      const auto path = unescaped(mapping->path);
      mapping->path = path;
      ++totals_.mappings;
      sink_.on_record(*mapping);
    }
  }

  pid_t pid_;
  const SnapshotSink& sink_;
  SnapshotTotals& totals_;
  ProcessFacts facts_{};
  Origin origin_{};
};

}  // namespace

// "7f12a000-7f12b000 r-xp 00001000 fd:01 1234     /usr/lib/x.so"
std::optional<Mapping> parse_maps_line(std::string_view line) {
  Mapping m;
  std::uint64_t end = 0;
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  if (!take_number(line, 16, '-', m.address) || !take_number(line, 16, ' ', end)) return {};
  if (end < m.address || line.size() < 5 || line[4] != ' ') return {};
  m.size = end - m.address;
  m.protection = (line[0] == 'r' ? PROT_READ : 0U) | (line[1] == 'w' ? PROT_WRITE : 0U) |
                 (line[2] == 'x' ? PROT_EXEC : 0U);
  m.flags = line[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
  line.remove_prefix(5);
  if (!take_number(line, 16, ' ', m.file_offset) || !take_number(line, 16, ':', major) ||
      !take_number(line, 16, ' ', minor) || major > 0xffffffff || minor > 0xffffffff)
    return {};
  m.major = static_cast<std::uint32_t>(major);
  m.minor = static_cast<std::uint32_t>(minor);
  const auto inode_end = std::min(line.find(' '), line.size());
  const auto inode = parse_number(line.substr(0, inode_end));
  if (!inode) return {};
  m.inode = *inode;
  const auto path = line.find_first_not_of(' ', inode_end);
  m.path = path == std::string_view::npos ? std::string_view{"//anon"} : line.substr(path);
  return m;
}

Result<SnapshotTotals> take_snapshot(const std::vector<pid_t>& processes, TraceTime as_of,
                                     const SnapshotSink& sink) {
  SnapshotTotals totals;
  for (const auto pid : processes.empty() ? TRY(all_pids()) : processes)
    ProcessSnapshot{pid, as_of, sink, totals}.take();
  return totals;
}

}  // namespace clrscope::collect::perf
