// How a browser signs in: with the one-time address that a server prints, or with a key. Both are
// exchanged for a cookie. The answers of GET /sign-in, POST /sign-in/key and POST /sign-out.
#pragma once

#include <string>
#include <string_view>

#include "net/http_message.h"
#include "site/visits.h"

namespace clrscope::site {

// `base_path` stands before every path of the server; usually empty.
net::HttpResponse sign_in(Visits& visits, const net::HttpRequest& request,
                          std::string_view base_path);
net::HttpResponse sign_in_by_key(Visits& visits, const net::HttpRequest& request,
                                 std::string_view base_path);
net::HttpResponse sign_out(Visits& visits, const net::HttpRequest& request,
                           std::string_view base_path);

// For a browser, the page to sign in instead of this refusal; else the refusal as it is. `target`:
// what was asked for, without the base path.
net::HttpResponse refusal_page(const Visits& visits, const net::HttpRequest& head,
                               std::string_view base_path, std::string_view target,
                               net::HttpResponse refusal);

}  // namespace clrscope::site
