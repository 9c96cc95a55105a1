// An examination as people read it in a terminal: what is wrong, how sure, what to do.
#pragma once

#include <string>

#include "cli/console.h"
#include "ops/examine.h"

namespace clrscope::cli {

std::string doctor_text(const doctor::Examination& examination, const Console& console);
std::string registry_text(std::size_t width);

}  // namespace clrscope::cli
