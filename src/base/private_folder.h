// A folder of ours: its owner is the effective user, root included, it is no symbolic link, and
// nobody else may write to it.
//
// Another user may have made a folder of a name that can be guessed before us, so the path alone is
// not trusted: the folder is opened without following a link at its end, and checked by its
// descriptor. Whoever keeps the descriptor keeps this very folder, whatever becomes of its name.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope {

// The mode of every file and folder that we write: traces, dumps, reports and conversions hold what
// a process had in its memory. Who wants to share one changes it afterwards.
inline constexpr mode_t kFileMode = 0600;
inline constexpr mode_t kFolderMode = 0700;

// Of what others may do: kNothing also takes reading away from a folder that is there.
enum class Others { kMayRead, kNothing };

// kNotFound when it is not there.
Result<UniqueFd> open_private_folder(const std::string& path, Others others = Others::kMayRead);
// Makes it (0700) when it is not there, and the folders that lead to it.
Result<UniqueFd> make_private_folder(const std::string& path, Others others = Others::kMayRead);

// A regular file in such a folder, of the same owner and not writable by others; at most `limit`
// bytes. kNotFound when it is not there.
Result<std::string> read_private_file(int folder, const std::string& name, std::size_t limit);

// The whole file (0600); whoever reads meanwhile sees the old one or the new one.
Result<> replace_private_file(int folder, const std::string& name, std::string_view text);

}  // namespace clrscope
