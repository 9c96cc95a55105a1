// The one document of the web app. It holds no data: the app asks the data routes for them.
//
// Every address of a page is answered with it. The list of these, pages.inc, is made by
// web/build.mjs from the app's own (web/src/pages).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/route.h"

namespace clrscope::http {

bool is_page(std::string_view path);

// The route to answer with instead of `data`, which is that of the path or null: the shell, for who
// prefers HTML and asks for a page or for an address that does not exist. Null: none.
const Route* shell_route(std::string_view path, const Route* data,
                         const std::optional<std::string>& accept);

// Where the same can be read without a script: `target` as text, or what tells the most of it as
// text; JSON where there is none. What has neither leads to the list of processes. `target` is
// without the base path.
std::string text_link(std::string_view base_path, std::string_view target, const Route* data);

}  // namespace clrscope::http
