#include "ops/dump.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <optional>

#include "base/io.h"
#include "base/maps.h"
#include "base/proc.h"
#include "base/text.h"
#include "inspect/runtime_reader.h"
#include "inspect/target.h"
#include "ipc/cancellable_endpoint.h"
#include "ipc/commands.h"
#include "ops/output.h"
#include "ops/shared_file.h"
#include "ops/target_folder.h"

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::minutes kPatience{30};  // a large process on a slow disk
constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::seconds kSilence{30};  // without a sign that a dump is being written
// What createdump reached: into free memory, and on a disk beside other work. It reads the modules
// and threads before it writes.
constexpr std::uint64_t kFastest = 400'000'000;  // bytes a second
constexpr std::uint64_t kSlowest = 80'000'000;
constexpr std::chrono::milliseconds kLeastStart{200};
constexpr std::chrono::milliseconds kMostStart{1000};
constexpr std::uint64_t kSmallDump = 10'000'000;  // stacks, modules and little else

struct DumpKindName {
  std::string_view name;
  DumpType type;
  ipc::DumpKind kind;
};
constexpr DumpKindName kKinds[] = {
    {"mini", DumpType::kMini, ipc::DumpKind::kMini},
    {"triage", DumpType::kTriage, ipc::DumpKind::kTriage},
    {"heap", DumpType::kHeap, ipc::DumpKind::kHeap},
    {"full", DumpType::kFull, ipc::DumpKind::kFull},
};

const DumpKindName& kind_of(DumpType type) {
  return *std::ranges::find_if(kKinds, [&](const auto& kind) { return kind.type == type; });
}

// All that can be read goes into a full dump, touched or not; into one of the heap what can be
// written; the rest is headers of modules.
struct Mapped {
  std::uint64_t readable = 0;
  std::uint64_t writable = 0;
};
Mapped mapped_by(pid_t pid) {
  Mapped all;
  const auto text = read_file(fmt::format("/proc/{}/maps", pid));
  if (!text) return all;
  for (const auto line : split(*text, '\n')) {
    const auto one = parse_maps_line(line);
    if (!one || !one->readable || one->path.starts_with("[v")) continue;  // the kernel's own
    all.readable += one->end - one->start;
    if (one->writable) all.writable += one->end - one->start;
  }
  return all;
}

DumpPrice price_of(pid_t pid, DumpType type, const std::string& folder) {
  DumpPrice price{.bytes = dump_bytes(pid, type)};
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) == 0)
    price.free_bytes = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
  price.pause = dump_pause(price.bytes);
  return price;
}

constexpr const char* kStaged = "dump";

// Where the runtime writes: the final place, or a private folder in its own file system, or a file
// in a folder that it shares with us. These two are removed at the end whatever happened.
struct Staging {
  std::string told;                    // path in the target's file system
  std::optional<TargetFolder> folder;  // neither of these: the final place
  std::optional<SharedFile> shared;

  Staging(std::string path, std::optional<TargetFolder> where)
      : told(std::move(path)), folder(std::move(where)) {}
  explicit Staging(SharedFile file) : told(file.path()), shared(std::move(file)) {}
  Staging(Staging&& other) noexcept
      : told(std::move(other.told)),
        folder(std::exchange(other.folder, std::nullopt)),
        shared(std::exchange(other.shared, std::nullopt)) {}
  Staging& operator=(Staging&&) = delete;
  ~Staging() {
    if (shared) shared->remove();
    if (!folder) return;
    folder->remove(kStaged);
    folder->remove_folder();
  }

  std::uint64_t size() const {
    if (shared) return shared->size();
    if (folder) return folder->size_of(kStaged);
    std::error_code error;
    const auto size = fs::file_size(told, error);
    return error ? 0 : size;
  }
};

// The socket of a runtime lies in its temporary folder; one of ours, that it connected to, has the
// same path there, as far as anybody knows.
Result<Staging> share_staging(Target& target, const std::string& port) {
  const auto words = TRY(parse_port(port));
  auto folder = fs::absolute(words.path).parent_path().string();
  if (!words.listens) {
    auto environment = TRY(ipc::environment(*target.endpoint));
    const auto named = environment.find("TMPDIR");
    folder = named == environment.end() || named->second.empty() ? "/tmp" : named->second;
  }
  return Staging{TRY(SharedFile::beside(words.path, folder))};
}

