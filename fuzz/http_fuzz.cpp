// HTTP requests and answers from anybody, in pieces of any size: the same bytes must give the same
// message however they were cut, and never more than the limits.
//
// The corpus are requests and answers, good and bad; tests/data/fuzz/http/.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "net/http_client.h"
#include "net/http_parser.h"
#include "net/http_server.h"

namespace {

using namespace clrscope;
using namespace clrscope::net;

constexpr HttpLimits kLimits{.head = 2000, .fields = 20, .body = 3000};

struct Read {
  HttpPhase phase;
  std::string method, path, body;
  std::size_t fields;

  friend bool operator==(const Read&, const Read&) = default;
};

// As the server reads: what was not taken is offered again with what follows.
Read read_request(std::string_view bytes, std::size_t piece) {
  HttpRequestParser parser{kLimits};
  std::string buffer;
  while (!bytes.empty()) {
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (std::size_t used = 1; used > 0 && !buffer.empty();) {
      if (parser.phase() == HttpPhase::kDone || parser.phase() == HttpPhase::kBad) break;
      used = parser.put(buffer);
      CHECK(used <= buffer.size());
      buffer.erase(0, used);
    }
    CHECK(parser.phase() != HttpPhase::kHead || buffer.size() <= kLimits.head);
    if (parser.phase() == HttpPhase::kDone || parser.phase() == HttpPhase::kBad) break;
  }
  auto& request = parser.request();
  CHECK(request.body.size() <= kLimits.body);
  CHECK(request.fields.size() <= kLimits.fields);
  if (parser.phase() == HttpPhase::kBad) CHECK(parser.status() >= 400 && !parser.why().empty());
  if (parser.phase() == HttpPhase::kDone) {
    CHECK(request.path.find('\0') == std::string::npos);
    (void)request.parameter("x");
    (void)local_host_field(request.field("Host"), {"a"});
    (void)accept_quality(request.field("Accept"), "text/plain");
  }
  return {parser.phase(), request.method, request.path, request.body, request.fields.size()};
}

void read_response(std::string_view bytes, std::size_t piece) {
  HttpResponseParser parser{kLimits};
  std::string buffer;
  while (!bytes.empty() && parser.phase() != HttpPhase::kDone &&
         parser.phase() != HttpPhase::kBad) {
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (std::size_t used = 1; used > 0 && !buffer.empty();) {
      if (parser.phase() == HttpPhase::kDone || parser.phase() == HttpPhase::kBad) break;
      buffer.erase(0, used = parser.put(buffer));
    }
  }
  parser.put_end();
  CHECK(parser.phase() == HttpPhase::kDone || parser.phase() == HttpPhase::kBad);
  CHECK(parser.response().body.size() <= kLimits.body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = as_text(Bytes{data, size});
  const auto whole = read_request(text, text.size());
  for (const std::size_t piece : {1, 7}) {
    const auto cut = read_request(text, piece);
    // Where a message is bad may be seen earlier in one piece; that it is good may not differ.
    CHECK((whole.phase == HttpPhase::kDone) == (cut.phase == HttpPhase::kDone));
    if (whole.phase == HttpPhase::kDone) CHECK(whole == cut);
  }
  read_response(text, text.size());
  read_response(text, 3);
  (void)parse_url(text);
  (void)percent_decode(text, true);
  return 0;
}
