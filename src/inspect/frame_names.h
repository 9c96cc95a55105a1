// Frames of a walk to frames that people read: method, module, kind, line.
//
// Each address is asked about once. Names of native functions are made per file, only when they are
// wanted: that of the runtime alone has fifty thousand. Belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "inspect/objects.h"
#include "inspect/runtime_reader.h"
#include "inspect/snapshot.h"
#include "inspect/source_lines.h"
#include "inspect/walk.h"
#include "symbols/native_names.h"

namespace clrscope::inspect {

enum class NativeNaming : std::uint8_t { kModuleOnly, kFunctions };

// What to show of code in a native file.
FrameKind kind_of_native_file(std::string_view path);

class FrameNames {
 public:
  // `reader` may be null, and `lines` when no lines are wanted; all outlive the object.
  FrameNames(Target& target, Walker& walker, RuntimeReader* reader, NativeNaming naming,
             SourceLines* lines)
      : target_(target), walker_(walker), reader_(reader), naming_(naming), lines_(lines) {}

  Frame name(const unwind::Frame& frame);

 private:
  const Frame& known_at(std::uint64_t pc);
  Frame managed_frame(const MethodInfo& method, std::uint64_t pc);
  Frame lambda_frame(const MethodInfo& lambda);
  Frame native_frame(std::uint64_t pc);
  const NativeNames& names_of(const std::string& path);

  Target& target_;
  Walker& walker_;
  RuntimeReader* reader_;
  NativeNaming naming_;
  SourceLines* lines_;
  std::unordered_map<std::uint64_t, Frame> known_;  // by lookup address
  std::optional<Objects> objects_;                  // made when first needed
  std::map<std::string, NativeNames> native_;
};

}  // namespace clrscope::inspect