Result<Staging> choose_staging(Target& target, const DumpRequest& request,
                               const std::string& output) {
  const auto& process = target.process;
  if (process.foreign) return share_staging(target, *request.target.diagnostic_port);
  const auto status = TRY(proc_status(process.pid));
  const bool same_files = !in_other_namespace(process.pid, "mnt");
  if (same_files && (status.uid == ::geteuid())) return Staging{output, std::nullopt};
  auto folder = TRY(TargetFolder::make_new(process.pid));
  auto told = fmt::format("{}/{}", folder.path(), kStaged);
  return Staging{std::move(told), std::move(folder)};
}

// As much as the file holds now: a target that keeps writing, or claims any size, must not fill our
// disk.
Result<> copy_dump(const UniqueFd& source, const std::string& to) {
  struct stat status {};
  if (::fstat(source.get(), &status) != 0)
    return fail(errc_of(errno), "cannot read the dump: {}", errno_text());
  auto left = static_cast<std::uint64_t>(status.st_size);
  const auto folder = fs::path{to}.parent_path().string();
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) == 0)
    if (const auto free = static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize; left > free)
      return fail(Errc::kSystem, "the dump is {}, but {} has only {} free", format_bytes(left),
                  folder, format_bytes(free))
          .hint("choose another disk with -o FILE");
  const UniqueFd target{::open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
  if (!target) return fail(errc_of(errno), "cannot write {}: {}", to, errno_text());
  while (left > 0) {
    const auto sent =
        ::sendfile(target.get(), source.get(), nullptr, std::min<std::uint64_t>(left, 1 << 24));
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return fail(errc_of(errno), "cannot copy the dump to {}: {}", to, errno_text());
    if (sent == 0) break;  // it became shorter meanwhile
    left -= static_cast<std::uint64_t>(sent);
  }
  return {};
}

std::uint64_t size_of(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  return error ? 0 : size;
}

// Whether a dump is being written: its file grows, or the process is stopped by a tracer that came
// with our request. createdump attaches at once and may then read for minutes before it writes.
class Progress {
 public:
  // `pid` 0: unknown here, only the file tells.
  explicit Progress(pid_t pid) : pid_(pid), tracer_before_(tracer()), seen_(TraceClock::now()) {}

  void update(std::uint64_t bytes) {
    const auto now = tracer();
    if (bytes > bytes_ || (now != 0 && now != tracer_before_)) seen_ = TraceClock::now();
    bytes_ = bytes;
  }
  bool hopeless() const { return TraceClock::now() - seen_ >= kSilence; }

 private:
  pid_t tracer() const {
    const auto status = pid_ == 0 ? fail(Errc::kNotFound, "unknown") : proc_status(pid_);
    return status ? status->tracer : 0;
  }

  pid_t pid_;
  pid_t tracer_before_;
  std::uint64_t bytes_ = 0;
  TraceTime seen_;
};

// The runtime answers when the dump is written; until then its file grows.
Result<> write_and_watch(Target& target, ipc::DumpKind kind, const Staging& staging,
                         const DumpWatcher& watcher) {
  const auto started = TraceClock::now();
  ipc::CancellableEndpoint runtime{*target.endpoint, kSilence};
  Progress progress{target.process.foreign ? 0 : target.process.pid};
  auto written = std::async(
      std::launch::async, [&] { return ipc::write_dump(runtime, kind, staging.told, kPatience); });
  while (written.wait_for(kLook) != std::future_status::ready) {
    const auto bytes = staging.size();
    if (watcher.on_progress) watcher.on_progress(bytes, TraceClock::now() - started);
    progress.update(bytes);
    if (!progress.hopeless()) continue;
    runtime.cancel();
    if (written.get()) break;  // it answered at this moment
    return fail(Errc::kTimeout, "process {} has not written any dump data for {} seconds",
                target.process.pid, kSilence.count())
        .hint("check whether the process is stopped, in a debugger or out of CPU time");
  }
  return written.valid() ? written.get() : Result<>{};
}

Result<> bring_home(const Staging& staging, const std::string& output) {
  if (!staging.folder && !staging.shared) return {};
  auto file = staging.folder ? staging.folder->open_file(kStaged) : staging.shared->open();
  if (!file)
    return fail(file.error().code, "the runtime reported success, but the dump is unusable: {}",
                file.error().what)
        .hint("{}", file.error().hint);
  return copy_dump(*file, output);
}

// The dump of a runtime on musl is whole, but not for us.
std::string note_for(const Process& process) {
  const auto seen =
      process.foreign ? fail(Errc::kUnsupported, "not here") : inspect::open_process(process.pid);
  if (!seen || !inspect::unreadable_on_musl(**seen)) return {};
  return "the process runs on musl (Alpine): clrscope reads only native frames of this dump; use "
         "dotnet-dump analyze on Alpine for the rest";
}

}  // namespace

