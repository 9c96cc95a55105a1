// Answers that are files: a trace, a dump, a trace in another format.
#pragma once

#include <string>
#include <vector>

#include "http/route.h"

namespace clrscope::http {

// The head of an answer that is kept as a file: its type and the name it should have.
HttpResponse file_head(std::string_view type, std::string_view name);

// Sends the file to its end, piece by piece. Waits for slow clients: not on the server's thread.
// False: the client went away.
Result<bool> send_file(Call& call, HttpResponse head, const std::string& path);

inline constexpr std::string_view kTar = "application/x-tar";
// The files of a folder, as one tar.
Result<bool> send_folder(Call& call, HttpResponse head, const std::string& folder);

}  // namespace clrscope::http
