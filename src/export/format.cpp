#include "export/format.h"

#include "base/text.h"

namespace clrscope::exports {

#define FORMAT(name) extern const Format name##_format;
#include "export/formats.inc"
#undef FORMAT

std::span<const Format* const> formats() {
  static constexpr const Format* kAll[] = {
#define FORMAT(name) &name##_format,
#include "export/formats.inc"
#undef FORMAT
  };
  return kAll;
}

const Format* find_format(std::string_view name) {
  for (const auto* format : formats())
    if (equal_ignoring_case(format->name, name)) return format;
  return nullptr;
}

}  // namespace clrscope::exports
