// A snapshot of a process in JSON: threads with their stacks, locks, the thread pool. Made
// from a Snapshot; the doctor shows the same frames.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/shape.h"
#include "inspect/snapshot.h"

namespace clrscope::inspect {

struct FrameAnswer {
  std::string method{};
  std::string module{};
  std::optional<FrameKind> kind{};
  std::string file{};
  std::uint32_t line = 0;
};
const Shape& shape_of(const FrameAnswer*);
FrameAnswer answer_of(const Frame& frame);

struct WaitAnswer {
  WaitKind kind = WaitKind::kMonitor;
  std::optional<std::string> object{};
  std::string type{};
  std::uint32_t owner_os_id = 0;
  bool timed = false;
  std::string detail{};
};
const Shape& shape_of(const WaitAnswer*);

struct LockAnswer {
  WaitKind kind = WaitKind::kMonitor;
  std::string object{};
  std::string type{};
  std::uint32_t owner_os_id = 0;
  std::vector<std::uint32_t> waiters{};
};
const Shape& shape_of(const LockAnswer*);

struct ThreadAnswer {
  std::uint32_t os_id = 0;
  std::optional<std::uint32_t> managed_id{};
  std::string name{};
  RunState state = RunState::kUnknown;
  std::chrono::nanoseconds cpu{};
  std::string wait_channel{};
  std::optional<std::int64_t> syscall{};
  std::optional<bool> background{}, pool{}, cooperative{};
  std::string exception{};
  bool whole = false;
  std::string broken{};
  std::vector<FrameAnswer> frames{};
  std::optional<WaitAnswer> waiting_for{};
  std::vector<std::string> holds{};
};
const Shape& shape_of(const ThreadAnswer*);

const Shape& shape_of(const Pool*);

struct StacksAnswer {
  pid_t pid = 0;
  std::string process{};
  std::string runtime{};
  SnapshotSource source = SnapshotSource::kNone;
  std::chrono::nanoseconds pause{};
  std::chrono::nanoseconds duration{};
  std::vector<ThreadAnswer> threads{};
  std::vector<std::vector<std::uint32_t>> cycles{};
  std::vector<LockAnswer> locks{};
  std::uint64_t locks_unread = 0;
  std::optional<Pool> pool{};
  std::vector<std::string> notes{};
};
const Shape& shape_of(const StacksAnswer*);
StacksAnswer answer_of(const Snapshot& seen);

// An address as JSON has it: "0x7f3a10".
std::string address_text(std::uint64_t address);

}  // namespace clrscope::inspect
