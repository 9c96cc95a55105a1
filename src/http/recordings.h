// Recordings that are kept on disk: sessions that have ended, traces on request, uploads.
//
// Each is two files in the state folder: ID.nettrace, and ID.json that tells of it. When the limit
// is reached, the oldest that have ended go first. What was being recorded when clrscope ended is
// found again and listed as lost; its trace can be read up to that moment. What is of a process
// that may not be seen here is neither listed nor found. Any thread.
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

  std::vector<Recording> list() const;  // the newest first
  Result<Recording> find(const std::string& id) const;

  // Where a new one goes: makes room, fills id, path, started. It is there as "recording" until
  // finish() or discard().
  Result<Recording> begin(Recording recording);
  Result<> finish(Recording recording);
  Result<> discard(const std::string& id);  // also of one that is not shown: ask find() first

  // A file for a body that comes; gone when the last holder lets go of it.
  struct Upload {
    std::string path{};
    UniqueFd fd{};
    std::uint64_t room = 0;  // bytes it may have
    ~Upload();
  };
  Result<std::shared_ptr<Upload>> upload();

  // Room for one more of so many bytes: the oldest go. An error: there is none (507).
  Result<> make_room(std::uint64_t least = 1 << 20);

  // A folder for files that live as long as a request.
  Result<std::string> scratch_folder() const;
  std::uint64_t room() const;  // bytes that one more may have

 private:
  std::vector<Recording> every() const;  // also what is not shown
  Result<> save(const Recording& recording) const;
  void load();

  const ServeSetting& setting_;
  std::string folder_;
  Guarded<std::map<std::string, Recording>> all_;
};

}  // namespace clrscope::http
