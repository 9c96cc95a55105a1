// Profiles of requests on disk, so that they outlive the server: /requests/runs.
//
// Each is three files in the state folder: ID.json describes the run, ID.profile.json is what it
// found, ID.txt the same as text. While a run goes on its files are written again every few
// seconds: one that was cut, because the server was killed, is found with its data so far. One
// profile takes at most a 32nd of the disk limit, without its single requests if need be. Any
// thread; those of one run are written by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "archive/request_run.h"
#include "archive/settings.h"
#include "archive/state_folder.h"
#include "base/result.h"

namespace clrscope::archive {

class RunFiles {
 public:
  explicit RunFiles(const ArchiveSettings& settings);

  struct Contents {
    std::string note{};
    std::string profile{}, text{};  // empty: there is none yet
    std::uint64_t bytes() const { return note.size() + profile.size() + text.size(); }
  };
  Contents contents_of(const RequestRun& run) const;
  Result<> write(const std::string& id, const Contents& contents) const;
  Result<> save(const RequestRun& run) const { return write(run.id, contents_of(run)); }
  // Those of earlier servers, the newest first, without their profiles.
  std::vector<RequestRun> load() const;
  Result<std::string> profile_json(const std::string& id) const;
  Result<std::string> profile_text(const std::string& id) const;
  std::uint64_t bytes_of(const std::string& id) const;
  void remove(const std::string& id) const;

 private:
  Result<std::string> read(const std::string& file) const;

  const ArchiveSettings& settings_;
  const FolderInState folder_;
};

}  // namespace clrscope::archive
