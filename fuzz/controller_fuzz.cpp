// What anybody may send to the controller before it knows them: paths, queries, cookies, keys,
// where to go after signing in; and the file of keys.
//
// The corpus are whole requests and files of keys; tests/data/fuzz/controller/.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "base/result.h"
#include "http/access.h"
#include "http/audit.h"
#include "http/exposure.h"
#include "http/keys.h"
#include "http/router.h"
#include "net/http_parser.h"
#include "site/origin.h"
#include "site/sign_in_page.h"

namespace {

using namespace clrscope;
using namespace clrscope::http;

constexpr net::HttpLimits kLimits{.head = 4000, .fields = 30, .body = 4000};

const Router& router() {
  static const Router kRouter{route_groups()};
  return kRouter;
}

void ask(const net::HttpRequest& request) {
  const auto match = router().find(request.method, request.path);
  if (match.route) {
    CHECK(match.values.size() <= request.path.size());
    for (const auto& value : match.values) CHECK(value.find('/') == std::string::npos);
    for (const auto& parameter : match.route->parameters) (void)request.parameter(parameter.name);
  }
  static ServeSetting setting;
  static Keys keys{"/nowhere"};
  static Access access{setting, keys};
  // There is no key and no visit: whatever is sent, nobody is let in.
  const auto who = access.identify(request);
  CHECK(std::holds_alternative<net::HttpResponse>(who));
  (void)site::from_own_page(request);
  (void)site::from_foreign_page(request, true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = as_text(Bytes{data, size});
  net::HttpRequestParser parser{kLimits};
  std::string buffer{text};
  for (std::size_t used = 1; used > 0 && !buffer.empty() &&
                             parser.phase() != net::HttpPhase::kDone &&
                             parser.phase() != net::HttpPhase::kBad;)
    buffer.erase(0, used = parser.put(buffer));
  if (parser.phase() == net::HttpPhase::kDone) ask(parser.request());

  const auto place = site::own_place(text);
  CHECK(place.starts_with('/') && !place.starts_with("//"));
  CHECK(place.find_first_of("\r\n\\") == std::string::npos);
  CHECK(site::sign_in_page({}, "", text, text).find("<script") == std::string::npos);
  const auto line = json_text(Use{.caller = std::string{text}, .target = without_secrets(text)});
  CHECK(line.find('\n') == std::string::npos && read_json(line));
  (void)http::parse_url(text);
  if (const auto keys = parse_keys(text)) {
    const auto again = parse_keys(text_of(*keys));
    CHECK(again && again->size() == keys->size());
  }
  return 0;
}
