// The folder for what outlives the controller: keys, recordings, reports, the audit log.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"

namespace clrscope::archive {

// `told`, or $XDG_STATE_HOME/clrscope, or ~/.local/state/clrscope, or one of the user below TMPDIR.
std::string state_folder_path(const std::string& told);

// Makes it if it is not there: for its owner alone. One that belongs to another user, that others
// may write or that is a symbolic link is refused, for root too (base/private_folder.h).
Result<> make_state_folder(const std::string& path);

// A folder in the state folder, held by its descriptor: once it was checked, whatever happens to
// its name or to those above it does not matter. Any thread.
class FolderInState {
 public:
  FolderInState(std::string state, std::string name)
      : state_(std::move(state)), name_(std::move(name)) {}

  // Makes it if it is not there, or was removed meanwhile. The descriptor lives as long as we do.
  Result<int> make() const;
  // kNotFound when it is not there.
  Result<int> open() const;
  // A file in it as a path that leads through the descriptor.
  Result<std::string> path_of(std::string_view file) const;
  // The names of the files in it; none when it is not there.
  std::vector<std::string> names() const;
  std::string text() const { return state_ + "/" + name_; }  // for messages

 private:
  Result<int> held(bool make) const;

  const std::string state_, name_;
  // The last is the one in use. Those that were removed are kept: paths may still name them.
  mutable Guarded<std::vector<UniqueFd>> held_;
};

}  // namespace clrscope::archive
