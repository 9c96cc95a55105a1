// Adds to a report what an agent in the process told about the same thing: stacks, times, owners.
//
// Nothing is added when no agent was loaded, or when it saw nothing of it.
#pragma once

#include <string_view>

#include "doctor/finding.h"

namespace clrscope::doctor {

void add_throws(Report& report, const Evidence& evidence, std::string_view type);
void add_lock_owner(Report& report, const Evidence& evidence, std::string_view method);
void add_allocation_stack(Report& report, const Evidence& evidence, std::string_view type);

}  // namespace clrscope::doctor
