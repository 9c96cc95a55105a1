#include "ops/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kWaitForRuntime{60};

std::string local_time_stamp() {
  const auto now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &local);
  return text;
}

// A process may be named anything; a file may not.
std::string file_safe(std::string name) {
  for (auto& c : name)
    if (c == '/' || c == '\0' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return name.empty() ? "trace" : name;
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

Result<UniqueFd> open_output(const std::string& path) {
  if (path == "-") {
    if (::isatty(STDOUT_FILENO))
      return fail(Errc::kUsage, "a trace is not for a terminal")
          .hint("-o FILE, or send stdout to a file or a pipe");
    return UniqueFd{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)};
  }
  UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640)};
  if (!fd)
    return fail(errc_of(errno), "cannot write {}: {}", path, errno_text())
        .hint("-o FILE chooses another place");
  return fd;
}

ipc::SessionConfig session_config(const RecordWish& wish, const Wish& providers) {
  ipc::SessionConfig config{.buffer_mb = wish.buffer_mb,
                            .rundown_keyword = wish.rundown ? providers.rundown_keyword : 0,
                            .providers = {}};
  for (const auto& one : providers.providers) config.providers.push_back(one.provider);
  return config;
}

std::uint64_t count_samples(const nettrace::Batch& batch) {
  static constexpr std::string_view kSampler = "Microsoft-DotNETCore-SampleProfiler";
  return static_cast<std::uint64_t>(std::ranges::count_if(
      batch.events, [](const Event& event) { return event.type->provider == kSampler; }));
}

Result<> resume(Target& target) {
  if (target.child) return target.child->resume(*target.endpoint);
  if (target.suspended) return ipc::resume_runtime(*target.endpoint);
  return {};
}

void add_own_cost(RecordSummary& summary) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ms = [](const timeval& t) {
    return static_cast<std::uint64_t>(t.tv_sec * 1000 + t.tv_usec / 1000);
  };
  summary.cpu_ms = ms(used.ru_utime) + ms(used.ru_stime);
  // Not ru_maxrss: that begins with the memory of whoever started us.
  if (const auto status = read_file("/proc/self/status"))
    for (const auto line : split(*status, '\n'))
      if (line.starts_with("VmHWM:"))
        summary.rss_bytes =
            parse_number(trim(line.substr(6, line.size() - 6 - 3))).value_or(0) * 1024;
}

}  // namespace

std::string expand_output(const std::string& wanted, const Process& process,
                          const std::string& extension) {
  const auto standard =
      fmt::format("{}_{}{}", file_safe(process.name), local_time_stamp(), extension);
  if (wanted.empty()) return standard;
  if (is_folder(wanted)) return fmt::format("{}/{}", wanted, standard);
  std::string path;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const char next = wanted[i] == '%' && i + 1 < wanted.size() ? wanted[i + 1] : '\0';
    if (next == 'p')
      path += fmt::format("{}", process.pid), ++i;
    else if (next == 'n')
      path += file_safe(process.name), ++i;
    else if (next == 't')
      path += local_time_stamp(), ++i;
    else
      path += wanted[i];
  }
  return path;
}

Result<RecordSummary> record(const RecordWish& wish, const RecordWatcher& watcher) {
  const auto providers = TRY(parse_wish(wish.providers));
  const int stop_fd = wish.stop_fds.empty() ? -1 : wish.stop_fds[0];
  auto target = TRY(find_target(wish.target, kWaitForRuntime, stop_fd));

  RecordSummary summary{.file = expand_output(wish.output, target.process, ".nettrace"),
                        .process = target.process,
                        .outcome = {}};
  auto output = TRY(open_output(summary.file));
  auto session = TRY(ipc::start_tracing(*target.endpoint, session_config(wish, providers)));
  if (wish.resume) TRY(resume(target));
  if (watcher.on_start) watcher.on_start(target.process, providers);

  summary.outcome = TRY(collect::record_stream({
      .runtime = *target.endpoint,
      .session = std::move(session),
      .pid = target.process.pid,
      .output = output.get(),
      .limits = {.duration = wish.duration, .max_size = wish.max_size},
      .stop_fds = wish.stop_fds,
      .on_status = watcher.on_status,
      .on_batch =
          [&](const nettrace::Batch& batch, const nettrace::Reader&) {
            summary.samples += count_samples(batch);
            return false;
          },
  }));
  summary.child = std::move(target.child);
  add_own_cost(summary);
  return summary;
}

}  // namespace clrscope::ops
