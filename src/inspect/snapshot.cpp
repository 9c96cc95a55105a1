#include "inspect/snapshot.h"

namespace clrscope::inspect {

std::string_view name_of(FrameKind kind) {
  switch (kind) {
    case FrameKind::kManaged:
      return "managed";
    case FrameKind::kFramework:
      return "framework";
    case FrameKind::kRuntime:
      return "runtime";
    case FrameKind::kNative:
      return "native";
    case FrameKind::kStub:
      return "stub";
  }
  return "?";
}

std::string_view name_of(WaitKind kind) {
  switch (kind) {
    case WaitKind::kMonitor:
      return "Monitor";
    case WaitKind::kMonitorWait:
      return "Monitor.Wait";
    case WaitKind::kLock:
      return "Lock";
    case WaitKind::kReaderWriter:
      return "ReaderWriterLockSlim";
    case WaitKind::kSemaphore:
      return "SemaphoreSlim";
    case WaitKind::kEvent:
      return "ManualResetEventSlim";
    case WaitKind::kTask:
      return "Task";
    case WaitKind::kJoin:
      return "Thread.Join";
    case WaitKind::kWaitHandle:
      return "WaitHandle";
    case WaitKind::kSleep:
      return "Sleep";
    case WaitKind::kPoolIdle:
      return "idle pool worker";
    case WaitKind::kIo:
      return "I/O";
  }
  return "?";
}

}  // namespace clrscope::inspect
