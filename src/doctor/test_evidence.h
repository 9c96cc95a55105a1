// For tests: evidence made by hand.
#pragma once

#include <string>
#include <vector>

#include "doctor/diagnose.h"

namespace clrscope::doctor {

using namespace std::chrono_literals;  // NOLINT(google-global-names-in-headers): a test's header

inline inspect::Frame own_frame(std::string method, std::string file = {}, std::uint32_t line = 0) {
  return {.method = std::move(method),
          .module = "Shop",
          .kind = inspect::FrameKind::kManaged,
          .file = std::move(file),
          .line = line};
}
inline inspect::Frame framework_frame(std::string method) {
  return {.method = std::move(method),
          .module = "System.Private.CoreLib",
          .kind = inspect::FrameKind::kFramework};
}

inline inspect::ThreadView make_thread(std::uint32_t os_id, std::string name, std::string method,
                                       std::chrono::nanoseconds cpu = 5ms) {
  inspect::ThreadView thread;
  thread.os.tid = thread.os.namespace_tid = static_cast<pid_t>(os_id);
  thread.os.cpu = cpu;
  thread.runtime =
      inspect::RuntimeThread{.os_id = os_id, .managed_id = os_id - 100, .name = std::move(name)};
  if (!method.empty())
    thread.frames = {framework_frame("System.Threading.Something.Wait()"),
                     own_frame(std::move(method), "/src/Shop.cs", 41)};
  return thread;
}

inline inspect::ThreadView waiting(inspect::ThreadView thread, inspect::WaitKind kind,
                                   std::uint32_t owner = 0, std::string type = "Shop.Cart",
                                   std::uint64_t object = 0x1000) {
  thread.waiting_for =
      inspect::Wait{.kind = kind, .object = object, .type = std::move(type), .owner_os_id = owner};
  return thread;
}

inline inspect::ThreadView pool_worker(inspect::ThreadView thread) {
  thread.runtime->pool = true;
  thread.runtime->name = ".NET TP Worker";
  return thread;
}

// A snapshot a second.
inline Evidence with_snapshots(std::vector<inspect::Snapshot> snapshots) {
  Evidence evidence;
  evidence.process = {.pid = 100, .name = "Shop"};
  for (auto& snapshot : snapshots) {
    snapshot.pid = 100;
    evidence.snapshot_times.push_back(std::chrono::seconds{evidence.snapshots.size()});
    evidence.snapshots.push_back(std::move(snapshot));
  }
  if (!evidence.snapshot_times.empty()) evidence.watched = evidence.snapshot_times.back();
  return evidence;
}
inline Evidence same_snapshot(const inspect::Snapshot& snapshot, std::size_t times = 11) {
  return with_snapshots(std::vector<inspect::Snapshot>(times, snapshot));
}

inline Evidence with_events(EventFacts events, std::chrono::nanoseconds length = 10s) {
  Evidence evidence;
  evidence.process = {.pid = 100, .name = "Shop"};
  evidence.watched = length;
  events.length = length;
  evidence.events = std::move(events);
  return evidence;
}

// What one finding says of it, the frame's rules included.
inline std::vector<Report> examined(std::string_view id, const Evidence& evidence,
                                    const std::vector<std::string>& settings = {}) {
  const auto selected = select({std::string{id}}, settings);
  CHECK(selected);
  return diagnose(evidence, *selected).reports;
}

}  // namespace clrscope::doctor
