#include "collect/perf/snapshot.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <filesystem>

#include "base/io.h"
#include "base/maps.h"
#include "base/proc.h"
#include "base/text.h"

namespace clrscope::collect::perf {
namespace {

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
    const auto read = read_mappings(pid_, origin_.time, [this](const Mapping& mapping) {
      ++totals_.mappings;
      sink_.on_record(mapping);
    });
    if (!read) ++(read.error().code == Errc::kDenied ? totals_.denied : totals_.gone);
  }

  pid_t pid_;
  const SnapshotSink& sink_;
  SnapshotTotals& totals_;
  ProcessFacts facts_{};
  Origin origin_{};
};

}  // namespace

std::optional<Mapping> parse_maps_line(std::string_view line) {
  const auto parsed = clrscope::parse_maps_line(line);
  if (!parsed) return {};
  Mapping m;
  m.address = parsed->start;
  m.size = parsed->end - parsed->start;
  m.protection = (parsed->readable ? PROT_READ : 0U) | (parsed->writable ? PROT_WRITE : 0U) |
                 (parsed->executable ? PROT_EXEC : 0U);
  m.flags = parsed->shared ? MAP_SHARED : MAP_PRIVATE;
  m.file_offset = parsed->offset;
  m.major = parsed->major;
  m.minor = parsed->minor;
  m.inode = parsed->inode;
  m.path = parsed->path.empty() ? std::string_view{"//anon"} : parsed->path;
  return m;
}

Result<> read_mappings(pid_t process, TraceTime as_of,
                       const std::function<void(const Mapping&)>& take) {
  const auto maps = TRY(read_file(fmt::format("/proc/{}/maps", process)));
  for (const auto line : split(maps, '\n')) {
    auto mapping = parse_maps_line(line);
    if (!mapping || (mapping->protection & PROT_EXEC) == 0) continue;
    mapping->process = mapping->origin.process = ProcessId{process};
    mapping->thread = mapping->origin.thread = ThreadId{static_cast<std::uint64_t>(process)};
    mapping->origin.time = as_of;
    const auto path = unescaped_maps_path(mapping->path);
    mapping->path = path;
    take(*mapping);
  }
  return {};
}

Result<SnapshotTotals> take_snapshot(const std::vector<pid_t>& processes, TraceTime as_of,
                                     const SnapshotSink& sink) {
  SnapshotTotals totals;
  for (const auto pid : processes.empty() ? TRY(all_pids()) : processes)
    ProcessSnapshot{pid, as_of, sink, totals}.take();
  return totals;
}

}  // namespace clrscope::collect::perf
