// The name and the command line of a recorded process, from the events that tell it.
#pragma once

#include <map>
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

// The names of the processes of one trace.
class ProcessNames {
 public:
  void on_event(const Event& event);
  void end_of_trace() { providers_.forget(); }  // names stay
  std::string name(ProcessId process) const;    // empty: not told
  std::string who(ProcessId process) const;     // "Shop (4312)", "process 4312"
  const std::map<ProcessId, std::string>& all() const { return names_; }

 private:
  Providers providers_;
  std::map<ProcessId, std::string> names_;
};

}  // namespace clrscope::analyze
