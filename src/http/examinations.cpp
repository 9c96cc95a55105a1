#include "http/examinations.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/io.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/private_folder.h"
#include "http/processes.h"
#include "ops/doctor_text.h"

namespace clrscope::http {
namespace {

constexpr std::size_t kKept = 200;
constexpr std::size_t kLargestReport = 64 << 20;
constexpr std::chrono::milliseconds kLook{200};

std::string string_of(const JsonValue& json, std::string_view name) {
  const auto* value = json.find(name);
  return value && value->text() ? *value->text() : std::string{};
}

std::int64_t number_of(const JsonValue& json, std::string_view name) {
  const auto* value = json.find(name);
  return value ? value->integer().value_or(0) : 0;
}

Visit visit_of(const JsonValue& json) {
  Visit visit{.id = string_of(json, "id"),
              .state = string_of(json, "state"),
              .started = string_of(json, "started")};
  if (const auto* process = json.find("process")) {
    visit.process.pid = static_cast<pid_t>(number_of(*process, "pid"));
    visit.process.uid = string_of(*process, "uid");
    visit.process.name = string_of(*process, "name");
    visit.process.runtime = string_of(*process, "runtime");
  }
  if (const auto* ms = json.find("tookMs")) visit.took_ms = ms->number().value_or(0);
  visit.findings =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, number_of(json, "findings")));
  visit.verdict = string_of(json, "verdict");
  visit.finding = string_of(json, "finding");
  visit.severity = string_of(json, "severity");
  visit.error = string_of(json, "error");
  visit.by = string_of(json, "by");
  const auto* foreign = json.find("foreign");
  visit.process.foreign = foreign && foreign->boolean().value_or(false);
  return visit;
}

std::string json_of(const Visit& visit) {
  JsonWriter json;
  json.begin_object();
  write_visit(json, visit);
  if (visit.process.foreign) json.member("foreign", true);
  json.end_object();
  return std::move(json).take() + "\n";
}

bool is_shown(const ServeSetting& setting, const Visit& visit) {
  return !visit.earlier || shown_of_earlier(setting, visit.process);
}

}  // namespace

void write_visit(JsonWriter& json, const Visit& visit) {
  json.member("id", visit.id)
      .member("state", visit.state)
      .member("started", visit.started)
      .key("process")
      .begin_object()
      .member("pid", visit.process.pid)
      .member("uid", visit.process.uid)
      .member("name", visit.process.name)
      .member("runtime", visit.process.runtime)
      .end_object()
      .member("tookMs", visit.took_ms)
      .member("findings", visit.findings)
      .member("verdict", visit.verdict)
      .member("finding", visit.finding)
      .member("severity", visit.severity);
  if (!visit.error.empty()) json.member("error", visit.error);
  json.member("by", visit.by);
}

Examinations::Examinations(const ServeSetting& setting, Operations& operations)
    : setting_(setting),
      folder_(state_folder_path(setting.folder), "reports"),
      operations_(operations) {
  for (const auto& name : folder_.names()) {
    if (!name.ends_with(".json") || name.ends_with(".report.json")) continue;
    const auto text = read(name, 1 << 20);
    if (!text) continue;
    const auto json = read_json(*text);
    if (!json) continue;
    auto visit = visit_of(*json);
    if (visit.id + ".json" != name) continue;
    if (visit.state == "running") visit.state = "lost";
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
      if (visit && visit->state == "running") {
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
        visits, [](const auto& one) { return one.second.state == "running"; }));
  });
}

Result<Visit> Examinations::start(ops::ExamineWish wish, const Process& process,
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
                    .state = "running",
                    .started = iso8601(wall_now()),
                    .process = process,
                    .by = by};
  keep(visit);
  running_.with([&](auto& all) { all.push_back(running); });
  running->thread =
      std::jthread([this, id = visit.id, wish = std::move(wish), stop = running->stop.get(),
                    operation = running->operation.get()]() mutable {
        run(id, std::move(wish), stop);
        const auto ended = find(id);
        if (ended && ended->error.empty())
          operation->succeed("/doctor/reports/" + id);
        else
          operation->fail(ended ? ended->error : "its report was removed");
      });
  return visit;
}

void Examinations::run(const std::string& id, ops::ExamineWish wish, int stop) {
  const int stop_fds[] = {stop};
  wish.stop_fds = stop_fds;
  const auto done = ops::examine(wish, {});
  auto visit = find(id);
  if (!visit) return;
  if (!done) {
    visit->state = "failed";
    visit->error = done.error().what;
    return keep(*std::move(visit));
  }
  visit->state = "finished";
  visit->took_ms = std::chrono::duration<double, std::milli>(done->took).count();
  visit->process.runtime =
      done->process.runtime.empty() ? visit->process.runtime : done->process.runtime;
  visit->findings = done->diagnosis.reports.size();
  if (!done->diagnosis.reports.empty()) {
    const auto& first = done->diagnosis.reports.front();
    visit->verdict = first.title;
    visit->finding = first.id;
    visit->severity = name_of(first.severity);
  }
  const auto wrote = write(id + ".report.json", doctor::to_json(*done));
  const auto wrote_text = write(id + ".txt", ops::doctor_text(*done));
  if (!wrote || !wrote_text) {
    visit->state = "failed";
    visit->error = (wrote ? wrote_text : wrote).error().what;
  }
  keep(*std::move(visit));
}

void Examinations::keep(Visit visit) {
  if (const auto wrote = write(visit.id + ".json", json_of(visit)); !wrote)
    log_error(wrote.error());
  visits_.with([&](auto& visits) { visits[visit.id] = std::move(visit); });
  auto all = every();
  while (all.size() > kKept && all.back().state != "running") {
    erase(all.back().id);
    all.pop_back();
  }
}

Result<Visit> Examinations::wait(const std::string& id, const std::function<bool()>& gone) {
  for (;;) {
    auto visit = TRY(find(id));
    if (visit.state != "running") return visit;
    if (gone()) return fail(Errc::kGone, "nobody waits for it");
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
  std::erase_if(out, [&](const Visit& visit) { return !is_shown(setting_, visit); });
  return out;
}

Result<Visit> Examinations::find(const std::string& id) const {
  auto found = visits_.with([&](const auto& visits) -> std::optional<Visit> {
    const auto at = visits.find(id);
    if (at == visits.end()) return std::nullopt;
    return at->second;
  });
  if (!found || !is_shown(setting_, *found))
    return fail(Errc::kNotFound, "there is no report {}", id)
        .hint("GET /doctor/reports lists those there are");
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
  if (visit.state == "running") return fail(Errc::kUsage, "it is not finished yet");
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

}  // namespace clrscope::http
