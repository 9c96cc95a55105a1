#include "http/recordings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/io.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/private_folder.h"
#include "base/proc.h"
#include "base/text.h"
#include "http/operations.h"
#include "http/processes.h"
#include "http/record_thread.h"

namespace clrscope::http {
namespace {

constexpr std::uint64_t kLeastFree = 32 << 20;  // of the disk: less is full
constexpr std::size_t kLargestNote = 1 << 20;
constexpr std::uint64_t kStep = 1 << 20;  // shares grow by
constexpr std::string_view kScratch = "scratch.";
constexpr int kTries = 5;  // to make a folder that another serve sweeps away at that moment

std::uint64_t free_bytes(const FolderInState& folder) {
  struct statvfs disk {};
  const auto held = folder.open();
  if (!held || ::fstatvfs(*held, &disk) != 0) return ~std::uint64_t{0};
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
    : setting_(setting), folder_(state_folder_path(setting.folder), "recordings") {
  sweep();
  load();
}

Recordings::~Recordings() {
  scratch_.with([&](Scratch& scratch) {
    const auto folder = folder_.path_of(scratch.name);
    std::error_code none;
    if (scratch.folder && folder) std::filesystem::remove_all(*folder, none);
  });
}

// What a serve that was killed left: its scratch folder, which nobody locks any more, and files of
// versions that had none.
void Recordings::sweep() const {
  for (const auto& name : folder_.names()) {
    const auto path = folder_.path_of(name);
    if (!path) return;
    const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
    const bool scratch = name.starts_with(kScratch);
    if (!scratch && !ends(".upload") && !ends(".part") && !ends(".dmp") &&
        name.find(".part.") == std::string::npos)
      continue;
    const UniqueFd held{::open(path->c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
    if (!held || (scratch && ::flock(held.get(), LOCK_EX | LOCK_NB) != 0)) continue;
    std::error_code none;
    const auto count = std::filesystem::remove_all(*path, none);
    log(LogLevel::kInfo, "{}/{} was left by a clrscope that was killed; {} files removed",
        folder_.text(), name, count);
  }
}

Result<std::string> Recordings::scratch_path(std::string_view ending) {
  const int folder = TRY(folder_.make());
  return scratch_.with([&](Scratch& scratch) -> Result<std::string> {
    struct stat there {};
    const auto usable = [&] {
      return scratch.folder && ::fstat(scratch.folder.get(), &there) == 0 && there.st_nlink > 0;
    };
    // Another serve may remove it before it is locked: once more, then.
    for (int tries = 0; !usable(); ++tries) {
      scratch.name = std::string{kScratch} + new_guid();
      const auto made = ::mkdirat(folder, scratch.name.c_str(), kFolderMode) == 0;
      if (made)
        scratch.folder.reset(::openat(folder, scratch.name.c_str(),
                                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (!made || !scratch.folder || ::flock(scratch.folder.get(), LOCK_EX | LOCK_NB) != 0) {
        const auto why = errno;
        scratch.folder.reset();
        if (tries < kTries && made && why != EMFILE && why != ENFILE) continue;
        return fail(errc_of(why), "cannot make {}/{}: {}", folder_.text(), scratch.name,
                    errno_text(why));
      }
    }
    return fmt::format("/proc/self/fd/{}/{}{}", scratch.folder.get(), new_guid(), ending);
  });
}

std::string Recordings::path_of(const std::string& id) const {
  return folder_.path_of(id + ".nettrace").value_or("");
}

void Recordings::load() {
  const auto folder = folder_.open();
  if (!folder) return;
  for (const auto& name : folder_.names()) {
    if (!name.ends_with(".json")) continue;
    const auto text = read_private_file(*folder, name, kLargestNote);
    if (!text) continue;
    const auto json = read_json(*text);
    if (!json) continue;
    auto one = recording_of(*json);
    if (one.id + ".json" != name || recorder_lives(*json)) continue;
    one.path = path_of(one.id);
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
  return replace_private_file(TRY(folder_.make()), recording.id + ".json", json.text());
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
  running += shares_.with([](std::uint64_t bytes) { return bytes; });
  const auto free = free_bytes(folder_);
  const auto limit = setting_.disk_limit > running ? setting_.disk_limit - running : 0;
  return std::min(limit, free > kLeastFree ? free - kLeastFree : 0);
}

Failure Recordings::no_room() const {
  return fail(Errc::kNoRoom, "no room in {}: the limit \"disk\" is {}", folder_.text(),
              format_bytes(setting_.disk_limit))
      .hint(
          "{} are free on the disk; stop a session, remove recordings, free some space, or give "
          "serve a larger --disk-limit",
          format_bytes(free_bytes(folder_)));
}

Result<> Recordings::make_room(std::uint64_t least) {
  (void)TRY(folder_.make());
  return shares_.with(
      [&](std::uint64_t& shares) { return fit(shares, least, Share::Kind::kKept, {}); });
}

// With the lock of shares_ held: removes the oldest until so many bytes more have room.
Result<> Recordings::fit(std::uint64_t shares, std::uint64_t more, Share::Kind kind,
                         const std::string& in_use) {
  const bool passing = kind == Share::Kind::kPassing;
  for (;;) {
    std::uint64_t used = shares + more;
    std::optional<Recording> oldest;
    for (const auto& one : every()) {
      used += one.state == "recording" ? file_size(one.path) : one.bytes;
      if (one.state != "recording" && one.id != in_use) oldest = one;  // the newest come first
    }
    const bool disk_has_room = free_bytes(folder_) >= kLeastFree + more;
    if (used <= setting_.disk_limit && disk_has_room) return {};
    const bool may_go = !passing || (disk_has_room && shares + more <= setting_.disk_limit / 4);
    if (!oldest || !may_go) return no_room();
    log(LogLevel::kWarning, "recording {} ({}) was removed to make room", oldest->id,
        oldest->title);
    TRY(discard(oldest->id));
  }
}

Recordings::Share::Share(Recordings& all, Kind kind, std::string in_use)
    : all_(all), kind_(kind), in_use_(std::move(in_use)) {}

Recordings::Share::~Share() {
  all_.shares_.with([&](std::uint64_t& shares) { shares -= reserved_; });
}

Result<> Recordings::Share::grow(std::uint64_t bytes) {
  used_ += bytes;
  if (used_ <= reserved_) return {};
  const auto more = (used_ - reserved_ + kStep - 1) / kStep * kStep;
  return all_.shares_.with([&](std::uint64_t& shares) -> Result<> {
    TRY(all_.fit(shares, more, kind_, in_use_));
    shares += more;
    reserved_ += more;
    return {};
  });
}

Result<Recording> Recordings::begin(Recording recording) {
  TRY(make_room());
  if (recording.id.empty()) recording.id = new_guid();
  recording.path = path_of(recording.id);
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
  if (const auto folder = folder_.open()) ::unlinkat(*folder, (id + ".json").c_str(), 0);
  return {};
}

Recordings::Upload::~Upload() {
  if (!path.empty()) ::unlink(path.c_str());
}

Result<> Recordings::Upload::write(std::string_view bytes) {
  auto done = share.grow(bytes.size());
  if (done) done = write_all(fd.get(), as_bytes(bytes));
  if (!done) error = done.error();
  return done;
}

Result<std::shared_ptr<Recordings::Upload>> Recordings::upload() {
  TRY(make_room());
  auto out = std::make_shared<Upload>(*this);
  auto path = TRY(scratch_path(".upload"));
  out->fd.reset(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  if (!out->fd) return fail(errc_of(errno), "cannot write in {}: {}", folder_.text(), errno_text());
  out->path = std::move(path);
  out->room = room();
  return out;
}

}  // namespace clrscope::http
