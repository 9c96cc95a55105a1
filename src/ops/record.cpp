#include "ops/record.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/io.h"
#include "base/text.h"
#include "collect/eventpipe/early_names.h"
#include "collect/eventpipe/event_filter.h"
#include "collect/eventpipe/flight_ring.h"
#include "collect/eventpipe/hit_addresses.h"
#include "collect/eventpipe/rewrite.h"
#include "ipc/session_limit.h"
#include "nettrace/convert.h"
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
std::uint64_t rundown_for(const Process& process, const RecordWish& wish, std::uint64_t wanted) {
  if (!wish.rundown || wanted == 0) return 0;
  const auto major = parse_number(process.runtime.substr(0, process.runtime.find('.'))).value_or(0);
  return major >= 9 ? wanted : ipc::kDefaultRundown;
}

ipc::SessionConfig session_config(const RecordWish& wish, const Wish& providers,
                                  const Process& process) {
  ipc::SessionConfig config{
      .buffer_mb = wish.buffer_mb,
      .rundown_keyword = rundown_for(process, wish, providers.rundown_keyword),
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

bool is_regular_file(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

// Names from the end of a recording are missing when the target was gone by then.
bool ended_without_names(const collect::StreamOutcome& outcome) {
  return outcome.ending == Ending::kTargetDied || outcome.ending == Ending::kNoAnswer;
}

Result<> take_rewritten(RecordSummary& summary, const Result<collect::RewriteSummary>& rewritten,
                        std::string why) {
  if (!rewritten) return fail(rewritten.error());
  summary.bytes = rewritten->bytes;
  summary.events = rewritten->events;
  summary.lost = rewritten->lost;
  summary.samples = rewritten->samples;
  summary.rewritten = std::move(why);
  return {};
}

// What a ring keeps, or a filter lets through, is written anew.
nettrace::TraceVersion output_version(const RecordWish& wish, const collect::EventFilter& filter) {
  return wish.last || !filter.empty() ? nettrace::TraceVersion::kV6 : nettrace::TraceVersion::kV4;
}

// The recording as it will be kept: the runtime's bytes, or made anew from them.
class Keeper {
 public:
  Keeper(const RecordWish& wish, const std::string& file, int output, collect::EventFilter filter)
      : file_(file),
        fd_(output),
        output_(output, packing_of(wish), output_version(wish, filter)),
        filter_(std::move(filter)),
        last_(wish.last) {
    if (last_)
      ring_.emplace(folder_of(file), *last_);
    else if (!filter_.empty())
      converter_.emplace([this](Bytes bytes) { return output_.write(bytes); },
                         [this](const Event& event) { return filter_.keeps(*event.type); });
  }

  Result<> write(Bytes blocks) {
    if (ring_) return ring_->add(blocks);
    return converter_ ? converter_->feed(blocks) : output_.write(blocks);
  }
  void on_stop() {
    stopped_ = TraceClock::now();
    if (ring_) ring_->freeze();
  }
  void on_status() {
    if (converter_) (void)converter_->flush();
    if (!ring_) (void)output_.tick();  // the next write fails too, and is looked at
  }
  std::uint64_t file_bytes() const { return output_.bytes(); }
  // Of those that came, so many are kept; nothing: all of them.
  std::optional<std::uint64_t> kept_events() const {
    if (!converter_) return std::nullopt;
    return converter_->writer() ? converter_->writer()->summary().events : 0;
  }

  Result<> finish(RecordSummary& summary, collect::EarlyNames* early) {
    const auto& outcome = summary.outcome;
    const bool unnamed = ended_without_names(outcome);
    const auto names = early && unnamed ? early->take() : collect::EarlyNames::Traces{};
    if (ring_) {
      const auto newest = stopped_ ? *stopped_ : TraceClock::now();
      return take_rewritten(
          summary,
          collect::rewrite_to(output_,
                              {.feed = [&](const auto& take) { return ring_->replay(take); },
                               .early_names = names,
                               .oldest = newest - *last_,
                               .filter = &filter_}),
          fmt::format("only the last {} are kept", format_duration(*last_)));
    }
    const bool failed = outcome.ending == Ending::kWriteFailed;
    if (converter_ && !failed) {
      TRY(converter_->finish());
      TRY(output_.finish());
    } else if (!failed) {
      TRY(outcome.summary.ended || outcome.unreadable ? output_.finish() : output_.finish_early());
    }
    summary.bytes = output_.bytes();
    summary.events = kept_events().value_or(outcome.summary.events);
    summary.lost = outcome.summary.lost;
    if (names.empty() || file_ == "-" || !is_regular_file(fd_)) return {};
    return take_rewritten(
        summary,
        collect::rewrite_file(
            file_, output_.packed() ? nettrace::Packing::kZstd : nettrace::Packing::kPlain, names),
        "method names taken early were added");
  }

 private:
  std::string file_;
  int fd_;
  nettrace::TraceOutput output_;
  collect::EventFilter filter_;
  std::optional<nettrace::Converter> converter_;
  std::optional<std::chrono::nanoseconds> last_;
  std::optional<collect::FlightRing> ring_;
  std::optional<TraceTime> stopped_;
};

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

Result<RecordSummary> record_target(const RecordWish& wish, const Wish& providers, Target& target,
                                    RecordSummary summary, int output,
                                    const RecordWatcher& watcher) {
  auto [session, filter] = TRY(
      collect::start_filtered(*target.endpoint, session_config(wish, providers, target.process)));
  if (wish.resume) TRY(resume(target));
  if (watcher.on_start) watcher.on_start(target.process, providers);

  // A session that ends while .NET 10 waits at its start makes it crash.
  const bool waits = target.suspended && !wish.resume;
  std::optional<collect::EarlyNames> early;
  if (wish.rundown && (providers.rundown_keyword & kMethodNames) != 0 && !waits)
    early.emplace(*target.endpoint, folder_of(summary.file),
                  target.suspended ? kStartUp : std::chrono::seconds{0});
  std::optional<collect::StoppingEvent> stopping;
  if (wish.stopping_event) stopping.emplace(*wish.stopping_event);
  Keeper keeper{wish, summary.file, output, filter};
  const bool names_meanwhile = early && !wish.last;  // of the last seconds they would go too
  collect::HitAddresses hit;
  nettrace::V4Blocks names;

  summary.outcome = TRY(collect::record_stream({
      .runtime = *target.endpoint,
      .session = std::move(session),
      .pid = target.process.foreign ? 0 : target.process.pid,
      .write = [&](Bytes blocks) { return keeper.write(blocks); },
      .limits = {.duration = wish.duration, .max_size = wish.max_size},
      .stop_fds = wish.stop_fds,
      .file_bytes = [&] { return keeper.file_bytes(); },
      .insert =
          [&](std::uint64_t offset, std::int64_t ticks) {
            if (!names_meanwhile) return std::vector<std::uint8_t>{};
            early->want(hit.take_new());
            for (const auto& name : early->take_found()) names.add(name.event());
            return names.take(offset, ticks);
          },
      .on_stop = [&] { keeper.on_stop(); },
      .on_status =
          [&](const collect::StreamStatus& status) {
            keeper.on_status();
            auto told = status;
            told.samples = summary.samples;
            told.events = keeper.kept_events().value_or(told.events);
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
  TRY(keeper.finish(summary, early ? &*early : nullptr));
  return summary;
}

}  // namespace

std::string ending_text(const RecordSummary& summary) {
  switch (summary.outcome.ending) {
    case Ending::kAsked:
      return summary.outcome.asked_by;
    case Ending::kTargetEnded:
      return "target ended";
    case Ending::kTargetDied:
      return "target died";
    case Ending::kNoAnswer:
      return "target does not answer";
    case Ending::kWriteFailed:
      return "write failed";
  }
  return "";
}

bool is_session_limit(const Error& error) { return ipc::is_session_limit(error); }

Result<RecordSummary> record(const RecordWish& wish, const RecordWatcher& asker) {
  TRY(check_words(wish.providers));
  if (wish.last && wish.max_size)
    return fail(Errc::kUsage, "--last and --max-size together")
        .hint("--last bounds the file already");
  Target target;
  if (wish.whole_machine)
    target.process = {.pid = 0, .name = "machine", .user = ""};
  else
    target = TRY(
        find_target(wish.target, kWaitForRuntime, wish.stop_fds.empty() ? -1 : wish.stop_fds[0]));
  // What has just started, or waits for us, has no time before.
  const bool runs = !target.suspended && !target.child && !target.process.foreign;
  ProgramMeter meter{wish.measure_cost && runs ? target.process.pid : 0};
  auto watcher = asker;
  std::optional<collect::perf::Counting> counting;
  std::optional<collect::perf::Counts> counts;
  if (wish.count) {
    if (target.process.foreign)
      return fail(Errc::kUnsupported,
                  "{} is in another pid namespace: nothing of it is counted here",
                  target.process.name)
          .hint("share the pid namespace: shareProcessNamespace in a pod");
    counting = TRY(collect::perf::Counting::start(target.process.pid));
  }
  watcher.on_start = [&](const Process& process, const Wish& providers) {
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
  const auto plan = TRY(plan_recording(wish.providers, grant_for(target.process)));
  if (watcher.on_plan) watcher.on_plan(plan);

  RecordSummary summary{.file = wish.output_fd >= 0
                                    ? "-"
                                    : expand_output(wish.output, target.process,
                                                    wish.compress ? ".nettrace.zst" : ".nettrace"),
                        .process = target.process,
                        .outcome = {}};
  if (wish.compress && wish.output_fd < 0) summary.file = compressed_name(std::move(summary.file));
  const auto path = summary.file;
  const auto output = wish.output_fd >= 0 ? UniqueFd{::fcntl(wish.output_fd, F_DUPFD_CLOEXEC, 3)}
                                          : TRY(open_output(path));
  meter.await_before(wish.stop_fds);
  auto recorded =
      plan.kernel || wish.whole_machine
          ? record_with_kernel(wish, plan, target, std::move(summary), output.get(), watcher)
          : record_target(wish, plan.wish, target, std::move(summary), output.get(), watcher);
  if (!recorded) {
    remove_if_empty(path, output.get());
    return recorded;
  }
  recorded->child = std::move(target.child);
  recorded->program_cost = meter.cost();
  if (counting) recorded->counts = counts ? std::move(counts) : counting->read();
  add_own_cost(*recorded);
  return recorded;
}

}  // namespace clrscope::ops
