#include "inspect/frame_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "inspect/compiled_lambda.h"
#include "symbols/method_name.h"
#include "unwind/code_map.h"

namespace clrscope::inspect {

FrameKind kind_of_native_file(std::string_view path) {
  constexpr std::array<std::string_view, 8> kRuntimeFiles{
      "libcoreclr",    "libclrjit",       "libclrgc",    "libhostfxr",
      "libhostpolicy", "libmscordaccore", "libmscordbi", "libSystem.",
  };
  const auto file = path.substr(path.find_last_of('/') + 1);
  const bool runtime = file == "dotnet" || std::ranges::any_of(kRuntimeFiles, [&](auto name) {
                         return file.starts_with(name) && file.find(".so") != file.npos;
                       });
  return runtime ? FrameKind::kRuntime : FrameKind::kNative;
}

const NativeNames& FrameNames::names_of(const std::string& path) {
  const auto [slot, is_new] = native_.try_emplace(path);
  if (!is_new) return slot->second;
  const auto file = target_.open_file(path);
  if (!file) return slot->second;
  if (auto names = load_native_names(fmt::format("/proc/self/fd/{}", file->get())))
    slot->second = *std::move(names);
  return slot->second;
}

Frame FrameNames::native_frame(std::uint64_t pc) {
  Frame frame;
  const auto* mapping = walker_.mapping_at(pc);
  if (!mapping) return frame;
  if (unwind::is_jit_mapping(mapping->path)) {
    frame.kind = FrameKind::kStub;  // code made at run time that is no method's
    return frame;
  }
  frame.kind = kind_of_native_file(mapping->path);
  frame.module = module_name(mapping->path);
  if (naming_ == NativeNaming::kModuleOnly) return frame;
  if (const auto place = walker_.native_place(pc); place && place->path->starts_with('/'))
    frame.method = names_of(*place->path).name_at(place->vaddr);
  return frame;
}

Frame FrameNames::lambda_frame(const MethodInfo& lambda) {
  if (!objects_) objects_.emplace(target_, *reader_, walker_);
  const auto called = called_by_lambda(*objects_, *reader_, lambda);
  if (!called) return {.method = lambda.name, .kind = FrameKind::kManaged};
  Frame frame{.method = lambda_name(lambda.name, called->name),
              .module = module_name(called->module),
              .kind = FrameKind::kManaged};
  if (auto line = lines_ ? lines_->start_of(*called) : std::nullopt) {
    frame.file = std::move(line->file);
    frame.line = line->line;
  }
  return frame;
}

Frame FrameNames::managed_frame(const MethodInfo& method, std::uint64_t pc) {
  if (is_lambda_name(method.name)) return lambda_frame(method);
  Frame frame{.method = method.name, .module = module_name(method.module)};
  frame.kind = is_framework_module(method.module) ? FrameKind::kFramework : FrameKind::kManaged;
  if (!lines_) return frame;
  if (auto line = lines_->find(method, pc)) {
    frame.file = std::move(line->file);
    frame.line = line->line;
  }
  return frame;
}

const Frame& FrameNames::known_at(std::uint64_t pc) {
  const auto [slot, is_new] = known_.try_emplace(pc);
  if (!is_new) return slot->second;
  // Native code is in files that hold no managed code: the runtime need not be asked.
  if (reader_ && !walker_.native_place(pc))
    if (const auto method = reader_->method_at(pc))
      return slot->second = managed_frame(*method, pc);
  return slot->second = native_frame(pc);
}

Frame FrameNames::name(const unwind::Frame& walked) {
  auto frame = known_at(walked.lookup_pc());
  frame.pc = walked.pc;
  frame.sp = walked.sp;
  return frame;
}

}  // namespace clrscope::inspect
