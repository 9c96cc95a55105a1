#include "archive/recordings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "archive/operations.h"
#include "archive/record_thread.h"
#include "archive/server_mark.h"
#include "base/io.h"
#include "base/json_reader.h"
#include "base/log.h"
#include "base/private_folder.h"
#include "base/text.h"

namespace clrscope::archive {
namespace {

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

Recording recording_of(const JsonValue& json) {
  Recording out{
      .id = text_at(json, "id"),
      .kind = value_named<RecordingKind>(text_at(json, "kind")).value_or(RecordingKind::kTrace),
      .state = value_named<RecordingState>(text_at(json, "state")).value_or(RecordingState::kLost),
      .title = text_at(json, "file"),
      .name = text_at(json, "name")};
  if (const auto* process = json.find("process")) {
    out.process.pid = static_cast<pid_t>(count_at(*process, "pid"));
    out.process.uid = text_at(*process, "uid");
    out.process.name = text_at(*process, "name");
    out.process.runtime = text_at(*process, "runtime");
  }
  out.process.foreign = truth_at(json, "foreign");
  out.profile = text_at(json, "profile");
  out.providers = texts_at(json, "providers");
  out.sampling = text_at(json, "sampling");
  out.started = text_at(json, "started");
  out.duration = ms_at(json, "durationMs");
  out.bytes = count_at(json, "bytes");
  out.events = count_at(json, "events");
  out.samples = count_at(json, "samples");
  out.lost = count_at(json, "lost");
  out.ending = text_at(json, "ending");
  out.notes = texts_at(json, "notes");
  out.by = text_at(json, "by");
  return out;
}

std::uint64_t bytes_of(const Recording& one) {
  return one.state == RecordingState::kRecording ? file_size(one.path) : one.bytes;
}

bool is_shown(const ArchiveSettings& settings, const Recording& recording) {
  return !recording.earlier || settings.visible.shows_earlier(recording.process);
}

// As it lies in its file.
struct StoredRecording {
  RecordingAnswer recording{};
  bool foreign = false;
  ServerMark server{};  // while it is recorded
};
const Shape& shape_of(const StoredRecording*) {
  using S = StoredRecording;
  static const auto shape =
      describe<S>("StoredRecording", "A recording, as stored in the state folder",
                  {members_of<&S::recording>(),
                   member<&S::foreign>("foreign", "whether its pid is in another pid namespace"),
                   members_of<&S::server>()});
  return shape;
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
  recording.duration = state.status.elapsed;
  recording.bytes = state.status.bytes;
  recording.events = state.status.events;
  recording.samples = state.status.samples;
  recording.lost = state.status.lost;
  recording.ending = state.ending;
  recording.notes = state.notes;
  if (state.error) recording.notes.push_back(state.error->what);
}

std::span<const std::string_view> names_of(RecordingKind) {
  static constexpr std::string_view kNames[] = {"session", "trace", "upload", "heap"};
  return kNames;
}

std::span<const std::string_view> names_of(RecordingState) {
  static constexpr std::string_view kNames[] = {"starting", "recording", "stopping", "finished",
                                                "lost"};
  return kNames;
}

const Shape& shape_of(const RecordingAnswer*) {
  using R = RecordingAnswer;
  static const auto shape =
      describe<R>("Recording", "A trace or heap snapshot that is kept",
                  {member<&R::id>("id", "id of the recording; also of the session that made it"),
                   member<&R::kind>("kind", "what made it"),
                   member<&R::state>("state", "lost: clrscope ended while it recorded"),
                   member<&R::file>("file", "name under which it is downloaded"),
                   member_unless_empty<&R::name>("name", "name that was given to it"),
                   member<&R::process>("process", "recorded process"),
                   member<&R::profile>("profile", "requested profiles"),
                   member<&R::providers>("providers", "enabled event providers"),
                   member<&R::sampling>("sampling", "how CPU samples were taken"),
                   member<&R::started>("started", "start of the recording, ISO 8601"),
                   member<&R::duration>("durationMs", "length of the recording"),
                   member<&R::bytes>("bytes", Unit::kBytes, "size of the trace"),
                   member<&R::events>("events", "events in the trace"),
                   member<&R::samples>("samples", "CPU samples in the trace"),
                   member<&R::lost>("lost", "events that were lost"),
                   member<&R::ending>("ending", "why it ended; empty while it runs"),
                   member<&R::notes>("notes", "notes on what is missing and why"),
                   member<&R::by>("by", "name of the caller that requested it")});
  return shape;
}

RecordingAnswer answer_of(const Recording& r) {
  return {.id = r.id,
          .kind = r.kind,
          .state = r.state,
          .file = r.title,
          .name = r.name,
          .process = reference_to(r.process),
          .profile = r.profile,
          .providers = r.providers,
          .sampling = r.sampling,
          .started = r.started,
          .duration = r.duration,
          .bytes = r.bytes,
          .events = r.events,
          .samples = r.samples,
          .lost = r.lost,
          .ending = r.ending,
          .notes = r.notes,
          .by = r.by};
}

Recordings::Recordings(const ArchiveSettings& settings)
    : settings_(settings), folder_(state_folder_path(settings.folder), "recordings") {
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
        return fail(errc_of(why), "cannot create {}/{}: {}", folder_.text(), scratch.name,
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
    if (one.id + ".json" != name || other_server_lives(*json)) continue;
    one.path = path_of(one.id);
    one.earlier = true;
    if (one.state == RecordingState::kRecording) {
      one.state = RecordingState::kLost;
      one.ending = "cut: the server stopped while it recorded";
      one.bytes = file_size(one.path);
      (void)save(one);
    }
    all_.with([&](auto& all) { all.emplace(one.id, one); });
  }
}

Result<> Recordings::save(const Recording& recording) const {
  StoredRecording stored{.recording = answer_of(recording), .foreign = recording.process.foreign};
  if (recording.state == RecordingState::kRecording) stored.server = mark_of_this_server();
  return replace_private_file(TRY(folder_.make()), recording.id + ".json", json_text(stored));
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
  std::erase_if(out, [&](const Recording& one) { return !is_shown(settings_, one); });
  return out;
}

Result<Recording> Recordings::find(const std::string& id) const {
  auto found = all_.with([&](const auto& all) -> std::optional<Recording> {
    const auto at = all.find(id);
    if (at == all.end()) return std::nullopt;
    return at->second;
  });
  if (!found || !is_shown(settings_, *found))
    return fail(Errc::kNotFound, "recording {} does not exist", id)
        .hint("GET /recordings lists the recordings");
  return *std::move(found);
}

std::uint64_t Recordings::room() const {
  std::uint64_t running = 0;
  for (const auto& one : every())
    if (one.state == RecordingState::kRecording) running += file_size(one.path);
  running += shares_.with([](const Reserved& reserved) { return reserved.sum(); });
  const auto free = free_bytes(folder_);
  const auto limit = settings_.disk_limit > running ? settings_.disk_limit - running : 0;
  return std::min(limit, free > settings_.least_free ? free - settings_.least_free : 0);
}

std::uint64_t Recordings::used() const {
  std::uint64_t bytes = 0;
  for (const auto& one : every()) bytes += bytes_of(one);
  return bytes;
}

Failure Recordings::no_room() const {
  return fail(Errc::kNoRoom, "no room in {}: the limit \"disk\" is {}", folder_.text(),
              format_bytes(settings_.disk_limit))
      .hint(
          "{} are free on the disk; stop a session, remove recordings, free some space, or give "
          "serve a larger --disk-limit",
          format_bytes(free_bytes(folder_)));
}

Result<> Recordings::make_room(std::uint64_t least) {
  (void)TRY(folder_.make());
  return shares_.with(
      [&](const Reserved& reserved) { return fit(reserved, least, Share::Kind::kKept, {}); });
}

// With the lock of shares_ held: removes the oldest until so many bytes more have room. None goes
// in vain, where even all of them would not make enough.
Result<> Recordings::fit(const Reserved& reserved, std::uint64_t more, Share::Kind kind,
                         const std::string& in_use) {
  for (;;) {
    std::uint64_t used = reserved.sum() + more, removable = 0;
    std::optional<Recording> oldest;
    for (const auto& one : every()) {
      used += bytes_of(one);
      if (one.state == RecordingState::kRecording || one.id == in_use) continue;
      removable += one.bytes;
      oldest = one;  // the newest come first
    }
    const auto free = free_bytes(folder_), wanted = settings_.least_free + more;
    const bool disk_has_room = free >= wanted;
    if (used <= settings_.disk_limit && disk_has_room) return {};
    const bool suffices =
        used - removable <= settings_.disk_limit && (disk_has_room || wanted - free <= removable);
    // What others put on the disk is made up for only where somebody asked for a recording.
    bool may_go = kind == Share::Kind::kKept || disk_has_room;
    if (kind == Share::Kind::kPassing)
      may_go = may_go && reserved.under_way + more <= settings_.disk_limit / 4;
    if (!oldest || !suffices || !may_go) return no_room();
    log(LogLevel::kWarning, "recording {} ({}) was removed to make room", oldest->id,
        oldest->title);
    TRY(discard(oldest->id));
  }
}

Recordings::Share::Share(Recordings& all, Kind kind, std::string in_use)
    : all_(all), kind_(kind), in_use_(std::move(in_use)) {}

Recordings::Share::~Share() {
  all_.shares_.with([&](Reserved& reserved) { total_of(reserved) -= reserved_; });
}

std::uint64_t& Recordings::Share::total_of(Reserved& reserved) const {
  return kind_ == Kind::kBeside ? reserved.beside : reserved.under_way;
}

Result<> Recordings::Share::grow(std::uint64_t bytes) {
  used_ += bytes;
  if (used_ <= reserved_) return {};
  const auto more = (used_ - reserved_ + kStep - 1) / kStep * kStep;
  return all_.shares_.with([&](Reserved& reserved) -> Result<> {
    TRY(all_.fit(reserved, more, kind_, in_use_));
    total_of(reserved) += more;
    reserved_ += more;
    return {};
  });
}

Result<> Recordings::Share::resize(std::uint64_t bytes) {
  return all_.shares_.with([&](Reserved& reserved) -> Result<> {
    if (bytes > reserved_) TRY(all_.fit(reserved, bytes - reserved_, kind_, in_use_));
    total_of(reserved) += bytes - reserved_;
    used_ = reserved_ = bytes;
    return {};
  });
}

void Recordings::Share::count(std::uint64_t bytes) {
  all_.shares_.with([&](Reserved& reserved) {
    total_of(reserved) += bytes - reserved_;
    used_ = reserved_ = bytes;
  });
}

Result<Recording> Recordings::begin(Recording recording) {
  TRY(make_room());
  if (recording.id.empty()) recording.id = new_guid();
  recording.path = path_of(recording.id);
  recording.state = RecordingState::kRecording;
  recording.started = iso8601(wall_now());
  TRY(save(recording));
  all_.with([&](auto& all) { all[recording.id] = recording; });
  return recording;
}

Result<> Recordings::finish(Recording recording) {
  if (recording.state == RecordingState::kRecording) recording.state = RecordingState::kFinished;
  recording.bytes = file_size(recording.path);
  const std::lock_guard lock{saving_};
  all_.with([&](auto& all) {
    if (const auto named = all.find(recording.id); named != all.end())
      recording.name = named->second.name;  // it may have got one while it was recorded
    all[recording.id] = recording;
  });
  return save(recording);
}

Result<Recording> Recordings::rename(const std::string& id, std::string name) {
  (void)TRY(find(id));
  const std::lock_guard lock{saving_};
  const auto renamed = all_.with([&](auto& all) -> std::optional<Recording> {
    const auto at = all.find(id);
    if (at == all.end()) return std::nullopt;
    at->second.name = std::move(name);
    return at->second;
  });
  if (!renamed) return find(id);  // it went in the meantime
  TRY(save(*renamed));
  return *renamed;
}

Result<> Recordings::discard(const std::string& id) {
  const auto taken = all_.with([&](auto& all) { return all.extract(id); });
  if (!taken) return fail(Errc::kNotFound, "recording {} does not exist", id);
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

}  // namespace clrscope::archive
