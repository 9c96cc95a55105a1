#include "doctor/threads.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/words.h"
#include "base/text.h"

namespace clrscope::doctor {

using inspect::FrameKind;
using inspect::Snapshot;
using inspect::ThreadView;
using inspect::WaitKind;

std::string label(const Snapshot& snapshot, std::uint32_t os_id) {
  const auto* thread = find_thread(snapshot, os_id);
  return thread ? title_of(*thread) : fmt::format("thread {}", os_id);
}

const inspect::Frame* site_of(const ThreadView& thread) {
  const auto first = [&](auto&& fits) -> const inspect::Frame* {
    const auto at = std::ranges::find_if(thread.frames, fits);
    return at == thread.frames.end() ? nullptr : &*at;
  };
  const auto named = [](const auto& frame) { return !frame.method.empty(); };
  // Code in no module was made at run time: somebody of the application runs it, or called it.
  for (const bool in_module : {true, false})
    if (const auto* own = first([&](const auto& frame) {
          return named(frame) && frame.kind == FrameKind::kManaged &&
                 frame.module.empty() != in_module;
        }))
      return own;
  if (const auto* framework = first(
          [&](const auto& frame) { return named(frame) && frame.kind == FrameKind::kFramework; }))
    return framework;
  return first(named);
}

namespace {

std::string without_arguments(std::string_view method) {
  return std::string{method.substr(0, method.find('('))};
}

std::string place_text(const inspect::Frame& frame) {
  auto text = without_arguments(frame.method);
  if (!frame.file.empty())
    text += fmt::format(" ({}:{})", frame.file.substr(frame.file.rfind('/') + 1), frame.line);
  return text;
}

}  // namespace

std::string site_text(const ThreadView& thread) {
  const auto* frame = site_of(thread);
  return frame ? place_text(*frame) : "?";
}

Remedy remedy(const Evidence& evidence, std::string verb,
              std::map<std::string, std::string> options) {
  options["pid"] = evidence.process.pid == 0 ? "" : std::to_string(evidence.process.pid);
  return {std::move(verb), std::move(options)};
}

ShownThread shown(const ThreadView& thread, std::string does, std::size_t most) {
  ShownThread out{.os_id = thread.os_id(), .does = std::move(does)};
  if (thread.runtime) {
    out.managed_id = thread.runtime->managed_id;
    out.name = thread.runtime->name;
  }
  if (out.name.empty()) out.name = thread.os.name;
  const auto* site = site_of(thread);
  if (!site) return out;
  for (const auto* frame = site; frame != thread.frames.data() + thread.frames.size(); ++frame) {
    if (out.frames.size() == most) break;
    if (frame->method.empty() || frame->kind != site->kind) continue;
    out.frames.push_back(answer_of(*frame));
  }
  return out;
}

std::string object_text(std::string_view type, std::uint64_t address) {
  if (address == 0) return std::string{type.empty() ? "?" : type};
  return fmt::format("{} 0x{:x}", type.empty() ? "object" : type, address);
}

std::string_view words_for(WaitKind kind) {
  switch (kind) {
    case WaitKind::kMonitor:
      return "lock";
    case WaitKind::kMonitorWait:
      return "Monitor.Wait";
    case WaitKind::kLock:
      return "Lock";
    case WaitKind::kReaderWriter:
      return "reader-writer lock";
    case WaitKind::kSemaphore:
      return "semaphore";
    case WaitKind::kEvent:
    case WaitKind::kWaitHandle:
      return "event";
    case WaitKind::kTask:
      return "task";
    case WaitKind::kJoin:
      return "another thread's end";
    case WaitKind::kSleep:
      return "sleep";
    case WaitKind::kPoolIdle:
      return "pool work";
    case WaitKind::kIo:
      return "input or output";
    case WaitKind::kTypeInitializer:
      return "static constructor";
  }
  return "?";
}

namespace {

// How often all threads were stopped between this snapshot and the one before it, its own stop
// included.
std::int64_t stops_before(const Evidence& evidence, std::size_t snapshot) {
  const auto& times = evidence.snapshot_times;
  const auto copies = std::ranges::count_if(evidence.copies, [&](auto time) {
    return time <= times[snapshot] && (snapshot == 0 || time > times[snapshot - 1]);
  });
  return copies + (evidence.snapshots[snapshot].pause.count() > 0 ? 1 : 0);
}

}  // namespace

bool unmoved(const Evidence& evidence, std::uint32_t os_id) {
  // A thread that was stopped for a moment runs for a moment too, on a busy machine only after the
  // next snapshot: a stop excuses what was used until the snapshot after that.
  constexpr std::chrono::nanoseconds kStopCosts = std::chrono::microseconds{100};
  if (evidence.snapshots.size() < 2) return false;
  const auto* last = find_thread(*evidence.last_snapshot(), os_id);
  if (!last || !last->waiting_for) return false;  // callers show what it waits for
  const ThreadView* before = nullptr;
  std::int64_t excused = 0;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < evidence.snapshots.size(); ++i) {
    const auto stops = stops_before(evidence, i);
    excused += stops;
    const auto* now = find_thread(evidence.snapshots[i], os_id);
    if (!now) return false;
    if (now->running && stops > 0) continue;  // it has not come to wait again
    if (now->running || !now->waiting_for) return false;
    if (before) {
      if (now->waiting_for->kind != before->waiting_for->kind) return false;
      if (now->waiting_for->type != before->waiting_for->type) return false;
      if (now->os.cpu - before->os.cpu > excused * kStopCosts) return false;
    }
    before = now;
    excused = stops;
    ++seen;
  }
  return seen >= 2;
}

