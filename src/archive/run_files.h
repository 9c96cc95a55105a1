// Profiles of requests on disk, so that they outlive the server: /requests/runs.
//
// Each is three files in the state folder: ID.json describes the run, ID.profile.json is what it
// found, ID.txt the same as text. While a run goes on its files are written again every few
// seconds: one that was cut, because the server was killed, is found with its data so far. Any
// thread; those of one run are written by one thread at a time.
#pragma once

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

  // With its profile, if there is one.
  Result<> save(const RequestRun& run) const;
  // Those of earlier servers, the newest first, without their profiles.
  std::vector<RequestRun> load() const;
  Result<std::string> profile_json(const std::string& id) const;
  Result<std::string> profile_text(const std::string& id) const;
  void remove(const std::string& id) const;

 private:
  Result<std::string> read(const std::string& file) const;

  const ArchiveSettings& settings_;
  const FolderInState folder_;
};

}  // namespace clrscope::archive
