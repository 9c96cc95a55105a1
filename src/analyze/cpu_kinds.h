// Whose native code it is, by the file it lies in and the name it has.
#pragma once

#include <optional>
#include <string_view>

#include "analyze/profile.h"

namespace clrscope::analyze {

// `symbol` may be empty. A managed image whose methods nobody named is managed all the same.
FrameKind kind_of_native(std::string_view path, std::string_view symbol);

// A thread on which the runtime does nothing but collect: its libcoreclr frames are the
// collector's.
bool is_gc_thread(std::string_view name);

// A jitted method as perf maps write it: "void [Shop] Shop.Cart::Add(int32)[Tier0]". Nothing for
// any other text.
std::optional<Frame> frame_of_jit_symbol(std::string_view symbol);

}  // namespace clrscope::analyze
