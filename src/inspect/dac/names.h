// Names as the runtime's data access library writes them, in the manner of this program: see
// symbols/method_name.h for methods and runtime_reader.h for types.
#pragma once

#include <string>
#include <string_view>

#include "inspect/dac/wire.h"

namespace clrscope::inspect::dac {

// "List`1[[System.String, System.Private.CoreLib]]" → "List`1[System.String]".
std::string readable_type(std::string_view name);
// "Shop.Cart.Add(Int32, System.String ByRef)" → "Shop.Cart.Add(int, string&)".
std::string readable_full_name(std::string_view name);
std::string readable_method(const RawMethod& method);

}  // namespace clrscope::inspect::dac
