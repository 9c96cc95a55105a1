#include "archive/sessions.h"

#include <fmt/format.h>

#include <condition_variable>

#include "archive/file_name.h"

namespace clrscope::archive {
namespace {

constexpr std::chrono::seconds kLease{600};
constexpr std::chrono::milliseconds kCheckInterval{200};
constexpr std::chrono::milliseconds kIdleInterval{1000};  // nothing is recorded
constexpr std::chrono::seconds kStartTime{60};

}  // namespace

const Shape& shape_of(const SessionAnswer*) {
  using S = SessionAnswer;
  static const auto shape = describe<S>(
      "Session", "A recording that a client started, and whether it still runs",
      {members_of<&S::recording>(), member<&S::running>("running", "whether it still records"),
       member<&S::planned>("plannedMs", "requested duration; absent: until it is stopped"),
       member<&S::lease>("leaseSeconds",
                         "time without requests after which it is stopped; absent: it runs to its "
                         "end"),
       member<&S::lease_left>("leaseLeftSeconds", "time until it is stopped")});
  return shape;
}

SessionAnswer answer_of(const SessionView& session) {
  SessionAnswer answer{.recording = answer_of(session.recording), .running = session.running};
  if (session.running) {
    answer.planned = session.planned;
    answer.lease = session.lease;
    answer.lease_left = session.lease_left;
  }
  return answer;
}

Sessions::Sessions(Recordings& recordings, Operations& operations)
    : recordings_(recordings),
      operations_(operations),
      watcher_([this](const std::stop_token& stop) { watch_leases(stop); }) {}

Sessions::~Sessions() {
  watcher_.request_stop();
  watcher_.join();
  const auto all = all_.with([](auto& sessions) { return std::exchange(sessions, {}); });
  for (const auto& [id, session] : all) session->thread->stop(StopCause::kShutdown);
}

SessionView Sessions::view_of(const Session& session) const {
  SessionView view{.recording = session.recording,
                   .running = true,
                   .planned = session.planned,
                   .lease = session.lease};
  const auto state = session.thread->state();
  take_state(view.recording, state);
  view.recording.state = !state.started                                ? RecordingState::kStarting
                         : state.status.phase == ops::Phase::kStopping ? RecordingState::kStopping
                                                                       : RecordingState::kRecording;
  if (auto kept = recordings_.find(session.recording.id)) view.recording.name = kept->name;
  const auto asked = session.asked.with([](const auto& when) { return when; });
  if (session.lease)
    view.lease_left =
        std::max(asked + *session.lease - TraceClock::now(), std::chrono::nanoseconds{0});
  return view;
}

Sessions::Shared Sessions::running(const std::string& id) const {
  return all_.with([&](const auto& all) -> Shared {
    const auto found = all.find(id);
    return found == all.end() || found->second->thread->state().ended ? nullptr : found->second;
  });
}

Result<SessionView> Sessions::start(const SessionRequest& request, ops::RecordRequest record,
                                    const Process& process, const std::string& by) {
  auto session = std::make_shared<Session>();
  session->recording = TRY(recordings_.begin({.kind = RecordingKind::kSession,
                                              .title = dated_name(process.name, ".nettrace"),
                                              .process = process,
                                              .profile = request.profile,
                                              .by = by}));
  const auto id = session->recording.id;
  session->planned = request.duration;
  if (request.lease || !request.duration) session->lease = request.lease.value_or(kLease);
  session->asked.with([](auto& when) { when = TraceClock::now(); });
  record.output = session->recording.path;
  record.max_size = recordings_.room();
  if (request.duration) record.duration = *request.duration;
  session->operation = operations_.begin({.id = id,
                                          .kind = "session",
                                          .process = process,
                                          .tags = request.tags,
                                          .stop =
                                              [this, id] {
                                                if (const auto one = running(id))
                                                  one->thread->stop(StopCause::kStopped);
                                              },
                                          .cancel = [this, id] { (void)discard(id); }});
  auto* raw = session.get();
  session->thread = std::make_unique<RecordThread>(
      std::move(record), [this, raw](const RecordState& state) { ended(*raw, state); });
  all_.with([&](auto& all) { all.emplace(id, session); });
  if (!session->thread->wait_started(kStartTime)) session->thread->stop(StopCause::kNotStarted);
  const auto state = session->thread->state();
  if (state.started) return view_of(*session);
  session->thread->wait_ended(kStartTime);
  const auto failed = session->thread->state();
  all_.with([&](auto& all) { all.erase(id); });
  return fail(failed.error.value_or(Error{Errc::kTimeout, "the recording did not start"}));
}

// On the recorder's thread.
void Sessions::ended(Session& session, const RecordState& state) {
  auto recording = session.recording;
  take_state(recording, state);
  const bool unwanted = session.unwanted.with([](bool value) { return value; });
  if (!state.started || unwanted) {
    (void)recordings_.discard(recording.id);
    session.operation->fail(state.error ? state.error->what : "it was discarded");
    return;
  }
  const auto saved = recordings_.finish(std::move(recording));
  if (state.error || !saved)
    session.operation->fail(state.error ? state.error->what : saved.error().what);
  else
    session.operation->succeed("/recordings/" + session.recording.id);
}

std::vector<SessionView> Sessions::list() const {
  std::vector<SessionView> out;
  for (auto& recording : recordings_.list()) {
    if (recording.kind != RecordingKind::kSession) continue;
    if (const auto session = running(recording.id))
      out.push_back(view_of(*session));
    else
      out.push_back({.recording = std::move(recording)});
  }
  return out;
}

std::size_t Sessions::count() const {
  return all_.with([](const auto& all) { return all.size(); });
}

Result<SessionView> Sessions::find(const std::string& id, bool renew) {
  if (const auto session = running(id)) {
    if (renew) session->asked.with([](auto& when) { when = TraceClock::now(); });
    return view_of(*session);
  }
  auto recording = recordings_.find(id);
  if (!recording || recording->kind != RecordingKind::kSession)
    return fail(Errc::kNotFound, "session {} does not exist", id).hint("GET /sessions lists them");
  return SessionView{.recording = *std::move(recording)};
}

Result<> Sessions::stop(const std::string& id) {
  if (const auto session = running(id))
    session->thread->stop(StopCause::kStopped);
  else
    (void)TRY(find(id, false));
  return {};
}

Result<> Sessions::discard(const std::string& id) {
  if (const auto session = running(id)) {
    session->unwanted.with([](bool& value) { value = true; });
    session->thread->stop(StopCause::kDiscarded);
    session->thread->wait_ended(kStartTime);
    all_.with([&](auto& all) { all.erase(id); });
    (void)recordings_.discard(id);  // it may have ended just before
    return {};
  }
  const auto view = TRY(find(id, false));
  return recordings_.discard(view.recording.id);
}

// Ends those that nobody asks about, and lets go of those that have ended.
void Sessions::watch_leases(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    std::unique_lock lock{mutex};
    const bool idle = all_.with([](const auto& all) { return all.empty(); });
    wake.wait_for(lock, stop, idle ? kIdleInterval : kCheckInterval, [] { return false; });
    std::vector<Shared> over;  // joined outside of the lock
    all_.with([&](auto& all) {
      for (auto at = all.begin(); at != all.end();) {
        auto& session = *at->second;
        if (session.thread->state().ended) {
          over.push_back(at->second);
          at = all.erase(at);
          continue;
        }
        const auto asked = session.asked.with([](const auto& when) { return when; });
        if (session.lease && TraceClock::now() - asked > *session.lease)
          session.thread->stop(StopCause::kLease);
        ++at;
      }
    });
  }
}

}  // namespace clrscope::archive
