// The page that a browser gets instead of a 401: says what to do, and takes a key.
#pragma once

#include <string>
#include <string_view>

namespace clrscope::http {

// `next` is where it goes on: a path of ours with its query. `reason`: why the last try failed.
std::string sign_in_page(std::string_view base_path, std::string_view next,
                         std::string_view reason);

// A page that leads on by itself, with a link for those whose browser does not.
std::string go_on_page(std::string_view place);

// A path that a redirect may lead to: one of this server, whatever was sent; else "/".
std::string own_place(std::string_view next);

}  // namespace clrscope::http
