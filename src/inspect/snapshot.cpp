#include "inspect/snapshot.h"

#include <array>

namespace clrscope::inspect {
namespace {

template <class E>
std::string_view name_in(E value) {
  const auto names = names_of(value);
  const auto at = static_cast<std::size_t>(value);
  return at < names.size() ? names[at] : "?";
}

}  // namespace

std::span<const std::string_view> names_of(FrameKind) {
  static constexpr std::array<std::string_view, 5> kNames{"managed", "framework", "runtime",
                                                          "native", "stub"};
  return kNames;
}
std::span<const std::string_view> names_of(WaitKind) {
  static constexpr std::array<std::string_view, 13> kNames{"Monitor",
                                                           "Monitor.Wait",
                                                           "Lock",
                                                           "ReaderWriterLockSlim",
                                                           "SemaphoreSlim",
                                                           "ManualResetEventSlim",
                                                           "Task",
                                                           "Thread.Join",
                                                           "WaitHandle",
                                                           "Sleep",
                                                           "idle pool worker",
                                                           "I/O",
                                                           "static constructor"};
  return kNames;
}
std::span<const std::string_view> names_of(RunState) {
  static constexpr std::array<std::string_view, 7> kNames{
      "running", "sleeping", "in the kernel", "stopped", "traced", "dead", "unknown"};
  return kNames;
}
std::span<const std::string_view> names_of(SnapshotSource) {
  static constexpr std::array<std::string_view, 5> kNames{
      "none", "data contracts", "DAC", "data contracts and DAC", "diagnostic port"};
  return kNames;
}

std::string_view name_of(FrameKind kind) { return name_in(kind); }
std::string_view name_of(WaitKind kind) { return name_in(kind); }
std::string_view name_of(RunState state) { return name_in(state); }
std::string_view name_of(SnapshotSource source) { return name_in(source); }

const std::string& name_of(const ThreadView& thread) {
  return thread.runtime && !thread.runtime->name.empty() ? thread.runtime->name : thread.os.name;
}

RunState state_of(const ThreadView& thread) {
  if (thread.running) return RunState::kRunning;
  switch (thread.os.state) {
    case 'R':
      return RunState::kRunning;
    case 'S':
    case 'I':
      return RunState::kSleeping;
    case 'D':
      return RunState::kInKernel;
    case 'T':
      return RunState::kStopped;
    case 't':
      return RunState::kTraced;
    case 'Z':
    case 'X':
      return RunState::kDead;
    default:
      return RunState::kUnknown;
  }
}

}  // namespace clrscope::inspect
