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
  const SampleSum sum{samples.count, samples.value};
  samples_ += sum;
  by_thread_[samples.thread] += sum;
  if (frames.empty()) {
    without_stack_ += sum;
    by_kind_[static_cast<std::size_t>(FrameKind::kUnknown)] += sum;
    return;
  }
  const auto& leaf = frames_.frame(frames.front());
  auto kind = leaf.kind;
  if (kind == FrameKind::kRuntime && is_gc_thread(thread.name)) kind = FrameKind::kGc;
  by_kind_[static_cast<std::size_t>(kind)] += sum;

  ++turn_;
  by_frame_.resize(frames_.size());
  last_in_.resize(frames_.size());
  by_frame_[static_cast<std::size_t>(frames.front())].self += sum;
  by_module_[leaf.module].self += sum;
  std::set<std::string_view> modules;
  for (const auto id : frames) {
    const auto at = static_cast<std::size_t>(id);
    if (std::exchange(last_in_[at], turn_) == turn_) continue;
    by_frame_[at].total += sum;
    if (modules.insert(frames_.frame(id).module).second)
      by_module_[frames_.frame(id).module].total += sum;
  }
}

double CpuTimes::busy() const {
  if (seconds() <= 0 || period().count() == 0) return 0;
  return static_cast<double>(samples_.ns) / 1e9 / seconds();
}

std::vector<FrameId> CpuTimes::ranked(bool by_total) const {
  std::vector<FrameId> ids;
  for (std::uint32_t i = 0; i < by_frame_.size(); ++i)
    if (by_frame_[i].total.count > 0) ids.push_back(FrameId{i});
  std::sort(ids.begin(), ids.end(), [&](FrameId a, FrameId b) {
    const auto key = [&](FrameId id) {
      const auto& times = by_frame_[static_cast<std::size_t>(id)];
      return by_total ? std::pair{times.total.ns, times.self.ns}
                      : std::pair{times.self.ns, times.total.ns};
    };
    if (key(a) != key(b)) return key(a) > key(b);
    return frames_.frame(a).method < frames_.frame(b).method;
  });
  return ids;
}

}  // namespace clrscope::analyze
