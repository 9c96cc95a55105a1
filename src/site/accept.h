// Which media type a request is answered with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/http_message.h"

namespace clrscope::site {

// The Accept field; the query parameter `accept` of a GET overrides it, for links.
std::optional<std::string> accept_of(const net::HttpRequest& head);

// That of `types` ("application/json text/plain") which is liked best; of those liked alike the
// first. Empty: none is acceptable.
std::string_view best_type(std::string_view types, const std::optional<std::string>& accept);

// Whether the request comes from someone who reads pages: HTML is liked better than `types`.
bool prefers_html(std::string_view types, const std::optional<std::string>& accept);

}  // namespace clrscope::site
