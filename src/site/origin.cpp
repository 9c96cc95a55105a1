#include "site/origin.h"

#include "base/text.h"

namespace clrscope::site {
namespace {

// "host:port" of an address.
std::string_view authority_of(std::string_view address) {
  const auto at = address.find("://");
  if (at == std::string_view::npos) return {};
  const auto rest = address.substr(at + 3);
  return rest.substr(0, rest.find_first_of("/?#"));
}

bool is_own(const net::HttpRequest& head, std::string_view address) {
  const auto host = head.field("Host");
  const auto authority = authority_of(address);
  return host && !authority.empty() && equal_ignoring_case(authority, trim(*host));
}

bool is_link(const net::HttpRequest& head) {
  return (head.method == "GET" || head.method == "HEAD") &&
         head.field("Sec-Fetch-Mode") == "navigate" && head.field("Sec-Fetch-Dest") == "document";
}

}  // namespace

bool from_own_page(const net::HttpRequest& head) {
  if (const auto site = head.field("Sec-Fetch-Site")) return *site == "same-origin";
  const auto origin = head.field("Origin");
  return origin && is_own(head, *origin);
}

bool from_foreign_page(const net::HttpRequest& head, bool to_page) {
  if (const auto site = head.field("Sec-Fetch-Site"))
    return *site != "same-origin" && *site != "none" && !(to_page && is_link(head));
  // Old browsers, and all of them over plain HTTP beyond loopback.
  if (const auto origin = head.field("Origin")) return !is_own(head, *origin);
  if (const auto referer = head.field("Referer")) return !is_own(head, *referer);
  return false;
}

}  // namespace clrscope::site
