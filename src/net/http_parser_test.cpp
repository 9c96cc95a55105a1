#include "net/http_parser.h"

#include <gtest/gtest.h>

namespace clrscope::net {
namespace {

// All of it at once, then on from where the parser stopped, as the server does.
HttpRequestParser parsed(std::string_view text, HttpLimits limits = {}) {
  HttpRequestParser parser{limits};
  for (int i = 0; i < 1000 && !text.empty(); ++i) {
    const auto used = parser.put(text);
    text.remove_prefix(used);
    parser.begin_body();
    if (parser.phase() == HttpPhase::kDone || parser.phase() == HttpPhase::kBad) break;
    if (used == 0) break;
  }
  return parser;
}

int status_of(std::string_view text, HttpLimits limits = {}) {
  const auto parser = parsed(text, limits);
  return parser.phase() == HttpPhase::kBad ? parser.status() : 0;
}

TEST(HttpRequestParser, TakesARequestApart) {
  auto parser =
      parsed("GET /a%20b/c?x=1&name=%C3%BC+y HTTP/1.1\r\nHost: h:1\r\nAccept: */*\r\n\r\n");
  ASSERT_EQ(parser.phase(), HttpPhase::kDone) << parser.why();
  const auto& request = parser.request();
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "/a b/c");
  EXPECT_EQ(request.parameter("name"), "ü y");
  EXPECT_EQ(request.parameter("x"), "1");
  EXPECT_EQ(request.parameter("none"), std::nullopt);
  EXPECT_EQ(request.field("HOST"), "h:1");
  EXPECT_TRUE(request.keep_alive);
}

TEST(HttpRequestParser, ReadsByteByByte) {
  const std::string_view text =
      "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n "
      "world\r\n0\r\nX-Trailer: 1\r\n\r\n";
  HttpRequestParser parser{{}};
  std::string buffer;
  for (const char c : text) {
    buffer += c;
    for (std::size_t used = 1; used > 0 && !buffer.empty();)
      buffer.erase(0, used = parser.put(buffer));
  }
  ASSERT_EQ(parser.phase(), HttpPhase::kDone) << parser.why();
  EXPECT_EQ(parser.request().body, "hello world");
  EXPECT_EQ(parser.request().field("X-Trailer"), std::nullopt);
  EXPECT_TRUE(buffer.empty());
}

TEST(HttpRequestParser, ReadsAnEmptyBodyByteByByte) {
  HttpRequestParser parser{{}};
  std::string buffer = "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  buffer.erase(0, parser.put(buffer));
  for (const char c : std::string_view{"0\r\n\r\n"}) {
    buffer += c;
    buffer.erase(0, parser.put(buffer));
  }
  EXPECT_EQ(parser.phase(), HttpPhase::kDone) << parser.why();
}

TEST(HttpRequestParser, LeavesTheNextRequestAlone) {
  HttpRequestParser parser{{}};
  const std::string_view two =
      "GET /1 HTTP/1.1\r\nHost: h\r\n\r\nGET /2 HTTP/1.1\r\nHost: h\r\n\r\n";
  EXPECT_EQ(parser.put(two), two.size() / 2);
  EXPECT_EQ(parser.phase(), HttpPhase::kDone);
}

TEST(HttpRequestParser, StopsAfterTheHeadSoThatTheBodyCanBeRefused) {
  HttpRequestParser parser{{}};
  const std::string_view text = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc";
  EXPECT_EQ(parser.put(text), text.size() - 3);
  EXPECT_EQ(parser.phase(), HttpPhase::kBody);
  parser.limit_body(2);
  parser.put("abc");
  EXPECT_EQ(parser.status(), 413);
}

TEST(HttpRequestParser, TakesALongerBodyWhereThatIsAllowed) {
  const std::string_view head = "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n";
  HttpRequestParser parser{{.body = 2}};
  parser.put(head);
  EXPECT_EQ(parser.phase(), HttpPhase::kBody);
  parser.limit_body(3);
  parser.begin_body();
  parser.put("abc");
  EXPECT_EQ(parser.phase(), HttpPhase::kDone) << parser.why();
}

TEST(HttpRequestParser, GivesTheBodyToWhomItWasPromised) {
  HttpRequestParser parser{{}};
  std::string got;
  parser.body_to([&](std::string_view bytes) { return got += bytes, true; });
  parser.put("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n");
  parser.put("abc");
  EXPECT_EQ(parser.phase(), HttpPhase::kDone);
  EXPECT_EQ(got, "abc");
  EXPECT_TRUE(parser.request().body.empty());
}

TEST(HttpRequestParser, RefusesWhatIsNotARequest) {
  for (const std::string_view bad : {
           "\x16\x03\x01\x02",
           "GET\r\n\r\n",
           "GET / HTTP/1.1\r\nHost h\r\n\r\n",
           "GET / HTTP/1.1\r\n\r\n",                                    // no host
           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",              // two
           "GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n",                   // no path
           "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n",                      // no byte
           "GET /a%00b HTTP/1.1\r\nHost: a\r\n\r\n",                    // hides the rest
           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",  //
           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: "
           "chunked\r\n\r\n",
           "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx",
       })
    EXPECT_EQ(status_of(bad), 400) << bad;
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
}

TEST(HttpRequestParser, LimitsHeadAndBody) {
  const HttpLimits limits{.head = 1000, .fields = 10, .body = 100};
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(status_of(start + "X: " + std::string(2000, 'x'), limits), 431);
  EXPECT_EQ(status_of(start + "X: " + std::string(2000, 'x') + "\r\n\r\n", limits), 431);
  std::string many = start;
  for (int i = 0; i < 20; ++i) many += "X: 1\r\n";
  EXPECT_EQ(status_of(many + "\r\n", limits), 431);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n", limits), 413);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n65\r\n" +
                          std::string(101, 'x') + "\r\n0\r\n\r\n",
                      limits),
            413);
}

