// Recordings that are kept on disk: sessions that have ended, traces on request, uploads.
//
// Each is two files in the state folder: ID.nettrace, and ID.json that tells of it. When the limit
// is reached, the oldest that have ended go first. What was being recorded when clrscope ended is
// found again and listed as lost; its trace can be read up to that moment. What is of a process
// that may not be seen here is neither listed nor found. Any thread.
//
// Files of requests under way (uploads, conversions, dumps) lie in a folder of this serve's own,
// scratch.ID, which is locked while it lives: the next serve removes those that nobody locks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/guarded.h"
#include "base/json.h"
#include "base/result.h"
#include "http/setting.h"
#include "http/state_folder.h"
#include "model/process.h"

namespace clrscope::http {

struct Recording {
  std::string id{};
  std::string kind{};   // "session", "trace", "upload"
  std::string state{};  // "recording", "finished", "lost"
  std::string path{};   // of the trace
  std::string title{};  // the name under which it is downloaded
  Process process{};    // pid 0: the machine, or unknown
  std::string profile{};
  std::vector<std::string> providers{};
  std::string sampling{};
  std::string started{};  // ISO 8601
  double duration_ms = 0;
  std::uint64_t bytes = 0, events = 0, samples = 0, lost = 0;
  std::string ending{};
  std::vector<std::string> notes{};
  std::string by{};      // who asked for it
  bool earlier = false;  // an earlier serve kept it: its process may be one that is not shown here
};

struct RecordState;
// What the recorder says of it.
void take_state(Recording& recording, const RecordState& state);

// Its members, without path.
void write_recording(JsonWriter& json, const Recording& recording);

class Recordings {
 public:
  explicit Recordings(const ServeSetting& setting);
  ~Recordings();
  Recordings(const Recordings&) = delete;
  Recordings& operator=(const Recordings&) = delete;

  std::vector<Recording> list() const;  // the newest first
  Result<Recording> find(const std::string& id) const;

  // Where a new one goes: makes room, fills id, path, started. It is there as "recording" until
  // finish() or discard().
  Result<Recording> begin(Recording recording);
  Result<> finish(Recording recording);
  Result<> discard(const std::string& id);  // also of one that is not shown: ask find() first

  // Bytes of a file under way: they count in the disk limit until this ends.
  class Share {
   public:
    // kKept: it will be a recording, so the oldest that have ended go for it. kPassing: they go
    // only as long as all that passes takes less than a quarter of the limit.
    enum class Kind : std::uint8_t { kKept, kPassing };
    // `in_use`: a recording that must not go.
    Share(Recordings& all, Kind kind, std::string in_use = {});
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    Result<> grow(std::uint64_t bytes);  // kNoRoom

   private:
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

 private:
  std::vector<Recording> every() const;  // also what is not shown
  Result<> save(const Recording& recording) const;
  void load();
  void sweep() const;
  Result<> fit(std::uint64_t shares, std::uint64_t more, Share::Kind kind,
               const std::string& in_use);
  Failure no_room() const;
  std::string path_of(const std::string& id) const;

  const ServeSetting& setting_;
  FolderInState folder_;
  Guarded<std::map<std::string, Recording>> all_;
  Guarded<std::uint64_t> shares_;  // bytes reserved by all of them
  struct Scratch {
    UniqueFd folder{};  // locked
    std::string name{};
  };
  Guarded<Scratch> scratch_;
};

}  // namespace clrscope::http
