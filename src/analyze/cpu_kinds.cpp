#include "analyze/cpu_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "symbols/method_name.h"

namespace clrscope::analyze {
namespace {

using std::string_view;

constexpr std::array<string_view, 6> kRuntimeFiles{
    "libcoreclr", "libhostfxr", "libhostpolicy", "libmscordaccore", "libmscordbi", "libnethost",
};
constexpr std::array<string_view, 5> kCollectorNames{
    "gc_heap::", "WKS::", "SVR::", "GCHeap::", "gc_mark",
};

}  // namespace

FrameKind kind_of_native(string_view path, string_view symbol) {
  const auto file = path.substr(path.find_last_of('/') + 1);
  if (file.starts_with("libclrjit")) return FrameKind::kJit;
  if (file.starts_with("libclrgc")) return FrameKind::kGc;
  const auto begins = [file](string_view name) { return file.starts_with(name); };
  if (std::any_of(kRuntimeFiles.begin(), kRuntimeFiles.end(), begins)) {
    const auto inside = [symbol](string_view name) { return symbol.find(name) != symbol.npos; };
    return std::any_of(kCollectorNames.begin(), kCollectorNames.end(), inside)
               ? FrameKind::kGc
               : FrameKind::kRuntime;
  }
  if (file.starts_with("libSystem.") && file.find(".so") != file.npos) return FrameKind::kRuntime;
  if (file == "dotnet") return FrameKind::kRuntime;
  if (file.ends_with(".dll") || file.ends_with(".exe"))
    return is_framework_module(path) ? FrameKind::kFramework : FrameKind::kManaged;
  // What the runtime made at run time: with a name a stub or helper, else perhaps a method.
  if (path.find("doublemapper") != path.npos)
    return symbol.empty() ? FrameKind::kUnknown : FrameKind::kRuntime;
  return FrameKind::kNative;
}

bool is_gc_thread(string_view name) {
  return name.starts_with(".NET") &&
         (name.ends_with("GC") || name.find(" GC") != name.npos || name.find("BGC") != name.npos);
}

std::optional<Frame> frame_of_jit_symbol(string_view symbol) {
  const auto open = symbol.find(" [");
  const auto close = open == symbol.npos ? open : symbol.find("] ", open);
  const auto colons = close == symbol.npos ? close : symbol.find("::", close);
  if (colons == symbol.npos) return std::nullopt;
  const auto module = symbol.substr(open + 2, close - open - 2);
  const auto type = symbol.substr(close + 2, colons - close - 2);
  auto rest = symbol.substr(colons + 2);
  const auto tier = rest.rfind('[');
  if (tier != rest.npos && rest.ends_with(']') && tier > rest.rfind(')'))
    rest = rest.substr(0, tier);
  const auto arguments = rest.find('(');
  const auto name = rest.substr(0, arguments);
  const auto signature = arguments == rest.npos ? string_view{} : rest.substr(arguments);
  const bool framework = is_framework_module(std::string{module} + ".dll");
  // The recorder, which cannot tell what it returns, writes the arguments as we show them.
  const bool ours = symbol.starts_with("? [");
  return Frame{
      .method = ours ? fmt::format("{}.{}", type, rest) : method_name(type, name, signature),
      .module = std::string{module},
      .kind = framework ? FrameKind::kFramework : FrameKind::kManaged};
}

}  // namespace clrscope::analyze
