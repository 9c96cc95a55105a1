// Recordings on disk: ended sessions, traces on request, heap snapshots, uploads.
//
// Each is two files in the state folder: ID.nettrace, whatever its format, and ID.json that
// describes it. At the disk limit the oldest ended recordings are removed first. A recording that
// was running when clrscope was killed is listed as lost; its trace is readable up to that moment.
// Recordings of processes that this server does not show are neither listed nor found. Any thread.
//
// Files of running requests (uploads, conversions, dumps) are in a folder of this server,
// scratch.ID, which is locked while the server runs: the next server removes unlocked ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "archive/process_reference.h"
#include "archive/settings.h"
#include "archive/state_folder.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/shape.h"
#include "model/process.h"

namespace clrscope::archive {

// kHeap: a .gcdump, which is not a trace. An upload may be one, too.
enum class RecordingKind : std::uint8_t { kSession, kTrace, kUpload, kHeap };
std::span<const std::string_view> names_of(RecordingKind);

// kStarting and kStopping are of running sessions only; they are never stored.
enum class RecordingState : std::uint8_t { kStarting, kRecording, kStopping, kFinished, kLost };
std::span<const std::string_view> names_of(RecordingState);

struct Recording {
  std::string id{};
  RecordingKind kind = RecordingKind::kTrace;
  RecordingState state = RecordingState::kRecording;
  std::string path{};   // of the trace
  std::string title{};  // the name under which it is downloaded
  std::string name{};   // that somebody gave it; empty: none
  Process process{};    // pid 0: the machine, or unknown
  std::string profile{};
  std::vector<std::string> providers{};
  std::string sampling{};
  std::string started{};  // ISO 8601
  std::chrono::nanoseconds duration{};
  std::uint64_t bytes = 0, events = 0, samples = 0, lost = 0;
  std::string ending{};
  std::vector<std::string> notes{};
  std::string by{};      // who asked for it
  bool earlier = false;  // an earlier serve kept it: its process may be one that is not shown here
};

struct RecordState;
// What the recorder says of it.
void take_state(Recording& recording, const RecordState& state);

// What answers say of it.
struct RecordingAnswer {
  std::string id{};
  RecordingKind kind{};
  RecordingState state{};
  std::string file{}, name{};
  ProcessReference process{};
  std::string profile{};
  std::vector<std::string> providers{};
  std::string sampling{}, started{};
  std::chrono::nanoseconds duration{};
  std::uint64_t bytes = 0, events = 0, samples = 0, lost = 0;
  std::string ending{};
  std::vector<std::string> notes{};
  std::string by{};
};
const Shape& shape_of(const RecordingAnswer*);
RecordingAnswer answer_of(const Recording& recording);

class Recordings {
 public:
  explicit Recordings(const ArchiveSettings& settings);
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  std::vector<Recording> list() const;  // the newest first
  Result<Recording> find(const std::string& id) const;

  // Makes room for a new one and fills its id, path and start time. Its state is kRecording until
  // finish() or discard().
  Result<Recording> begin(Recording recording);
  Result<> finish(Recording recording);
  // Gives it a name, also while it is recorded; an empty one takes the name away.
  Result<Recording> rename(const std::string& id, std::string name);
  Result<> discard(const std::string& id);  // also of one that is not shown: ask find() first

  struct Reserved {
    std::uint64_t under_way = 0, beside = 0;
    std::uint64_t sum() const { return under_way + beside; }
  };

  // Bytes of files that are not recordings (yet): they count in the disk limit until this ends.
  class Share {
   public:
    // kKept: it will be a recording, so the oldest that have ended go for it. kPassing: they go
    // only as long as all that passes takes less than a quarter of the limit. kBeside: files that
    // are kept elsewhere in the state folder; the oldest recordings go for them, too. For these
    // two they go for the limit alone: on a disk that is full, none.
    enum class Kind : std::uint8_t { kKept, kPassing, kBeside };
    // `in_use`: a recording that must not go.
    Share(Recordings& all, Kind kind, std::string in_use = {});
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    Result<> grow(std::uint64_t bytes);    // kNoRoom
    Result<> resize(std::uint64_t bytes);  // to exactly so many; kNoRoom
    void count(std::uint64_t bytes);       // likewise, of files that are there: makes no room

   private:
    std::uint64_t& total_of(Reserved& reserved) const;

    Recordings& all_;
    const Kind kind_;
    const std::string in_use_;
    std::uint64_t used_ = 0, reserved_ = 0;
  };

  // A file for a body that comes; gone when the last holder lets go of it.
  struct Upload {
    explicit Upload(Recordings& all) : share(all, Share::Kind::kKept) {}
    ~Upload();
    Result<> write(std::string_view bytes);

    std::string path{};
    UniqueFd fd{};
    std::uint64_t room = 0;  // bytes it may have, as far as is known now
    Share share;
    std::optional<Error> error{};  // of write()
  };
  Result<std::shared_ptr<Upload>> upload();

  // Room for one more of so many bytes: the oldest go. An error: there is none (507).
  Result<> make_room(std::uint64_t least = 1 << 20);

  // A path for a file or folder that lives as long as a request: in a folder that the next serve
  // removes if this one is killed.
  Result<std::string> scratch_path(std::string_view ending);
  std::uint64_t room() const;  // bytes that one more may have
  std::uint64_t used() const;  // bytes of all recordings; never waits

 private:
  std::vector<Recording> every() const;  // also what is not shown
  Result<> save(const Recording& recording) const;
  void load();
  void sweep() const;
  Result<> fit(const Reserved& reserved, std::uint64_t more, Share::Kind kind,
               const std::string& in_use);
  Failure no_room() const;
  std::string path_of(const std::string& id) const;

  const ArchiveSettings& settings_;
  FolderInState folder_;
  Guarded<std::map<std::string, Recording>> all_;
  std::mutex saving_;         // what is saved last is what all_ has
  Guarded<Reserved> shares_;  // bytes reserved by all of them
  struct Scratch {
    UniqueFd folder{};  // locked
    std::string name{};
  };
  Guarded<Scratch> scratch_;
};

}  // namespace clrscope::archive
