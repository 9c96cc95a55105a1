// Logical async stacks in JSON, made from an AsyncSnapshot.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/shape.h"
#include "inspect/async/async.h"

namespace clrscope::inspect {

struct AsyncWaitAnswer {
  AwaitKind kind = AwaitKind::kUnknown;
  std::string text{};
  std::optional<std::string> object{};
  std::string type{};
  std::string detail{};
  std::optional<std::int64_t> free{}, most{};
  std::uint32_t thread = 0;
};
const Shape& shape_of(const AsyncWaitAnswer*);
AsyncWaitAnswer answer_of(const AsyncWait& wait);

struct AsyncFrameAnswer {
  std::string method{};
  std::optional<std::int32_t> await{};
};
const Shape& shape_of(const AsyncFrameAnswer*);
std::vector<AsyncFrameAnswer> frames_of(const AsyncSnapshot& seen,
                                        const std::vector<AsyncStep>& steps);

struct AsyncGroupAnswer {
  std::uint64_t count = 0;
  std::optional<std::uint64_t> unchanged{};
  AsyncWaitAnswer wait{};
  std::vector<AsyncFrameAnswer> frames{};
  std::vector<std::uint32_t> blocked_threads{};
};
const Shape& shape_of(const AsyncGroupAnswer*);

struct AsyncLinkAnswer {
  std::string method{};
  std::string object{};
  std::string awaits{};
  std::string awaits_object{};
  std::string holds{};
  std::vector<std::string> frames{};
};
const Shape& shape_of(const AsyncLinkAnswer*);

struct AsyncCycleAnswer {
  bool by_semaphores = false;
  std::vector<AsyncLinkAnswer> links{};
};
const Shape& shape_of(const AsyncCycleAnswer*);

struct AsyncStacksAnswer {
  pid_t pid = 0;
  std::string process{};
  std::string runtime{};
  HeapSource source = HeapSource::kTwin;
  std::chrono::nanoseconds pause{};
  std::chrono::nanoseconds duration{};
  std::optional<std::chrono::nanoseconds> over{};
  std::uint64_t state_machines = 0;
  std::uint64_t pending = 0;
  std::uint64_t timers = 0;
  std::uint64_t stacks = 0;
  std::vector<AsyncGroupAnswer> groups{};
  std::vector<AsyncCycleAnswer> cycles{};
  std::vector<std::string> notes{};
};
const Shape& shape_of(const AsyncStacksAnswer*);
AsyncStacksAnswer answer_of(const AsyncSnapshot& seen);

}  // namespace clrscope::inspect
