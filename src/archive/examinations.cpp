#include "archive/examinations.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "answer/text.h"
#include "base/io.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/private_folder.h"
#include "ops/doctor_document.h"

namespace clrscope::archive {
namespace {

constexpr std::size_t kKept = 200;
constexpr std::size_t kLargestReport = 64 << 20;
constexpr std::chrono::milliseconds kLook{200};

Visit visit_of(const JsonValue& json) {
  Visit visit{.id = text_at(json, "id"),
              .state = value_named<VisitState>(text_at(json, "state")).value_or(VisitState::kLost),
              .started = text_at(json, "started")};
  if (const auto* process = json.find("process")) {
    visit.process.pid = static_cast<pid_t>(count_at(*process, "pid"));
    visit.process.uid = text_at(*process, "uid");
    visit.process.name = text_at(*process, "name");
    visit.process.runtime = text_at(*process, "runtime");
  }
  visit.took = ms_at(json, "durationMs");
  visit.findings = count_at(json, "findings");
  visit.verdict = text_at(json, "verdict");
  visit.finding = text_at(json, "finding");
  visit.severity = text_at(json, "severity");
  visit.error = text_at(json, "error");
  visit.by = text_at(json, "by");
  visit.process.foreign = truth_at(json, "foreign");
  return visit;
}

// As it lies in its file.
struct StoredVisit {
  VisitAnswer visit{};
  bool foreign = false;
};
const Shape& shape_of(const StoredVisit*) {
  static const auto shape = describe<StoredVisit>(
      "StoredExamination", "An examination, as stored in the state folder",
      {members_of<&StoredVisit::visit>(),
       member<&StoredVisit::foreign>("foreign", "whether its pid is in another pid namespace")});
  return shape;
}

std::string stored_text(const Visit& visit) {
  return json_text(StoredVisit{answer_of(visit), visit.process.foreign}) + "\n";
}

bool is_shown(const ArchiveSettings& settings, const Visit& visit) {
  return !visit.earlier || settings.visible.shows_earlier(visit.process);
}

}  // namespace

std::span<const std::string_view> names_of(VisitState) {
  static constexpr std::string_view kNames[] = {"running", "finished", "failed", "lost"};
  return kNames;
}

const Shape& shape_of(const VisitAnswer*) {
  using V = VisitAnswer;
  static const auto shape =
      describe<V>("ExaminationSummary", "One run of the doctor on a process",
                  {member<&V::id>("id", "id of the report"),
                   member<&V::state>("state", "lost: clrscope ended while it ran"),
                   member<&V::started>("started", "start of the examination, ISO 8601"),
                   member<&V::process>("process", "examined process"),
                   member<&V::duration>("durationMs", "duration of the examination"),
                   member<&V::findings>("findings", "number of findings"),
                   member<&V::verdict>("verdict", "title of the first finding; empty if none"),
                   member<&V::finding>("finding", "id of the first finding"),
                   member<&V::severity>("severity", "severity of the first finding"),
                   member_unless_empty<&V::error>("error", "why it failed"),
                   member<&V::by>("by", "name of the caller that requested it")});
  return shape;
}

VisitAnswer answer_of(const Visit& visit) {
  return {.id = visit.id,
          .state = visit.state,
          .started = visit.started,
          .process = reference_to(visit.process),
          .duration = visit.took,
          .findings = visit.findings,
          .verdict = visit.verdict,
          .finding = visit.finding,
          .severity = visit.severity,
          .error = visit.error,
          .by = visit.by};
}

Examinations::Examinations(const ArchiveSettings& settings, Operations& operations)
    : settings_(settings),
      folder_(state_folder_path(settings.folder), "reports"),
      operations_(operations) {
  for (const auto& name : folder_.names()) {
    if (!name.ends_with(".json") || name.ends_with(".report.json")) continue;
    const auto text = read(name, 1 << 20);
    if (!text) continue;
    const auto json = read_json(*text);
    if (!json) continue;
    auto visit = visit_of(*json);
    if (visit.id + ".json" != name) continue;
    if (visit.state == VisitState::kRunning) visit.state = VisitState::kLost;
    visit.earlier = true;
    visits_.with([&](auto& visits) { visits.emplace(visit.id, visit); });
  }
}

Examinations::~Examinations() {
  const auto all = running_.with([](auto& running) { return std::exchange(running, {}); });
  for (const auto& one : all) {
    const std::uint64_t word = 1;
    (void)!::write(one->stop.get(), &word, sizeof word);
  }
}

Result<std::string> Examinations::read(const std::string& name, std::size_t limit) const {
  return read_private_file(TRY(folder_.open()), name, limit);
}

Result<> Examinations::write(const std::string& name, std::string_view text) const {
  return replace_private_file(TRY(folder_.make()), name, text);
}

void Examinations::forget_ended() {
  std::vector<std::shared_ptr<Running>> over;  // joined outside of the lock
  running_.with([&](auto& running) {
    for (auto at = running.begin(); at != running.end();) {
      const auto visit = find((*at)->id);
      if (visit && visit->state == VisitState::kRunning) {
        ++at;
        continue;
      }
      over.push_back(*at);
      at = running.erase(at);
    }
  });
}

std::size_t Examinations::running() const {
  return visits_.with([](const auto& visits) {
    return static_cast<std::size_t>(std::ranges::count_if(
        visits, [](const auto& one) { return one.second.state == VisitState::kRunning; }));
  });
}

Result<Visit> Examinations::start(ops::ExamineRequest request, const Process& process,
                                  const std::string& by) {
  forget_ended();
  (void)TRY(folder_.make());
  auto running = std::make_shared<Running>();
  running->id = new_guid();
  running->stop.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const std::weak_ptr<Running> weak = running;
  const auto conclude = [weak] {
    const std::uint64_t word = 1;
    if (const auto one = weak.lock()) (void)!::write(one->stop.get(), &word, sizeof word);
  };
  running->operation = operations_.begin({.id = running->id,
                                          .kind = "doctor",
                                          .process = process,
                                          .stop = conclude,
                                          .cancel = conclude});
  const Visit visit{.id = running->id,
                    .state = VisitState::kRunning,
                    .started = iso8601(wall_now()),
                    .process = process,
                    .by = by};
  keep(visit);
  running_.with([&](auto& all) { all.push_back(running); });
  running->thread =
      std::jthread([this, id = visit.id, request = std::move(request), stop = running->stop.get(),
                    operation = running->operation.get()]() mutable {
        run(id, std::move(request), stop);
        const auto ended = find(id);
        if (ended && ended->error.empty())
          operation->succeed("/doctor/reports/" + id);
        else
          operation->fail(ended ? ended->error : "its report was deleted");
      });
  return visit;
}

void Examinations::run(const std::string& id, ops::ExamineRequest request, int stop) {
  const int stop_fds[] = {stop};
  request.stop_fds = stop_fds;
  const auto done = ops::examine(request, {});
  auto visit = find(id);
  if (!visit) return;
  if (!done) {
    visit->state = VisitState::kFailed;
    visit->error = done.error().what;
    return keep(*std::move(visit));
  }
  visit->state = VisitState::kFinished;
  visit->took = done->took;
  visit->process.runtime =
      done->process.runtime.empty() ? visit->process.runtime : done->process.runtime;
  visit->findings = done->diagnosis.reports.size();
  if (!done->diagnosis.reports.empty()) {
    const auto& first = done->diagnosis.reports.front();
    visit->verdict = first.title;
    visit->finding = first.id;
    visit->severity = name_of(first.severity);
  }
  const auto wrote = write(id + ".report.json", ops::to_json(*done));
  const auto wrote_text = write(id + ".txt", answer::page_text(ops::doctor_document(*done)));
  if (!wrote || !wrote_text) {
    visit->state = VisitState::kFailed;
    visit->error = (wrote ? wrote_text : wrote).error().what;
  }
  keep(*std::move(visit));
}

void Examinations::keep(Visit visit) {
  if (const auto wrote = write(visit.id + ".json", stored_text(visit)); !wrote)
    log_error(wrote.error());
  visits_.with([&](auto& visits) { visits[visit.id] = std::move(visit); });
  auto all = every();
  while (all.size() > kKept && all.back().state != VisitState::kRunning) {
    erase(all.back().id);
    all.pop_back();
  }
}

Result<Visit> Examinations::wait(const std::string& id, const std::function<bool()>& gone) {
  for (;;) {
    auto visit = TRY(find(id));
    if (visit.state != VisitState::kRunning) return visit;
    if (gone()) return fail(Errc::kGone, "the client stopped waiting");
    std::this_thread::sleep_for(kLook / 4);
  }
}

std::vector<Visit> Examinations::every() const {
  auto out = visits_.with([](const auto& visits) {
    std::vector<Visit> copy;
    for (const auto& [id, visit] : visits) copy.push_back(visit);
    return copy;
  });
  std::ranges::sort(out, [](const auto& a, const auto& b) { return a.started > b.started; });
  return out;
}

std::vector<Visit> Examinations::list() const {
  auto out = every();
  std::erase_if(out, [&](const Visit& visit) { return !is_shown(settings_, visit); });
  return out;
}

Result<Visit> Examinations::find(const std::string& id) const {
  auto found = visits_.with([&](const auto& visits) -> std::optional<Visit> {
    const auto at = visits.find(id);
    if (at == visits.end()) return std::nullopt;
    return at->second;
  });
  if (!found || !is_shown(settings_, *found))
    return fail(Errc::kNotFound, "report {} does not exist", id)
        .hint("GET /doctor/reports lists the reports");
  return *std::move(found);
}

Result<std::string> Examinations::report(const std::string& id) const {
  (void)TRY(find(id));  // the name of a file comes from outside
  return read(id + ".report.json", kLargestReport);
}

Result<std::string> Examinations::text(const std::string& id) const {
  (void)TRY(find(id));
  return read(id + ".txt", kLargestReport);
}

Result<> Examinations::remove(const std::string& id) {
  const auto visit = TRY(find(id));
  if (visit.state == VisitState::kRunning) return fail(Errc::kUsage, "it is not finished yet");
  erase(id);
  return {};
}

void Examinations::erase(const std::string& id) {
  visits_.with([&](auto& visits) { visits.erase(id); });
  const auto folder = folder_.open();
  if (!folder) return;
  for (const auto* ending : {".json", ".report.json", ".txt"})
    ::unlinkat(*folder, (id + ending).c_str(), 0);
}

}  // namespace clrscope::archive
