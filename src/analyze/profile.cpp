#include "analyze/profile.h"

#include <algorithm>
#include <array>

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

std::span<const std::string_view> names_of(FrameKind) {
  static constexpr std::array<std::string_view, kFrameKinds> kNames{
      "unknown", "managed", "framework", "dynamic", "native", "kernel", "runtime", "gc", "jit"};
  return kNames;
}

std::string_view to_string(FrameKind kind) {
  const auto names = names_of(kind);
  const auto at = static_cast<std::size_t>(kind);
  return names[at < names.size() ? at : 0];
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
