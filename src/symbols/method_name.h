// The name of a managed method as people read it, from what the runtime's events say of it.
//
// One manner everywhere: `Namespace.Type.Method(int, string,
// System.Collections.Generic.List`1<!0>)`. The type is as the runtime writes it (nested types with
// '+', instantiations in brackets), the arguments have C#'s words for the built-in types and full
// names for the others. No return type, no `instance`, no tier.
#pragma once

#include <string>
#include <string_view>

namespace clrscope {

// "instance void  (int32,class System.String)" → "(int, string)"; "" when there is no list.
std::string readable_arguments(std::string_view signature);

std::string method_name(std::string_view type, std::string_view name, std::string_view signature);

// Whether a method is a compiled expression: "dynamicClass.lambda_method94(…)".
bool is_lambda_name(std::string_view method);
// The same with the method that it calls: "lambda_method94 → Shop.Cart.Add(int)".
std::string lambda_name(std::string_view lambda, std::string_view called);

// "Shop.Cart.Load" from the type of a state machine or of its box, lambdas and local functions
// included: "Shop.Cart.Load (lambda)"; the type itself when it is none of an async method.
std::string async_title(std::string_view type_name);
// The same from a method without arguments: "Shop.Cart+<Load>d__3.MoveNext" and
// "Shop.Cart+<>c.<Load>b__3_0"; the name itself when the compiler did not make it.
std::string method_title(std::string_view method);

// "/app/Shop.Core.dll" → "Shop.Core"; of native libraries the whole file name.
std::string module_name(std::string_view path);

// Whether a module belongs to .NET or ASP.NET itself, by its folder or, in a self-contained app, by
// its name.
bool is_framework_module(std::string_view path);

}  // namespace clrscope
