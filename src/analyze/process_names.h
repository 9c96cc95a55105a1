// The name and the command line of a recorded process, from the events that tell it.
#pragma once

#include <optional>
#include <string>

#include "analyze/providers.h"
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

// "10.0.12" of Runtime/Start, live or in a rundown.
std::optional<std::string> runtime_version(const Event& event, Provider provider);

// Universal.System's ExistingProcess and ProcessCreate.
std::optional<std::string> universal_process_name(const Event& event, Provider provider);
// The container that they name; nothing when it is in none.
std::optional<std::string> universal_container(const Event& event, Provider provider);

}  // namespace clrscope::analyze
