// The application's method that a compiled expression calls.
//
// ASP.NET compiles an expression for each endpoint and action ("lambda_method94"). The handler is
// often inlined into it: then no frame of the application is on the stack, and this is the only way
// to its name.
#pragma once

#include <optional>

#include "inspect/objects.h"

namespace clrscope::inspect {

// Nothing when it calls none, or what it calls cannot be read.
std::optional<MethodInfo> called_by_lambda(Objects& objects, RuntimeReader& reader,
                                           const MethodInfo& lambda);

}  // namespace clrscope::inspect
