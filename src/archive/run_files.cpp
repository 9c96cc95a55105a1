#include "archive/run_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "archive/server_mark.h"
#include "base/json_reader.h"
#include "base/private_folder.h"

namespace clrscope::archive {
namespace {

constexpr std::size_t kLargestNote = 1 << 20;
constexpr std::size_t kLargestProfile = 64 << 20;
constexpr std::uint64_t kProfilesInLimit = 32;
constexpr std::string_view kNote = ".json", kProfile = ".profile.json", kText = ".txt";

// As it lies in its file.
struct StoredRun {
  RequestRunAnswer run{};
  bool foreign = false, has_profile = false;
  std::int64_t started_unix_ms = 0, updated_unix_ms = 0;
  ServerMark server{};  // while it runs
};
const Shape& shape_of(const StoredRun*) {
  using S = StoredRun;
  static const auto shape = describe<S>(
      "StoredRequestRun", "A profile of HTTP requests, as stored in the state folder",
      {members_of<&S::run>(),
       member<&S::foreign>("foreign", "whether its pid is in another pid namespace"),
       member<&S::has_profile>("hasProfile", "whether there is a file with what it found"),
       member<&S::started_unix_ms>("startedUnixMs", "start, milliseconds since 1970"),
       member<&S::updated_unix_ms>("updatedUnixMs", "time of its numbers, likewise"),
       members_of<&S::server>()});
  return shape;
}

std::int64_t unix_ms(WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}
WallTime wall_time(std::uint64_t unix_ms) {
  return WallTime{std::chrono::milliseconds{static_cast<std::int64_t>(unix_ms)}};
}

RequestRun run_of(const JsonValue& json) {
  RequestRun out{.id = text_at(json, "id"),
                 .state = value_named<RunState>(text_at(json, "state")).value_or(RunState::kFailed),
                 .started = wall_time(count_at(json, "startedUnixMs")),
                 .include = texts_at(json, "include"),
                 .exclude = texts_at(json, "exclude"),
                 .planned = ms_at(json, "plannedMs"),
                 .by = text_at(json, "by"),
                 .updated = wall_time(count_at(json, "updatedUnixMs")),
                 .ending = value_named<RunEnding>(text_at(json, "ending")),
                 .duration = ms_at(json, "durationMs"),
                 .seen = count_at(json, "seen"),
                 .sampled = count_at(json, "sampled"),
                 .on_disk = truth_at(json, "hasProfile")};
  if (const auto* process = json.find("process")) {
    out.process.pid = static_cast<pid_t>(count_at(*process, "pid"));
    out.process.uid = text_at(*process, "uid");
    out.process.name = text_at(*process, "name");
    out.process.runtime = text_at(*process, "runtime");
  }
  out.process.foreign = truth_at(json, "foreign");
  if (json.find("probability")) out.probability = number_at(json, "probability");
  if (const auto error = text_at(json, "error"); !error.empty())
    out.error = Error{.code = Errc::kSystem, .what = error, .hint = text_at(json, "hint")};
  return out;
}

// It ran when its server ended.
void cut(RequestRun& run) {
  run.ending = RunEnding::kServerStopped;
  run.state = run.on_disk ? RunState::kFinished : RunState::kFailed;
  if (!run.on_disk)
    run.error = Error{.code = Errc::kGone,
                      .what = "cut: the server stopped before the profile had data",
                      .hint = "profile the requests again"};
}

}  // namespace

RunFiles::RunFiles(const ArchiveSettings& settings)
    : settings_(settings), folder_(state_folder_path(settings.folder), "requests") {}

RunFiles::Contents RunFiles::contents_of(const RequestRun& run) const {
  Contents out;
  StoredRun stored{.run = answer_of(run),
                   .foreign = run.process.foreign,
                   .has_profile = run.has_profile(),
                   .started_unix_ms = unix_ms(run.started),
                   .updated_unix_ms = unix_ms(run.updated)};
  if (run.running()) stored.server = mark_of_this_server();
  if (run.profile) {
    out.profile = json_text(*run.profile);
    if (out.profile.size() >
        std::min<std::uint64_t>(kLargestProfile, settings_.disk_limit / kProfilesInLimit)) {
      auto routes = *run.profile;
      routes.requests.clear();
      out.profile = json_text(routes);
    }
    out.text = text_of(*run.profile);
  }
  out.note = json_text(stored);
  return out;
}

Result<> RunFiles::write(const std::string& id, const Contents& contents) const {
  const int folder = TRY(folder_.make());
  if (!contents.profile.empty()) {
    TRY(replace_private_file(folder, id + std::string{kProfile}, contents.profile));
    TRY(replace_private_file(folder, id + std::string{kText}, contents.text));
  }
  return replace_private_file(folder, id + std::string{kNote}, contents.note);
}

std::vector<RequestRun> RunFiles::load() const {
  std::vector<RequestRun> out;
  const auto folder = folder_.open();
  if (!folder) return out;
  for (const auto& name : folder_.names()) {
    if (!name.ends_with(kNote) || name.ends_with(kProfile)) continue;
    const auto text = read_private_file(*folder, name, kLargestNote);
    const auto json = text ? read_json(*text) : fail(Errc::kNotFound, "{}", name);
    if (!json || other_server_lives(*json)) continue;
    auto run = run_of(*json);
    if (run.id + std::string{kNote} != name || !settings_.visible.shows_earlier(run.process))
      continue;
    if (run.running()) {
      cut(run);
      (void)save(run);
    }
    run.bytes = bytes_of(run.id);
    out.push_back(std::move(run));
  }
  std::ranges::sort(out, std::greater{}, &RequestRun::started);
  return out;
}

Result<std::string> RunFiles::read(const std::string& file) const {
  return read_private_file(TRY(folder_.open()), file, kLargestProfile);
}

Result<std::string> RunFiles::profile_json(const std::string& id) const {
  return read(id + std::string{kProfile});
}

Result<std::string> RunFiles::profile_text(const std::string& id) const {
  return read(id + std::string{kText});
}

std::uint64_t RunFiles::bytes_of(const std::string& id) const {
  std::uint64_t sum = 0;
  const auto folder = folder_.open();
  if (!folder) return sum;
  for (const auto ending : {kNote, kProfile, kText}) {
    struct stat status {};
    if (::fstatat(*folder, (id + std::string{ending}).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      sum += static_cast<std::uint64_t>(status.st_size);
  }
  return sum;
}

void RunFiles::remove(const std::string& id) const {
  const auto folder = folder_.open();
  if (!folder) return;
  for (const auto ending : {kNote, kProfile, kText})
    (void)::unlinkat(*folder, (id + std::string{ending}).c_str(), 0);
}

}  // namespace clrscope::archive
