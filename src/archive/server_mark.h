// Which server works on a stored artifact: another one may share its folder, or have been killed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "base/json_reader.h"
#include "base/shape.h"

namespace clrscope::archive {

struct ServerMark {
  std::optional<pid_t> recorder_pid{};
  std::optional<std::uint64_t> recorder_start{};  // in clock ticks
};
const Shape& shape_of(const ServerMark*);

ServerMark mark_of_this_server();
// Whether the server in the mark still runs, and is another one.
bool other_server_lives(const JsonValue& marked);

}  // namespace clrscope::archive
