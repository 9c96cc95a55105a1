#include "http/sessions.h"

#include <fmt/format.h>

#include <condition_variable>

#include "http/file_answer.h"

namespace clrscope::http {
namespace {

constexpr std::chrono::seconds kLease{600};
constexpr std::chrono::milliseconds kLook{200};
constexpr std::chrono::seconds kStartTime{60};

}  // namespace

void write_session(JsonWriter& json, const SessionView& session) {
  json.begin_object();
  write_recording(json, session.recording);
  json.member("running", session.running).member("elapsedMs", session.recording.duration_ms);
  if (session.running) {
    const auto seconds = [](std::chrono::nanoseconds time) {
      return std::chrono::duration<double>(time).count();
    };
    json.member("leaseSeconds", seconds(session.lease))
        .member("leaseLeftSeconds", seconds(session.lease_left));
  }
  json.end_object();
}

Sessions::Sessions(Recordings& recordings, Operations& operations)
    : recordings_(recordings),
      operations_(operations),
      looker_([this](const std::stop_token& stop) { look(stop); }) {}

Sessions::~Sessions() {
  looker_.request_stop();
  looker_.join();
  const auto all = all_.with([](auto& sessions) { return std::exchange(sessions, {}); });
  for (const auto& [id, session] : all) session->thread->stop("clrscope ends");
}

SessionView Sessions::view_of(const Session& session) const {
  SessionView view{.recording = session.recording, .running = true, .lease = session.lease};
  const auto state = session.thread->state();
  take_state(view.recording, state);
  view.recording.state = !state.started                                    ? "starting"
                         : state.status.phase == collect::Phase::kStopping ? "stopping"
                                                                           : "recording";
  const auto asked = session.asked.with([](const auto& when) { return when; });
  const auto left = asked + session.lease - TraceClock::now();
  view.lease_left = std::max(left, std::chrono::nanoseconds{0});
  return view;
}

Sessions::Shared Sessions::running(const std::string& id) const {
  return all_.with([&](const auto& all) -> Shared {
    const auto found = all.find(id);
    return found == all.end() || found->second->thread->state().ended ? nullptr : found->second;
  });
}

Result<SessionView> Sessions::start(const TraceWish& wish, ops::RecordWish record,
                                    const Process& process, const std::string& by) {
  auto session = std::make_shared<Session>();
  session->recording = TRY(recordings_.begin({.kind = "session",
                                              .title = dated_name(process.name, ".nettrace"),
                                              .process = process,
                                              .profile = wish.profile.value_or(""),
                                              .by = by}));
  const auto id = session->recording.id;
  session->lease = wish.lease_seconds ? std::chrono::seconds{*wish.lease_seconds} : kLease;
  session->asked.with([](auto& when) { when = TraceClock::now(); });
  record.output = session->recording.path;
  record.max_size = recordings_.room();
  if (const auto seconds = wish.duration_seconds.value_or(-1); seconds >= 0)
    record.duration = std::chrono::seconds{seconds};
  session->operation = operations_.begin({.id = id,
                                          .kind = "session",
                                          .process = process,
                                          .tags = wish.tags,
                                          .stop =
                                              [this, id] {
                                                if (const auto one = running(id))
                                                  one->thread->stop("stopped");
                                              },
                                          .cancel = [this, id] { (void)discard(id); }});
  auto* raw = session.get();
  session->thread = std::make_unique<RecordThread>(
      std::move(record), [this, raw](const RecordState& state) { ended(*raw, state); });
  all_.with([&](auto& all) { all.emplace(id, session); });
  if (!session->thread->wait_started(kStartTime)) session->thread->stop("it did not start in time");
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
    if (recording.kind != "session") continue;
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
  if (!recording || recording->kind != "session")
    return fail(Errc::kNotFound, "there is no session {}", id).hint("GET /sessions lists them");
  return SessionView{.recording = *std::move(recording)};
}

Result<> Sessions::stop(const std::string& id) {
  if (const auto session = running(id))
    session->thread->stop("stopped");
  else
    (void)TRY(find(id, false));
  return {};
}

Result<> Sessions::discard(const std::string& id) {
  if (const auto session = running(id)) {
    session->unwanted.with([](bool& value) { value = true; });
    session->thread->stop("discarded");
    session->thread->wait_ended(kStartTime);
    all_.with([&](auto& all) { all.erase(id); });
    (void)recordings_.discard(id);  // it may have ended just before
    return {};
  }
  const auto view = TRY(find(id, false));
  return recordings_.discard(view.recording.id);
}

// Ends those that nobody asks about, and lets go of those that have ended.
void Sessions::look(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested()) {
    std::unique_lock lock{mutex};
    wake.wait_for(lock, stop, kLook, [] { return false; });
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
        if (TraceClock::now() - asked > session.lease) session.thread->stop("lease");
        ++at;
      }
    });
  }
}

}  // namespace clrscope::http
