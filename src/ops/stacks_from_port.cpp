#include "ops/stacks_from_port.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "analyze/profile_builder.h"
#include "base/io.h"
#include "base/text.h"
#include "model/provider_names.h"
#include "ops/record.h"
#include "ops/trace_file.h"

namespace clrscope::ops {
namespace {

using namespace inspect;

constexpr std::chrono::milliseconds kSampled{100};  // some ten rounds

// A file in the folder for temporary ones that is gone with the object.
class TempName {
 public:
  TempName() {
    std::error_code ignored;
    name_ = (std::filesystem::temp_directory_path(ignored) / "clrscope_stacks_XXXXXX").string();
    UniqueFd{::mkstemp(name_.data())}.reset();
  }
  ~TempName() { ::unlink(name_.c_str()); }
  TempName(const TempName&) = delete;
  TempName& operator=(const TempName&) = delete;
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

inspect::FrameKind kind_of(analyze::FrameKind kind) {
  switch (kind) {
    case analyze::FrameKind::kManaged:
    case analyze::FrameKind::kDynamic:
      return inspect::FrameKind::kManaged;
    case analyze::FrameKind::kFramework:
      return inspect::FrameKind::kFramework;
    case analyze::FrameKind::kRuntime:
    case analyze::FrameKind::kGc:
    case analyze::FrameKind::kJit:
      return inspect::FrameKind::kRuntime;
    default:
      return inspect::FrameKind::kNative;
  }
}

ThreadView view_of(pid_t pid, const analyze::Profile& profile,
                   const analyze::ProfileThread& thread) {
  ThreadView view;
  view.os.tid = view.os.namespace_tid = static_cast<pid_t>(thread.thread);
  view.os.name = thread.name;
  if (const auto name = read_file(fmt::format("/proc/{}/task/{}/comm", pid, view.os.tid)))
    view.os.name = trim(*name);
  view.runtime = RuntimeThread{.os_id = static_cast<std::uint32_t>(thread.thread)};
  view.whole = true;
  const auto& last = profile.samples[thread.samples.back()];
  view.running = last.state == analyze::ThreadState::kRunning;
  view.os.state = view.running ? 'R' : 'S';
  for (auto at = last.stack; at != analyze::kNoStack; at = profile.node(at).parent) {
    const auto& frame = profile.frame(profile.node(at).frame);
    view.frames.push_back(
        {.method = frame.method, .module = frame.module, .kind = kind_of(frame.kind)});
  }
  return view;
}

}  // namespace

Result<Snapshot> stacks_from_port(const TargetRequest& target) {
  const TempName file;
  const auto began = std::chrono::steady_clock::now();
  RecordRequest request{.target = target, .output = file.name(), .duration = kSampled};
  request.providers.providers = {fmt::format("{}:0xffffffffffffffff:5", kSamplerProvider)};
  const auto recorded = TRY(record(request, {}));
  analyze::ProfileBuilder builder;
  const auto read = TRY(read_trace(
      file.name(),
      {.on_batch = [&](const auto& reader, const auto& batch) { builder.on_batch(reader, batch); },
       .on_end = [&](const auto& reader) { builder.end_of_trace(reader); }}));
  const auto profile = std::move(builder).finish();
  Snapshot seen{.pid = recorded.process.pid, .name = recorded.process.name};
  // Threads of another pid namespace have no names here.
  const auto pid = recorded.process.foreign ? 0 : recorded.process.pid;
  seen.runtime = recorded.process.runtime;
  seen.source = SnapshotSource::kDiagnosticPort;
  seen.taken = std::chrono::system_clock::now();
  for (const auto& thread : profile.threads)
    if (!thread.samples.empty()) seen.threads.push_back(view_of(pid, profile, thread));
  std::ranges::sort(seen.threads, {}, &ThreadView::os_id);
  if (const auto damage = damage_line(read); !damage.empty()) seen.notes.push_back(damage);
  seen.took = std::chrono::steady_clock::now() - began;
  return seen;
}

}  // namespace clrscope::ops