DumpPause dump_pause(std::uint64_t bytes) {
  const auto at = [&](std::uint64_t rate) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(bytes / (rate / 1000))};
  };
  return {.least = kLeastStart + at(kFastest), .most = kMostStart + at(kSlowest)};
}

Result<DumpType> parse_dump_type(std::string_view text) {
  for (const auto& kind : kKinds)
    if (equal_ignoring_case(kind.name, text)) return kind.type;
  return fail(Errc::kUsage, "unknown dump type '{}'", text).hint("use mini, triage, heap or full");
}

std::uint64_t dump_bytes(pid_t pid, DumpType type) {
  const auto mapped = mapped_by(pid);
  switch (type) {
    case DumpType::kMini:
    case DumpType::kTriage:
      return std::min(mapped.readable, kSmallDump);
    case DumpType::kHeap:
      return mapped.writable;
    case DumpType::kFull:
      return mapped.readable;
  }
  return 0;
}

std::string_view name_of(DumpType type) { return kind_of(type).name; }

DumpAnswer answer_of(const DumpSummary& summary) {
  DumpAnswer answer{.file = summary.file,
                    .pid = summary.process.pid,
                    .bytes = summary.bytes,
                    .expected_bytes = summary.expected_bytes,
                    .pause = summary.took};
  if (!summary.note.empty()) answer.notes.push_back(summary.note);
  return answer;
}

const Shape& shape_of(const DumpAnswer*) {
  using T = DumpAnswer;
  static const auto shape = clrscope::describe<T>(
      "Dump", "a core dump that was written",
      {member<&T::file>("file", "path of the dump"), member<&T::pid>("pid", "process id"),
       member<&T::bytes>("bytes", Unit::kBytes, "size of the dump"),
       member_unless_empty<&T::expected_bytes>("expectedBytes", Unit::kBytes,
                                               "size estimated beforehand"),
       member<&T::pause>("pauseMs", "time it took to write; the process was paused for most of it"),
       member_unless_empty<&T::notes>("notes", "limits of the tools that can read the dump")});
  return shape;
}

Result<DumpSummary> dump(const DumpRequest& request, const DumpWatcher& watcher) {
  auto target = TRY(find_target(request.target, std::chrono::seconds{5}, -1));
  if (target.process.foreign && !request.target.diagnostic_port)
    return fail(Errc::kUnsupported, "{} is in another pid namespace: its dump could not be fetched",
                target.process.name)
        .hint(
            "use clrscope dump --diagnostic-port SOCKET, which writes it to the folder of the "
            "socket first, or share the pid namespace: shareProcessNamespace in a pod");
  DumpSummary summary{
      .file =
          fs::absolute(expand_output(request.output, target.process, ".dmp")).lexically_normal(),
      .process = target.process};
  const auto folder = fs::path{summary.file}.parent_path().string();
  if (!fs::is_directory(folder))
    return fail(Errc::kNotFound, "folder {} does not exist", folder)
        .hint("choose another folder with -o FILE");

  const auto price =
      price_of(target.process.foreign ? 0 : target.process.pid, request.type, folder);
  summary.expected_bytes = price.bytes;
  if (watcher.on_price) watcher.on_price(target.process, price, summary.file);
  if (price.free_bytes > 0 && price.bytes > price.free_bytes)
    return fail(Errc::kSystem, "a {} dump needs about {}, but {} has only {} free",
                name_of(request.type), format_bytes(price.bytes), folder,
                format_bytes(price.free_bytes))
        .hint("use --type mini, which is smaller, or choose another disk with -o FILE");

  const auto staging = TRY(choose_staging(target, request, summary.file));
  const auto started = TraceClock::now();
  if (auto written = write_and_watch(target, kind_of(request.type).kind, staging, watcher);
      !written) {
    auto error = std::move(written).error();
    if (error.hint.empty())
      error.hint =
          fmt::format("run clrscope check -p {} to see what a dump requires", target.process.pid);
    return fail(std::move(error));
  }
  TRY(bring_home(staging, summary.file));
  summary.took = TraceClock::now() - started;
  summary.bytes = size_of(summary.file);
  summary.note = note_for(target.process);
  if (summary.bytes == 0)
    return fail(Errc::kSystem, "the runtime reported success, but {} does not exist", summary.file);
  return summary;
}

}  // namespace clrscope::ops
