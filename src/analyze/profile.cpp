#include "analyze/profile.h"

#include <algorithm>

#include "symbols/method_name.h"

namespace clrscope::analyze {

bool is_unnamed_lambda(const Frame& frame) {
  return frame.kind == FrameKind::kDynamic && is_lambda_name(frame.method);
}

std::string place_text(const Frame& frame) {
  if (frame.line == 0) return {};
  const auto slash = frame.file.find_last_of("/\\");
  return frame.file.substr(slash == std::string::npos ? 0 : slash + 1) + ":" +
         std::to_string(frame.line);
}

std::string_view to_string(FrameKind kind) {
  switch (kind) {
    case FrameKind::kUnknown:
      return "unknown";
    case FrameKind::kManaged:
      return "managed";
    case FrameKind::kFramework:
      return "framework";
    case FrameKind::kDynamic:
      return "dynamic";
    case FrameKind::kNative:
      return "native";
    case FrameKind::kKernel:
      return "kernel";
    case FrameKind::kRuntime:
      return "runtime";
    case FrameKind::kGc:
      return "gc";
    case FrameKind::kJit:
      return "jit";
  }
  return "unknown";
}

std::string_view to_string(ThreadState state) {
  switch (state) {
    case ThreadState::kUnknown:
      return "unknown";
    case ThreadState::kRunning:
      return "running";
    case ThreadState::kWaiting:
      return "waiting";
  }
  return "unknown";
}

void Profile::frames_of(StackNodeId stack, std::vector<FrameId>& out) const {
  out.clear();
  for (StackNodeId at = stack; at != kNoStack; at = node(at).parent) out.push_back(node(at).frame);
  std::reverse(out.begin(), out.end());
}

}  // namespace clrscope::analyze
