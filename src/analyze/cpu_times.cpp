#include "analyze/cpu_times.h"

#include <algorithm>
#include <set>

#include "analyze/cpu_kinds.h"

namespace clrscope::analyze {

void CpuTimes::end_of_trace(const nettrace::Reader& reader) {
  source_.end_of_trace(reader, [this](const StackSamples& samples,
                                      std::span<const FrameId> frames) { add(samples, frames); });
}

void CpuTimes::add(const StackSamples& samples, std::span<const FrameId> frames) {
  const auto& thread = source_.threads()[samples.thread];
  by_thread_.resize(source_.threads().size());
  if (thread.process == ProcessId{0}) {
    idle_ += samples.count;
    return;
  }
  samples_ += samples.count;
  by_thread_[samples.thread] += samples.count;
  if (frames.empty()) {
    without_stack_ += samples.count;
    by_kind_[static_cast<std::size_t>(FrameKind::kUnknown)] += samples.count;
    return;
  }
  const auto& leaf = frames_.frame(frames.front());
  auto kind = leaf.kind;
  if (kind == FrameKind::kRuntime && is_gc_thread(thread.name)) kind = FrameKind::kGc;
  by_kind_[static_cast<std::size_t>(kind)] += samples.count;

  ++turn_;
  by_frame_.resize(frames_.size());
  last_in_.resize(frames_.size());
  by_frame_[static_cast<std::size_t>(frames.front())].self += samples.count;
  by_module_[leaf.module].self += samples.count;
  std::set<std::string_view> modules;
  for (const auto id : frames) {
    const auto at = static_cast<std::size_t>(id);
    if (std::exchange(last_in_[at], turn_) == turn_) continue;
    by_frame_[at].total += samples.count;
    if (modules.insert(frames_.frame(id).module).second)
      by_module_[frames_.frame(id).module].total += samples.count;
  }
}

double CpuTimes::busy() const {
  if (seconds() <= 0) return 0;
  return static_cast<double>(samples_) * std::chrono::duration<double>(period()).count() /
         seconds();
}

std::vector<FrameId> CpuTimes::ranked(bool by_total) const {
  std::vector<FrameId> ids;
  for (std::uint32_t i = 0; i < by_frame_.size(); ++i)
    if (by_frame_[i].total > 0) ids.push_back(FrameId{i});
  std::sort(ids.begin(), ids.end(), [&](FrameId a, FrameId b) {
    const auto key = [&](FrameId id) {
      const auto& times = by_frame_[static_cast<std::size_t>(id)];
      return by_total ? std::pair{times.total, times.self} : std::pair{times.self, times.total};
    };
    if (key(a) != key(b)) return key(a) > key(b);
    return frames_.frame(a).method < frames_.frame(b).method;
  });
  return ids;
}

}  // namespace clrscope::analyze