bool falls(std::span<const std::size_t> counts) {
  if (counts.empty()) return false;
  const auto missed = counts.back() > counts.front() ? (counts.back() - counts.front()) / 5 : 0;
  for (std::size_t i = 1; i < counts.size(); ++i)
    if (counts[i] + missed < counts[i - 1]) return true;
  return false;
}

std::optional<std::chrono::nanoseconds> cpu_used(const Evidence& evidence, std::uint32_t os_id) {
  if (evidence.snapshots.size() < 2) return {};
  const auto* first = find_thread(evidence.snapshots.front(), os_id);
  const auto* last = find_thread(evidence.snapshots.back(), os_id);
  if (!first || !last) return {};
  return last->os.cpu - first->os.cpu;
}

bool is_worker(const ThreadView& thread) {
  if (!thread.runtime || !thread.runtime->pool) return false;
  return thread.runtime->name.empty() || thread.runtime->name == ".NET TP Worker";
}

bool waits_for_nobody(const ThreadView& thread) {
  if (!thread.runtime || thread.runtime->pool || !thread.waiting_for) return false;
  const auto& wait = *thread.waiting_for;
  if (wait.timed || wait.owner_os_id != 0) return false;
  return wait.kind == WaitKind::kEvent || wait.kind == WaitKind::kWaitHandle ||
         wait.kind == WaitKind::kMonitorWait || wait.kind == WaitKind::kSemaphore ||
         wait.kind == WaitKind::kSleep;
}

std::string entry_of(const ThreadView& thread) {
  for (auto at = thread.frames.rbegin(); at != thread.frames.rend(); ++at)
    if (at->kind == FrameKind::kManaged && !at->method.empty())
      return without_arguments(at->method);
  return {};
}

const inspect::RegexCall* same_regex_call(const Evidence& evidence, std::uint32_t os_id) {
  const inspect::RegexCall* last = nullptr;
  std::size_t other_texts = 0;  // the collector moves a text now and then
  if (evidence.snapshots.size() < 3) return nullptr;
  for (const auto& snapshot : evidence.snapshots) {
    const auto* thread = find_thread(snapshot, os_id);
    if (!thread || !thread->regex) return nullptr;
    const auto& now = *thread->regex;
    if (last && (now.pattern != last->pattern || now.length != last->length)) return nullptr;
    if (last && now.text != last->text) ++other_texts;
    last = &now;
  }
  return other_texts * 4 > evidence.snapshots.size() ? nullptr : last;
}

bool is_main(const Snapshot& snapshot, const ThreadView& thread) {
  if (thread.os.tid == snapshot.pid) return true;
  return !snapshot.threads.empty() && thread.runtime && thread.runtime->managed_id == 1;
}

namespace {

// A port that is not told otherwise holds up the start.
bool has_suspending_port(std::string_view ports) {
  return std::ranges::any_of(split(ports, ';'), [](std::string_view port) {
    return !trim(port).empty() && port.find("nosuspend") == std::string_view::npos;
  });
}

std::string suspending_setting(const std::map<std::string, std::string>& environment) {
  for (const auto& [name, value] : environment) {
    const bool port = name.ends_with("_DefaultDiagnosticPortSuspend") && value == "1";
    const bool ports = name.ends_with("_DiagnosticPorts") && has_suspending_port(value);
    if (port || ports) return fmt::format("{}={}", name, value);
  }
  return {};
}

}  // namespace

std::string start_held_by(const Evidence& evidence) {
  // Every runtime starts it right after this wait.
  const auto has_finalizer = [](const Snapshot& snapshot) {
    return std::ranges::any_of(
        snapshot.threads, [](const auto& thread) { return thread.os.name == ".NET Finalizer"; });
  };
  if (!evidence.live || evidence.snapshots.size() < 2 ||
      std::ranges::any_of(evidence.snapshots, has_finalizer))
    return {};
  return suspending_setting(evidence.process.environment);
}

std::string counted(std::size_t count, std::string_view noun) {
  return analyze::counted(count, noun);
}

}  // namespace clrscope::doctor
