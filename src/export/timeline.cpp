#include "export/timeline.h"

#include <fmt/format.h>

namespace clrscope::exports {
namespace {

std::string process_title(const analyze::Profile& profile, ProcessId process) {
  const auto pid = static_cast<std::int32_t>(process);
  for (const auto& one : profile.processes)
    if (one.process == process && !one.name.empty()) return fmt::format("{} ({})", one.name, pid);
  return fmt::format("Process ({})", pid);
}

}  // namespace

std::string thread_title(const analyze::Profile& profile, const analyze::ProfileThread& thread) {
  std::string title;
  if (profile.processes.size() > 1) title = process_title(profile, thread.process) + " ";
  title += fmt::format("Thread ({})", static_cast<std::uint64_t>(thread.thread));
  if (!thread.name.empty()) title += " " + thread.name;
  return title;
}

std::string profile_title(const analyze::Profile& profile) {
  if (profile.processes.size() > 1)
    return fmt::format("trace of {} processes", profile.processes.size());
  return profile.processes.empty() ? "trace" : process_title(profile, profile.processes[0].process);
}

Timeline::Timeline(const analyze::Profile& profile) : profile_(profile) {
  depths_.resize(std::max<std::size_t>(1, profile.stacks.size()));
  for (std::size_t i = 1; i < profile.stacks.size(); ++i)
    depths_[i] = depth(profile.stacks[i].parent) + 1;
}

std::uint32_t Timeline::state_frame(analyze::ThreadState state) const {
  switch (state) {
    case analyze::ThreadState::kRunning:
      return running_frame(profile_);
    case analyze::ThreadState::kWaiting:
      return waiting_frame(profile_);
    case analyze::ThreadState::kUnknown:
      break;
  }
  return kNoState;
}

}  // namespace clrscope::exports
