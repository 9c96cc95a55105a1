// The name and the command line of a recorded process, from the events that tell it.
#pragma once

#include <optional>
#include <string>

#include "model/event.h"

namespace clrscope::analyze {

// Microsoft-DotNETCore-EventPipe's ProcessInfo; nothing for any other event.
struct ProcessInfo {
  std::string command_line{};
  std::string system{};
  std::string architecture{};
};
std::optional<ProcessInfo> process_info(const Event& event);

// "Shop" for "/usr/bin/dotnet /app/Shop.dll --port 80".
std::string name_of_command(std::string_view command_line);

std::optional<std::string> process_name(const Event& event);

}  // namespace clrscope::analyze
