#include "archive/request_runs.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"

namespace clrscope::archive {
namespace {

constexpr std::size_t kMostOpened = 20;
constexpr std::chrono::seconds kWanted{10};
constexpr std::chrono::milliseconds kLook{50};
constexpr std::chrono::seconds kSaveEvery{10};
constexpr std::uint64_t kPartOfDisk = 4;  // one of so many parts of the disk limit

std::size_t spans_of(const RequestRun& run) {
  std::size_t sum = 0;
  if (run.profile)
    for (const auto& one : run.profile->requests) sum += one.spans.size();
  return sum;
}

bool has(const std::vector<ops::ProfiledRequest>& all, const ops::ProfiledRequest& wanted) {
  return std::ranges::any_of(all, [&](const auto& one) {
    return one.trace_id == wanted.trace_id && one.started == wanted.started;
  });
}

Failure no_such(const std::string& id) {
  return fail(Errc::kNotFound, "profile {} does not exist any more", id)
      .hint("GET /requests/runs lists those that are kept; clrscope requests -o FILE keeps one");
}

RunLimits within(RunLimits limits, const ArchiveSettings& settings) {
  limits.bytes = std::min(limits.bytes, settings.disk_limit / kPartOfDisk);
  return limits;
}

void take_profile(RequestRun& run, ops::RequestProfile profile) {
  run.duration = profile.duration;
  run.seen = profile.seen;
  run.sampled = profile.sampled;
  run.profile = std::make_shared<const ops::RequestProfile>(std::move(profile));
  run.updated = wall_now();
}

}  // namespace

std::vector<std::string> surplus(const std::vector<RequestRun>& all, const RunLimits& limits) {
  std::vector<std::string> out;
  std::size_t kept = static_cast<std::size_t>(std::ranges::count_if(all, &RequestRun::running));
  std::size_t spans = 0;
  std::uint64_t bytes = 0;
  for (const auto& run : all)
    if (run.running()) bytes += run.bytes;
  bool is_newest = true;
  for (const auto& run : all) {
    if (run.running()) continue;
    const auto more = spans_of(run);
    const bool has_room = spans + more <= limits.spans && bytes + run.bytes <= limits.bytes;
    if (kept >= limits.kept || (!is_newest && !has_room)) {
      out.push_back(run.id);
      continue;
    }
    is_newest = false;
    ++kept;
    spans += more;
    bytes += run.bytes;
  }
  return out;
}

void RequestRuns::Run::ask_to_stop() {
  kept.with([](Kept& now) {
    if (now.run.running()) now.run.state = RunState::kStopping;
  });
  const std::uint64_t word = 1;
  (void)!::write(stop_event.get(), &word, sizeof word);
}

RequestRuns::RequestRuns(Operations& operations, Recordings& recordings,
                         const ArchiveSettings& settings, RunLimits limits)
    : operations_(operations),
      recordings_(recordings),
      limits_(within(limits, settings)),
      files_(settings) {
  auto earlier = files_.load();
  runs_.with([&](auto& runs) {
    for (auto& one : earlier) {
      auto kept = std::make_shared<Run>(recordings_);
      kept->bytes = one.bytes;
      kept->share.count(one.bytes);
      kept->kept.with([&](Kept& now) { now.run = std::move(one); });
      runs.push_back(std::move(kept));
    }
  });
  (void)take_surplus();
}

RequestRuns::~RequestRuns() {
  const auto all = runs_.with([](auto& runs) { return std::exchange(runs, {}); });
  for (const auto& one : all) {
    one->is_cut = true;
    one->ask_to_stop();
  }
}

// Without room on the disk it is kept in memory only.
void RequestRuns::save(Run& run, const RequestRun& now) {
  if (run.is_discarded) return;
  const auto contents = files_.contents_of(now);
  const auto before = run.bytes.exchange(contents.bytes());
  (void)take_surplus();  // never this one: it runs as long as it is saved
  auto saved = run.share.resize(contents.bytes());
  if (saved)
    saved = files_.write(now.id, contents);
  else
    run.bytes = before;
  if (!saved) log(LogLevel::kWarning, "profile {} is not on disk: {}", now.id, saved.error().what);
}

Result<RequestRuns::Started> RequestRuns::start(ops::ProfileRequest request, const Process& process,
                                                const std::string& by) {
  auto made = std::make_shared<Run>(recordings_);
  const RequestRun view{.id = new_guid(),
                        .started = wall_now(),
                        .process = process,
                        .include = request.include,
                        .exclude = request.exclude,
                        .probability = request.sampling.probability,
                        .planned = request.listen.duration,
                        .by = by,
                        .updated = wall_now()};
  made->kept.with([&](Kept& now) { now.run = view; });
  made->stop_event.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::optional<RequestRun> other;
  std::size_t running = 0;
  runs_.with([&](auto& runs) {
    for (const auto& one : runs) {
      auto known = one->kept.with([](const Kept& now) { return now.run; });
      if (!known.running()) continue;
      ++running;
      if (known.process.pid == process.pid && known.process.uid == process.uid)
        other = std::move(known);
    }
    if (!other && running < limits_.running) runs.push_front(made);
  });
  if (other) return Started{.run = *std::move(other), .is_new = false};
  if (running >= limits_.running)
    return fail(Errc::kBusy, "{} profiles of requests run already", running)
        .hint(
            "the limit \"request profiles\"; GET /requests/runs lists them; POST "
            "/requests/runs/ID/stop ends one");
  const std::weak_ptr<Run> weak = made;
  const auto conclude = [weak] {
    if (const auto run = weak.lock()) run->ask_to_stop();
  };
  made->operation = operations_.begin({.id = view.id,
                                       .kind = "requests",
                                       .process = process,
                                       .stop = conclude,
                                       .cancel = conclude});
  save(*made, view);  // with it, old ones may go
  made->thread = std::jthread([this, run = made.get(), request = std::move(request)]() mutable {
    profile(*run, std::move(request));
  });
  return Started{.run = view};
}

void RequestRuns::profile(Run& run, ops::ProfileRequest request) {
  const int stop_fds[] = {run.stop_event.get()};
  request.listen.stop_fds = stop_fds;
  bool exited = false;
  const auto keep = [&](ops::RequestProfile profile, Kept& now, bool is_last) {
    if (is_last || !profile.requests.empty())
      for (const auto& one : now.opened)
        if (!has(profile.requests, one)) profile.requests.push_back(one);
    take_profile(now.run, std::move(profile));
  };
  TraceTime save_at = TraceClock::now();  // from then on
  ops::ProfileWatcher watcher;
  watcher.on_start = [&] {
    run.kept.with([](Kept& now) {
      if (now.run.state == RunState::kStarting) now.run.state = RunState::kRunning;
    });
  };
  watcher.on_status = [&](const ops::RequestProfile& profile) {
    const auto now = run.kept.with([&](Kept& all) {
      keep(profile, all, false);
      return all.run;
    });
    if (TraceClock::now() < save_at) return;
    save(run, now);
    save_at = TraceClock::now() + kSaveEvery;
  };
  watcher.wants_requests = [&] {
    return TraceClock::now() >= save_at ||
           run.kept.with([](const Kept& now) { return TraceClock::now() < now.wanted_until; });
  };
  watcher.on_exit = [&] { exited = true; };
  auto done = ops::profile_requests(request, watcher);
  auto last = run.kept.with([&](Kept& now) {
    if (!done) return now.run;
    keep(*std::move(done), now, true);
    return now.run;
  });
  if (done) {
    last.ending = exited                              ? RunEnding::kExited
                  : run.is_cut                        ? RunEnding::kServerStopped
                  : last.state == RunState::kStopping ? RunEnding::kStopped
                                                      : RunEnding::kDuration;
    last.state = RunState::kFinished;
  } else {
    if (!last.profile) last.updated = wall_now();
    last.error = std::move(done.error());
    last.state = RunState::kFailed;
  }
  save(run, last);
  run.kept.with([&](Kept& now) { now.run = last; });
  if (last.error)
    run.operation->fail(last.error->what);
  else
    run.operation->succeed("/requests/runs/" + last.id);
}

std::vector<RequestRuns::RunPointer> RequestRuns::take_surplus() {
  std::vector<RunPointer> out;
  const auto ids = surplus(list(), limits_);
  runs_.with([&](auto& runs) {
    for (auto at = runs.begin(); at != runs.end();) {
      const auto id = (*at)->kept.with([](const Kept& now) { return now.run.id; });
      if (std::ranges::find(ids, id) == ids.end()) {
        ++at;
        continue;
      }
      out.push_back(*at);
      at = runs.erase(at);
    }
  });
  for (const auto& id : ids) files_.remove(id);
  return out;
}

Result<RequestRun> RequestRuns::wait(const std::string& id, const std::function<bool()>& gone) {
  for (;;) {
    auto run = TRY(find(id));
    if (!run.running()) return run;
    if (gone()) {
      TRY(remove(id));
      return fail(Errc::kGone, "the client stopped waiting");
    }
    std::this_thread::sleep_for(kLook);
  }
}

std::vector<RequestRun> RequestRuns::list() const {
  return runs_.with([](const auto& runs) {
    std::vector<RequestRun> out;
    for (const auto& one : runs) {
      out.push_back(one->kept.with([](const Kept& now) { return now.run; }));
      out.back().bytes = one->bytes;
    }
    return out;
  });
}

std::uint64_t RequestRuns::bytes() const {
  return runs_.with([](const auto& runs) {
    std::uint64_t sum = 0;
    for (const auto& one : runs) sum += one->bytes;
    return sum;
  });
}

RequestRuns::RunPointer RequestRuns::pointer(const std::string& id) const {
  return runs_.with([&](const auto& runs) -> RunPointer {
    for (const auto& one : runs)
      if (one->kept.with([&](const Kept& now) { return now.run.id == id; })) return one;
    return nullptr;
  });
}

Result<RequestRun> RequestRuns::find(const std::string& id) const {
  const auto run = pointer(id);
  if (!run) return no_such(id);
  return run->kept.with([](const Kept& now) { return now.run; });
}

Result<RequestRun> RequestRuns::find_with_requests(const std::string& id,
                                                   const std::string& trace_id) {
  const auto run = pointer(id);
  if (!run) return no_such(id);
  return run->kept.with([&](Kept& now) {
    if (!now.run.running()) return now.run;
    now.wanted_until = TraceClock::now() + kWanted;
    if (now.run.profile && !trace_id.empty())
      for (const auto& one : now.run.profile->requests)
        if (one.trace_id.starts_with(trace_id) && now.opened.size() < kMostOpened &&
            !has(now.opened, one))
          now.opened.push_back(one);
    return now.run;
  });
}

Result<> RequestRuns::stop(const std::string& id) {
  const auto run = pointer(id);
  if (!run) return no_such(id);
  run->ask_to_stop();
  return {};
}

Result<> RequestRuns::remove(const std::string& id) {
  const auto run = pointer(id);
  if (!run) return no_such(id);
  run->is_discarded = true;
  run->ask_to_stop();
  const auto taken = runs_.with([&](auto& runs) { return runs.remove(run); });
  if (taken > 0 && run->thread.joinable()) run->thread.join();
  files_.remove(id);
  return {};
}

Result<std::string> RequestRuns::profile_json(const RequestRun& run) const {
  return run.profile ? json_text(*run.profile) : files_.profile_json(run.id);
}

Result<std::string> RequestRuns::profile_text(const RequestRun& run) const {
  return run.profile ? text_of(*run.profile) : files_.profile_text(run.id);
}

}  // namespace clrscope::archive
