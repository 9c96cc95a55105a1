#include "site/accept.h"

#include <algorithm>

#include "base/text.h"
#include "site/answer.h"

namespace clrscope::site {

std::optional<std::string> accept_of(const net::HttpRequest& head) {
  if (head.method == "GET" || head.method == "HEAD")
    if (auto named = head.parameter("accept")) {
      std::ranges::replace(*named, ' ', '+');  // accept=application/speedscope+json
      return named;
    }
  const auto field = head.field("Accept");
  return field ? std::optional{std::string{*field}} : std::nullopt;
}

std::string_view best_type(std::string_view types, const std::optional<std::string>& accept) {
  std::string_view best;
  double quality = 0;
  for (const auto type : split(types, ' ')) {
    const auto liked = type.empty() ? 0 : net::accept_quality(accept, type);
    if (liked > quality) quality = liked, best = type;
  }
  return best;
}

bool prefers_html(std::string_view types, const std::optional<std::string>& accept) {
  const auto best = best_type(types, accept);
  return net::accept_quality(accept, kHtml) >
         (best.empty() ? 0 : net::accept_quality(accept, best));
}

}  // namespace clrscope::site
