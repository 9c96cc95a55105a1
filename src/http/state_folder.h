// Where the controller keeps what outlives it: keys, recordings, reports, the audit log.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::http {

// `told`, or $XDG_STATE_HOME/clrscope, or ~/.local/state/clrscope, or one of the user below TMPDIR.
std::string state_folder_path(const std::string& told);

// Makes it if it is not there: for its owner alone. One that belongs to another user, that others
// may write or that is a symbolic link is refused, for root too (base/private_folder.h).
Result<> make_state_folder(const std::string& path);

// A folder in it, which is made too.
Result<> make_folder_in_state(const std::string& path);

// The whole file, for its owner alone; whoever reads meanwhile sees the old one or the new one.
Result<> replace_file(const std::string& path, std::string_view text);

}  // namespace clrscope::http
