#include "ops/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/io.h"
#include "base/text.h"
#include "collect/eventpipe/early_names.h"
#include "collect/eventpipe/hit_addresses.h"
#include "collect/eventpipe/recording_writer.h"
#include "collect/eventpipe/rewrite.h"
#include "ipc/session_limit.h"
#include "nettrace/v4_blocks.h"
#include "ops/output.h"
#include "ops/program_meter.h"
#include "ops/record_machine.h"

namespace clrscope::ops {
namespace {

using collect::Ending;

constexpr std::chrono::seconds kWaitForRuntime{60};
constexpr std::chrono::seconds kStartUp{2};   // a started command has few methods before
constexpr std::uint64_t kMethodNames = 0x30;  // JIT and NGEN, of a rundown

// Before .NET 9 a runtime writes its whole rundown or none.
std::uint64_t rundown_for(const Process& process, const RecordRequest& request,
                          std::uint64_t wanted) {
  if (!request.rundown || wanted == 0) return 0;
  const auto major = parse_number(process.runtime.substr(0, process.runtime.find('.'))).value_or(0);
  return major >= 9 ? wanted : ipc::kDefaultRundown;
}

ipc::SessionConfig session_config(const RecordRequest& request, const EventSelection& providers,
                                  const Process& process) {
  ipc::SessionConfig config{
      .buffer_mb = request.buffer_mb,
      .rundown_keyword = rundown_for(process, request, providers.rundown_keyword),
      .providers = {}};
  for (const auto& one : providers.providers) config.providers.push_back(one.provider);
  return config;
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

// A file that stayed empty because nothing could be recorded is not left behind.
void remove_if_empty(const std::string& path, int output) {
  struct stat status {};
  if (path != "-" && ::fstat(output, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size == 0)
    ::unlink(path.c_str());
}

// A pid of another namespace would be somebody else's here.
PerfGrant grant_for(const Process& process) {
  if (!process.foreign) return perf_grant(process.pid);
  return {.detail = fmt::format("{} is in another pid namespace", process.name),
          .hint = "share the pid namespace: shareProcessNamespace in a pod"};
}

Result<RecordSummary> record_target(const RecordRequest& request, const EventSelection& providers,
                                    Target& target, RecordSummary summary, int output,
                                    const RecordWatcher& watcher) {
  auto [session, filter] = TRY(collect::start_filtered(
      *target.endpoint, session_config(request, providers, target.process)));
  if (request.resume) TRY(resume(target));
  if (watcher.on_start) watcher.on_start(target.process, providers);

  // A session that ends while .NET 10 waits at its start makes it crash.
  const bool waits = target.suspended && !request.resume;
  std::optional<collect::EarlyNames> early;
  if (request.rundown && (providers.rundown_keyword & kMethodNames) != 0 && !waits)
    early.emplace(*target.endpoint, folder_of(summary.file),
                  target.suspended ? kStartUp : std::chrono::seconds{0});
  std::optional<collect::StoppingEvent> stopping;
  if (request.stopping_event) stopping.emplace(*request.stopping_event);
  collect::RecordingWriter writer{recording_file(request, summary.file, output), filter};
  const bool names_meanwhile = early && !request.last;  // of the last seconds they would go too
  collect::HitAddresses hit;
  nettrace::V4Blocks names;

  summary.outcome = TRY(collect::record_stream({
      .runtime = *target.endpoint,
      .session = std::move(session),
      .pid = target.process.foreign ? 0 : target.process.pid,
      .write = [&](Bytes blocks) { return writer.write(blocks); },
      .limits = {.duration = request.duration, .max_size = request.max_size},
      .stop_fds = request.stop_fds,
      .file_bytes = [&] { return writer.file_bytes(); },
      .insert =
          [&](std::uint64_t offset, std::int64_t ticks) {
            if (!names_meanwhile) return std::vector<std::uint8_t>{};
            early->want(hit.take_new());
            for (const auto& name : early->take_found()) names.add(name.event());
            return names.take(offset, ticks);
          },
      .on_stop = [&] { writer.on_stop(); },
      .on_status =
          [&](const collect::StreamStatus& status) {
            writer.on_status();
            auto told = status;
            told.samples = summary.samples;
            told.events = writer.kept_events().value_or(told.events);
            if (watcher.on_status) watcher.on_status(told);
          },
      .on_batch =
          [&](const nettrace::Batch& batch, const nettrace::Reader& reader) {
            summary.samples += static_cast<std::uint64_t>(
                std::ranges::count_if(batch.events, collect::is_runtime_sample));
            if (names_meanwhile) hit.add(batch, reader);
            return stopping && stopping->found_in(batch, reader);
          },
  }));
  summary.outcome.summary.events += names.events();
  summary.events = summary.outcome.summary.events;
  summary.lost = summary.outcome.summary.lost;
  add_written(summary, TRY(writer.finish(summary.outcome, early ? &*early : nullptr)));
  return summary;
}

}  // namespace

collect::RecordingFile recording_file(const RecordRequest& request, const std::string& path,
                                      int output) {
  return {.path = path,
          .folder = folder_of(path),
          .fd = output,
          .packing = packing_of(request),
          .last = request.last};
}

void add_written(RecordSummary& summary, const collect::WrittenFile& written) {
  summary.bytes = written.bytes;
  if (written.events) summary.events = *written.events;
  if (!written.rewritten) return;
  summary.events = written.rewritten->events;
  summary.lost = written.rewritten->lost;
  summary.samples = written.rewritten->samples;
  summary.rewritten = written.reason;
}

std::span<const std::string_view> names_of(RecordEnding) {
  static constexpr std::string_view kNames[] = {"duration",
                                                "size",
                                                "signal",
                                                "event",
                                                "target ended",
                                                "target died",
                                                "target does not answer",
                                                "write failed"};
  return kNames;
}

RecordEnding ending_of(const RecordSummary& summary) {
  using collect::StopReason;
  switch (summary.outcome.ending) {
    case Ending::kAsked:
      switch (summary.outcome.stopped_by.value_or(StopReason::kSignal)) {
        case StopReason::kDuration:
          return RecordEnding::kDuration;
        case StopReason::kSize:
          return RecordEnding::kSize;
        case StopReason::kSignal:
          return RecordEnding::kSignal;
        case StopReason::kEvent:
          return RecordEnding::kEvent;
        case StopReason::kTargetEnded:
          return RecordEnding::kTargetEnded;
      }
      return RecordEnding::kSignal;
    case Ending::kTargetEnded:
      return RecordEnding::kTargetEnded;
    case Ending::kTargetDied:
      return RecordEnding::kTargetDied;
    case Ending::kNoAnswer:
      return RecordEnding::kNoAnswer;
    case Ending::kWriteFailed:
      return RecordEnding::kWriteFailed;
  }
  return RecordEnding::kSignal;
}

bool is_session_limit(const Error& error) { return ipc::is_session_limit(error); }

Result<RecordSummary> record(const RecordRequest& request, const RecordWatcher& asker) {
  TRY(check_words(request.providers));
  if (request.last && request.max_size)
    return fail(Errc::kUsage, "both --last and --max-size given")
        .hint("leave out --max-size; --last already limits the file");
  Target target;
  if (request.whole_machine)
    target.process = {.pid = 0, .name = "machine", .user = ""};
  else
    target = TRY(find_target(request.target, kWaitForRuntime,
                             request.stop_fds.empty() ? -1 : request.stop_fds[0]));
  // What has just started, or waits for us, has no time before.
  const bool runs = !target.suspended && !target.child && !target.process.foreign;
  ProgramMeter meter{request.measure_cost && runs ? target.process.pid : 0};
  auto watcher = asker;
  std::optional<collect::perf::Counting> counting;
  std::optional<collect::perf::Counts> counts;
  if (request.count) {
    if (target.process.foreign)
      return fail(Errc::kUnsupported,
                  "{} is in another pid namespace: its counters are unavailable",
                  target.process.name)
          .hint("share the pid namespace: shareProcessNamespace in a pod");
    counting = TRY(collect::perf::Counting::start(target.process.pid));
  }
  watcher.on_start = [&](const Process& process, const EventSelection& providers) {
    meter.start();
    if (counting) counting->restart();
    if (asker.on_start) asker.on_start(process, providers);
  };
  watcher.on_status = [&](const collect::StreamStatus& status) {
    if (status.phase == collect::Phase::kRecording)
      meter.stop();
    else if (counting && !counts)
      counts = counting->read();
    if (asker.on_status) asker.on_status(status);
  };
  auto grant = grant_for(target.process);
  const auto agents = TRY(choose_sampler({.sampler = request.sampler,
                                          .may_load_agent = request.may_load_agent,
                                          .whole_machine = request.whole_machine,
                                          .rate = request.rate},
                                         request.providers, target, grant));
  const auto plan = TRY(plan_recording(request.providers, grant));
  if (watcher.on_plan) watcher.on_plan(plan);

  RecordSummary summary{
      .file = request.output_fd >= 0
                  ? "-"
                  : expand_output(request.output, target.process,
                                  request.compress ? ".nettrace.zst" : ".nettrace"),
      .process = target.process,
      .outcome = {}};
  if (request.compress && request.output_fd < 0)
    summary.file = compressed_name(std::move(summary.file));
  const auto path = summary.file;
  const auto output = request.output_fd >= 0
                          ? UniqueFd{::fcntl(request.output_fd, F_DUPFD_CLOEXEC, 3)}
                          : TRY(open_output(path));
  meter.await_before(request.stop_fds);
  auto recorded = plan.kernel || plan.agent || request.whole_machine
                      ? record_with_kernel(request, plan, target, agents.all(), std::move(summary),
                                           output.get(), watcher)
                      : record_target(request, plan.selection, target, std::move(summary),
                                      output.get(), watcher);
  if (!recorded) {
    remove_if_empty(path, output.get());
    return recorded;
  }
  std::ranges::copy(agents.notes, std::back_inserter(recorded->notes));
  recorded->child = std::move(target.child);
  recorded->program_cost = meter.cost();
  if (counting) recorded->counts = counts ? std::move(counts) : counting->read();
  add_own_cost(*recorded);
  return recorded;
}

}  // namespace clrscope::ops
