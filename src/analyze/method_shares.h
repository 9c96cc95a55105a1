// The answer of the reports topn and cpu: methods by their share of samples.
//
// topn tells running from waiting; cpu also tells who used the processors. Where only the runtime
// sampled, cpu gives the answer of topn.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyze/parts.h"
#include "analyze/report.h"

namespace clrscope::analyze {

struct MethodShare {
  Place place{};
  double self = 0;
  double total = 0;
  std::optional<double> self_running{};
  std::optional<double> total_running{};
  std::uint64_t self_samples = 0;
  std::uint64_t total_samples = 0;
};
const Shape& shape_of(const MethodShare*);

struct KindShare {
  FrameKind kind{};
  double self = 0;
  std::uint64_t samples = 0;
};
const Shape& shape_of(const KindShare*);

struct ModuleShare {
  std::string module{};
  double self = 0;
  double total = 0;
};
const Shape& shape_of(const ModuleShare*);

struct ThreadShare {
  ProcessId pid{};
  ThreadId thread{};
  std::string name{};
  double self = 0;
  std::uint64_t samples = 0;
};
const Shape& shape_of(const ThreadShare*);

struct ProcessShare {
  ProcessId pid{};
  std::string name{};
  double self = 0;
  std::uint64_t samples = 0;
};
const Shape& shape_of(const ProcessShare*);

// Who told whether threads ran or waited.
enum class StateFrom : std::uint8_t { kSampler, kTopOfStack, kKernel, kAgent };
std::span<const std::string_view> names_of(StateFrom);

struct MethodShares {
  std::uint64_t samples = 0;
  std::optional<std::uint64_t> running{};
  std::optional<std::uint64_t> waiting{};
  std::optional<std::uint64_t> idle_samples{};
  std::uint64_t without_stack = 0;
  StateFrom state_from{};
  std::optional<std::chrono::nanoseconds> duration{};
  std::optional<std::chrono::nanoseconds> sampling{};
  std::optional<double> cpus_busy{};
  std::vector<MethodShare> methods{};
  std::optional<std::vector<KindShare>> by_kind{};
  std::optional<std::vector<ModuleShare>> by_module{};
  std::optional<std::vector<ThreadShare>> by_thread{};
  std::optional<std::vector<ProcessShare>> by_process{};
};
const Shape& shape_of(const MethodShares*);

std::unique_ptr<ReportOf<MethodShares>> make_topn(const ReportOptions& options);

}  // namespace clrscope::analyze
