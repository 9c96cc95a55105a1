// What a browser gets instead of a 401: a page that says what to do, and takes a key.
#pragma once

#include <string>
#include <string_view>

#include "site/visits.h"

namespace clrscope::site {

// `next` is the page to show afterwards: a path of ours with its query, without the base path.
// `reason`: why the last attempt failed, or empty.
std::string sign_in_page(const Visits::Setting& server, std::string_view base_path,
                         std::string_view next, std::string_view reason);

// A page that leads on by itself, with a link for browsers that do not follow.
std::string signed_in_page(std::string_view place);

// A path that a redirect may lead to: one of this server, whatever was sent; else "/".
std::string own_place(std::string_view next);

}  // namespace clrscope::site
