// One profile of HTTP requests that a client started. Data only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "archive/process_reference.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/shape.h"
#include "model/process.h"
#include "ops/request_profile.h"

namespace clrscope::archive {

enum class RunState : std::uint8_t { kStarting, kRunning, kStopping, kFinished, kFailed };
std::span<const std::string_view> names_of(RunState);
enum class RunEnding : std::uint8_t { kDuration, kStopped, kExited, kServerStopped };
std::span<const std::string_view> names_of(RunEnding);

struct RequestRun {
  std::string id{};
  RunState state = RunState::kStarting;
  WallTime started{};
  Process process{};
  std::vector<std::string> include{}, exclude{};
  std::optional<double> probability{};  // nothing: automatic
  std::chrono::nanoseconds planned{};
  std::string by{};
  WallTime updated{};                 // when the profile was true
  std::optional<RunEnding> ending{};  // of one that finished, or was cut
  std::optional<Error> error{};       // of one that failed
  std::chrono::nanoseconds duration{};
  std::uint64_t seen = 0, sampled = 0;
  std::shared_ptr<const ops::RequestProfile> profile{};
  bool on_disk = false;     // an earlier server ran it: its profile is in a file
  std::uint64_t bytes = 0;  // of its files

  bool running() const { return state < RunState::kFinished; }
  bool has_profile() const { return profile || on_disk; }
};

// What answers say of it.
struct RequestRunAnswer {
  std::string id{};
  RunState state{};
  bool running = false;
  WallTime started{};
  ProcessReference process{};
  std::vector<std::string> include{}, exclude{};
  std::optional<double> probability{};
  std::chrono::nanoseconds planned{}, duration{};
  std::uint64_t seen = 0, sampled = 0;
  WallTime updated{};
  std::optional<RunEnding> ending{};
  std::string error{}, hint{}, by{};
};
const Shape& shape_of(const RequestRunAnswer*);
RequestRunAnswer answer_of(const RequestRun& run);

// As text, for the terminal and for clients that want text/plain.
std::string text_of(const ops::RequestProfile& profile);

}  // namespace clrscope::archive
