#include "http/recordings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/io.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/text.h"
#include "http/operations.h"
#include "http/processes.h"
#include "http/record_thread.h"
#include "http/state_folder.h"

namespace clrscope::http {
namespace {

constexpr std::uint64_t kLeastFree = 32 << 20;  // of the disk: less is full
constexpr std::size_t kLargestNote = 1 << 20;

std::uint64_t free_bytes(const std::string& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return ~std::uint64_t{0};
  return std::uint64_t{disk.f_bavail} * disk.f_frsize;
}

std::uint64_t file_size(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

std::string string_of(const JsonValue& json, std::string_view name) {
  const auto* value = json.find(name);
  return value && value->text() ? *value->text() : std::string{};
}

std::uint64_t count_of(const JsonValue& json, std::string_view name) {
  const auto* value = json.find(name);
  const auto number = value ? value->integer() : std::nullopt;
  return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

std::vector<std::string> strings_of(const JsonValue& json, std::string_view name) {
  std::vector<std::string> out;
  const auto* value = json.find(name);
  if (value && value->array())
    for (const auto& one : *value->array())
      if (one.text()) out.push_back(*one.text());
  return out;
}

Recording recording_of(const JsonValue& json) {
  Recording out{.id = string_of(json, "id"),
                .kind = string_of(json, "kind"),
                .state = string_of(json, "state"),
                .title = string_of(json, "file")};
  if (const auto* process = json.find("process")) {
    out.process.pid = static_cast<pid_t>(count_of(*process, "pid"));
    out.process.uid = string_of(*process, "uid");
    out.process.name = string_of(*process, "name");
    out.process.runtime = string_of(*process, "runtime");
  }
  const auto* foreign = json.find("foreign");
  out.process.foreign = foreign && foreign->boolean().value_or(false);
  out.profile = string_of(json, "profile");
  out.providers = strings_of(json, "providers");
  out.sampling = string_of(json, "sampling");
  out.started = string_of(json, "started");
  if (const auto* ms = json.find("durationMs")) out.duration_ms = ms->number().value_or(0);
  out.bytes = count_of(json, "bytes");
  out.events = count_of(json, "events");
  out.samples = count_of(json, "samples");
  out.lost = count_of(json, "lost");
  out.ending = string_of(json, "ending");
  out.notes = strings_of(json, "notes");
  out.by = string_of(json, "by");
  return out;
}

// Whether the clrscope that recorded it still does: another one may share our folder.
bool recorder_lives(const JsonValue& json) {
  const auto pid = static_cast<pid_t>(count_of(json, "recorderPid"));
  if (pid <= 0 || pid == ::getpid()) return false;
  const auto status = proc_status(pid);
  return status && status->start_ticks == count_of(json, "recorderStart");
}

bool is_shown(const ServeSetting& setting, const Recording& recording) {
  return !recording.earlier || shown_of_earlier(setting, recording.process);
}

void write_strings(JsonWriter& json, std::string_view name, const std::vector<std::string>& all) {
  json.key(name).begin_array();
  for (const auto& one : all) json.value(one);
  json.end_array();
}

}  // namespace

void take_state(Recording& recording, const RecordState& state) {
  if (state.process.pid > 0) {
    auto uid = std::move(recording.process.uid);
    recording.process = state.process;
    if (recording.process.uid.empty()) recording.process.uid = std::move(uid);
  }
  recording.providers = state.providers;
  recording.sampling = state.sampling;
  recording.duration_ms = std::chrono::duration<double, std::milli>(state.status.elapsed).count();
  recording.bytes = state.status.bytes;
  recording.events = state.status.events;
  recording.samples = state.status.samples;
  recording.lost = state.status.lost;
  recording.ending = state.ending;
  recording.notes = state.notes;
  if (state.error) recording.notes.push_back(state.error->what);
}

void write_recording(JsonWriter& json, const Recording& r) {
  json.member("id", r.id).member("kind", r.kind).member("state", r.state).member("file", r.title);
  json.key("process")
      .begin_object()
      .member("pid", r.process.pid)
      .member("uid", r.process.uid)
      .member("name", r.process.name)
      .member("runtime", r.process.runtime)
      .end_object();
  json.member("profile", r.profile);
  write_strings(json, "providers", r.providers);
  json.member("sampling", r.sampling)
      .member("started", r.started)
      .member("durationMs", r.duration_ms)
      .member("bytes", r.bytes)
      .member("events", r.events)
      .member("samples", r.samples)
      .member("lost", r.lost)
      .member("ending", r.ending);
  write_strings(json, "notes", r.notes);
  json.member("by", r.by);
}

Recordings::Recordings(const ServeSetting& setting)
    : setting_(setting), folder_(state_folder_path(setting.folder) + "/recordings") {
  load();
}

void Recordings::load() {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator{folder_, none}) {
    const auto path = entry.path();
    if (path.extension() != ".json") continue;
    const auto text = read_file(path.string(), kLargestNote);
    if (!text) continue;
    const auto json = read_json(*text);
    if (!json) continue;
    auto one = recording_of(*json);
    if (one.id != path.stem().string() || recorder_lives(*json)) continue;
    one.path = fmt::format("{}/{}.nettrace", folder_, one.id);
    one.earlier = true;
    if (one.state == "recording") {
      one.state = "lost";
      one.ending = "clrscope ended while it recorded";
      one.bytes = file_size(one.path);
      (void)save(one);
    }
    all_.with([&](auto& all) { all.emplace(one.id, one); });
  }
}

Result<> Recordings::save(const Recording& recording) const {
  JsonWriter json;
  json.begin_object();
  write_recording(json, recording);
  if (recording.process.foreign) json.member("foreign", true);
  if (recording.state == "recording") {
    const auto us = proc_status(::getpid());
    json.member("recorderPid", ::getpid()).member("recorderStart", us ? us->start_ticks : 0);
  }
  json.end_object();
  return replace_file(fmt::format("{}/{}.json", folder_, recording.id), json.text());
}

std::vector<Recording> Recordings::every() const {
  auto out = all_.with([](const auto& all) {
    std::vector<Recording> copy;
    for (const auto& [id, one] : all) copy.push_back(one);
    return copy;
  });
  std::ranges::sort(out, [](const auto& a, const auto& b) { return a.started > b.started; });
  return out;
}

std::vector<Recording> Recordings::list() const {
  auto out = every();
  std::erase_if(out, [&](const Recording& one) { return !is_shown(setting_, one); });
  return out;
}

Result<Recording> Recordings::find(const std::string& id) const {
  auto found = all_.with([&](const auto& all) -> std::optional<Recording> {
    const auto at = all.find(id);
    if (at == all.end()) return std::nullopt;
    return at->second;
  });
  if (!found || !is_shown(setting_, *found))
    return fail(Errc::kNotFound, "there is no recording {}", id)
        .hint("GET /recordings lists those there are");
  return *std::move(found);
}

std::uint64_t Recordings::room() const {
  std::uint64_t running = 0;
  for (const auto& one : every())
    if (one.state == "recording") running += file_size(one.path);
  const auto free = free_bytes(folder_);
  const auto limit = setting_.disk_limit > running ? setting_.disk_limit - running : 0;
  return std::min(limit, free > kLeastFree ? free - kLeastFree : 0);
}

Result<> Recordings::make_room(std::uint64_t least) {
  TRY(make_folder_in_state(folder_));
  for (;;) {
    std::uint64_t used = 0;
    std::optional<Recording> oldest;
    for (const auto& one : every()) {
      used += one.state == "recording" ? file_size(one.path) : one.bytes;
      if (one.state != "recording") oldest = one;  // the list begins with the newest
    }
    if (used + least <= setting_.disk_limit && free_bytes(folder_) >= kLeastFree + least) return {};
    if (!oldest)
      return fail(Errc::kSystem, "no room for one more recording in {}", folder_)
          .hint("its limit is {}, {} are free on the disk; stop a session, or free some space",
                format_bytes(setting_.disk_limit), format_bytes(free_bytes(folder_)));
    log(LogLevel::kWarning, "recording {} ({}) was removed to make room", oldest->id,
        oldest->title);
    TRY(discard(oldest->id));
  }
}

Result<Recording> Recordings::begin(Recording recording) {
  TRY(make_room());
  if (recording.id.empty()) recording.id = new_guid();
  recording.path = fmt::format("{}/{}.nettrace", folder_, recording.id);
  recording.state = "recording";
  recording.started = iso8601(wall_now());
  TRY(save(recording));
  all_.with([&](auto& all) { all[recording.id] = recording; });
  return recording;
}

Result<> Recordings::finish(Recording recording) {
  if (recording.state == "recording") recording.state = "finished";
  recording.bytes = file_size(recording.path);
  auto saved = save(recording);
  all_.with([&](auto& all) { all[recording.id] = std::move(recording); });
  return saved;
}

Result<> Recordings::discard(const std::string& id) {
  const auto taken = all_.with([&](auto& all) { return all.extract(id); });
  if (!taken) return fail(Errc::kNotFound, "there is no recording {}", id);
  ::unlink(taken.mapped().path.c_str());
  ::unlink(fmt::format("{}/{}.json", folder_, id).c_str());
  return {};
}

Recordings::Upload::~Upload() {
  if (!path.empty()) ::unlink(path.c_str());
}

Result<std::shared_ptr<Recordings::Upload>> Recordings::upload() {
  TRY(make_room());
  auto out = std::make_shared<Upload>();
  auto path = fmt::format("{}/{}.upload", folder_, new_guid());
  out->fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!out->fd) return fail(errc_of(errno), "cannot write {}: {}", path, errno_text());
  out->path = std::move(path);
  out->room = room();
  return out;
}

Result<std::string> Recordings::scratch_folder() const {
  TRY(make_folder_in_state(folder_));
  return folder_;
}

}  // namespace clrscope::http