TEST(HttpRequestParser, LimitsAHeadThatComesLineByLine) {
  HttpRequestParser parser{{.head = 1000, .fields = 1'000'000}};
  parser.put("GET / HTTP/1.1\r\nHost: a\r\n");
  std::string buffer;
  for (int i = 0; i < 1000 && parser.phase() == HttpPhase::kHead; ++i) {
    buffer += "X: 12345\r\n";
    buffer.erase(0, parser.put(buffer));
  }
  EXPECT_EQ(parser.status(), 431);
}

TEST(HttpRequestParser, LimitsAChunkHeadWithoutAnEnd) {
  HttpRequestParser parser{{.head = 1000}};
  parser.put("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string buffer = "1;";
  for (int i = 0; i < 100 && parser.phase() == HttpPhase::kBody; ++i) {
    buffer += std::string(100, 'x');
    buffer.erase(0, parser.put(buffer));
  }
  EXPECT_EQ(parser.status(), 400);
}

TEST(HttpResponseParser, ReadsABodyThatEndsWithTheConnection) {
  HttpResponseParser parser{{}};
  std::string_view text = "HTTP/1.0 200 OK\r\nServer: x\r\n\r\nhello";
  text.remove_prefix(parser.put(text));
  parser.put(text);
  EXPECT_EQ(parser.phase(), HttpPhase::kBody);
  parser.put_end();
  ASSERT_EQ(parser.phase(), HttpPhase::kDone);
  EXPECT_EQ(parser.response().body, "hello");
  EXPECT_EQ(parser.response().status, 200);
}

TEST(HttpResponseParser, SeesThatAnAnswerIsCut) {
  HttpResponseParser parser{{}};
  std::string_view text = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
  text.remove_prefix(parser.put(text));
  parser.put(text);
  parser.put_end();
  EXPECT_EQ(parser.phase(), HttpPhase::kBad);
  HttpResponseParser nothing{{}};
  nothing.put_end();
  EXPECT_EQ(nothing.phase(), HttpPhase::kBad);
}

TEST(ResponseHead, KeepsAFieldInItsLine) {
  const auto head = response_head({.fields = {{"X-Name", "a\r\nSet-Cookie: b"}}},
                                  HttpFraming::kLength, 0, true, "");
  EXPECT_EQ(head.find("\r\nSet-Cookie"), std::string::npos);
}

TEST(AcceptQuality, PrefersTheMorePreciseWord) {
  const std::string_view accept = "text/html;q=0.8, */*;q=0.1,application/json";
  EXPECT_EQ(accept_quality(accept, "application/json"), 1);
  EXPECT_EQ(accept_quality(accept, "text/html"), 0.8);
  EXPECT_EQ(accept_quality(accept, "text/plain"), 0.1);
  EXPECT_EQ(accept_quality(std::nullopt, "text/plain"), 1);
  EXPECT_EQ(accept_quality("text/html", "text/plain"), 0);
}

TEST(HttpDate, IsWrittenAsHttpWantsIt) {
  EXPECT_EQ(http_date(784111777), "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace clrscope::net
