#include "net/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <thread>

#include "base/io.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "net/test_certificate.h"

namespace clrscope::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kLong = 60s;

// A server that answers each connection with fixed bytes once something came, then closes.
class Rude {
 public:
  explicit Rude(std::string bytes) : bytes_(std::move(bytes)) {}
  const Address& address() const { return listening_.address; }

 private:
  void run(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      if (!wait_readable(listening_.fd.get(), Deadline{50ms}).value_or(false)) continue;
      const UniqueFd one{::accept(listening_.fd.get(), nullptr, nullptr)};
      std::uint8_t buffer[4096];
      (void)receive_some(one.get(), buffer, Deadline{kLong});
      (void)send_all(one.get(), as_bytes(bytes_), Deadline{kLong});
    }
  }

  const std::string bytes_;
  Listening listening_ = listen_at({.host = "127.0.0.1", .port = "0"}).value();
  std::jthread thread_{[this](std::stop_token stop) { run(stop); }};
};

TEST(ParseUrl, TakesUrlsApart) {
  const auto url = parse_url("https://host:4318/v1/metrics?key=secret").value();
  EXPECT_TRUE(url.tls);
  EXPECT_EQ(url.address.port, "4318");
  EXPECT_EQ(url.path, "/v1/metrics?key=secret");
  EXPECT_EQ(url.text(), "https://host:4318/v1/metrics");
  EXPECT_EQ(parse_url("http://[::1]:80")->address.host, "::1");
  EXPECT_EQ(parse_url("http://host")->address.port, "80");
  EXPECT_EQ(parse_url("https://host?x")->path, "/?x");
  for (const auto* bad : {"", "host", "ftp://h/", "http://", "http://u:p@h/", "http://h/a b",
                          "http://h:x/", "http://unix:/x"})
    EXPECT_FALSE(parse_url(bad)) << bad;
}

TEST(HttpClient, AsksAndKeepsItsConnection) {
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"}});
  const auto server = HttpServer::start(setting, [](HttpRequest request, HttpReply reply) {
                        reply.send({.status = 202,
                                    .body = request.body + "/" +
                                            std::string{request.field("X-Key").value_or("-")}});
                      }).value();
  HttpClient client{{.address = server->addresses()[0], .path = "/v1"}};
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.ask("POST", {{"X-Key", "k"}}, "body", Deadline{kLong});
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->status, 202);
    EXPECT_EQ(answer->body, "body/k");
  }
  EXPECT_EQ(server->state().accepted, 1U);
  EXPECT_FALSE(client.ask("GET", {{"X", "a\r\nY: b"}}, {}, Deadline{kLong}));
}

TEST(HttpClient, AsksAgainWhenARestingConnectionWasClosed) {
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"}});
  setting.idle_time = 100ms;
  const auto server = HttpServer::start(setting, [](HttpRequest, HttpReply reply) {
                        reply.send({.body = "here"});
                      }).value();
  HttpClient client{{.address = server->addresses()[0]}};
  ASSERT_TRUE(client.ask("GET", {}, {}, Deadline{kLong}));
  for (const Deadline deadline{kLong}; server->state().open > 0 && !deadline.passed();)
    std::this_thread::sleep_for(5ms);
  const auto answer = client.ask("GET", {}, {}, Deadline{kLong});
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->body, "here");
}

TEST(HttpClient, SpeaksTlsWithOurServer) {
  const TestCertificate certificate;
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"},
                               .tls = TlsContext::server({.certificate = certificate.certificate(),
                                                          .key = certificate.key()})
                                          .value()});
  const auto server = HttpServer::start(setting, [](HttpRequest request, HttpReply reply) {
                        EXPECT_TRUE(request.peer.tls);
                        reply.send({.body = std::string(300'000, 'a') + request.body});
                      }).value();
  HttpClient client{
      {.tls = true, .address = server->addresses()[0]},
      TlsContext::client(certificate.certificate(), TlsContext::Trust::kVerify).value()};
  for (int i = 0; i < 3; ++i) {
    const auto answer = client.ask("POST", {}, std::string(200'000, 'b'), Deadline{kLong});
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->body.size(), 500'000U);
  }
  EXPECT_EQ(server->state().accepted, 1U);
  HttpClient suspicious{{.tls = true, .address = server->addresses()[0]}};
  const auto refused = suspicious.ask("GET", {}, {}, Deadline{kLong});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("is not trusted"));
  HttpClient plain{{.address = server->addresses()[0]}};
  EXPECT_FALSE(plain.ask("GET", {}, {}, Deadline{kLong}));
}

TEST(HttpClient, SaysWhatIsWrongWithAnAnswer) {
  for (const std::string bytes :
       {"", "garbage\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\nx"}) {
    const Rude rude{bytes};
    HttpClient client{{.address = rude.address()}};
    const auto answer = client.ask("GET", {}, {}, Deadline{kLong});
    ASSERT_FALSE(answer) << bytes;
    EXPECT_THAT(answer.error().what, HasSubstr(rude.address().text())) << bytes;
  }
}

TEST(HttpClient, TellsAnAnswerThatIsTooLargeFromADamagedOne) {
  for (const std::string head :
       {"Content-Length: 5\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\n"}) {
    const Rude rude{"HTTP/1.1 200 OK\r\n" + head + "abcde\r\n0\r\n\r\n"};
    HttpClient client{{.address = rude.address()}};
    client.limit_answer(4);
    EXPECT_EQ(client.ask("GET", {}, {}, Deadline{kLong}).error().code, Errc::kTooLarge) << head;
    client.limit_answer(5);
    EXPECT_TRUE(client.ask("GET", {}, {}, Deadline{kLong})) << head;
  }
}

TEST(HttpClient, GivesALongAnswerInPiecesAndKeepsItsConnection) {
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"}});
  const std::string whole(3'000'000, 'x');
  const auto server = HttpServer::start(setting, [&](HttpRequest, HttpReply reply) {
                        reply.stream({.body = whole})->end();
                      }).value();
  HttpClient client{{.address = server->addresses()[0]}};
  client.limit_answer(~std::uint64_t{0});
  for (int i = 0; i < 2; ++i) {
    const auto head = client.begin("GET", {}, {}, Deadline{kLong});
    ASSERT_TRUE(head) << head.error().what;
    EXPECT_EQ(head->status, 200);
    std::size_t got = 0, largest = 0;
    std::string piece;
    while (client.more(piece, Deadline{kLong}).value()) {
      largest = std::max(largest, piece.size());
      got += piece.size();
      piece.clear();
    }
    EXPECT_EQ(got, whole.size());
    EXPECT_LE(largest, 64U << 10);
    EXPECT_FALSE(client.more(piece, Deadline{kLong}).value());
  }
  EXPECT_EQ(server->state().accepted, 1U);
}

TEST(HttpClient, GivesWhatCameBeforeTheConnectionBroke) {
  const Rude rude{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n"};
  HttpClient client{{.address = rude.address()}};
  ASSERT_TRUE(client.begin("GET", {}, {}, Deadline{kLong}));
  std::string piece;
  auto more = client.more(piece, Deadline{kLong});
  while (more && *more) more = client.more(piece, Deadline{kLong});
  ASSERT_FALSE(more);
  EXPECT_EQ(piece, "abcde");
  EXPECT_THAT(more.error().what, HasSubstr("truncated"));
}

TEST(HttpClient, ReadsChunksOfAByte) {
  std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const char c : {'a', 'b', 'c'}) bytes += std::string{"1\r\n"} + c + "\r\n";
  const Rude rude{bytes + "0\r\n\r\n"};
  HttpClient client{{.address = rude.address()}};
  EXPECT_EQ(client.ask("GET", {}, {}, Deadline{kLong}).value().body, "abc");
}

TEST(HttpClient, GivesUpWhatIsNotReadAndAsksAnew) {
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"}});
  const auto server = HttpServer::start(setting, [&](HttpRequest, HttpReply reply) {
                        reply.send({.body = std::string(500'000, 'x')});
                      }).value();
  HttpClient client{{.address = server->addresses()[0]}};
  ASSERT_TRUE(client.begin("GET", {}, {}, Deadline{kLong}));
  EXPECT_EQ(client.ask("GET", {}, {}, Deadline{kLong}).value().body.size(), 500'000U);
}

TEST(HttpClient, CanBeInterrupted) {
  const auto silent = listen_at({.host = "127.0.0.1", .port = "0"}).value();
  HttpClient client{{.address = silent.address}};
  const std::jthread other{[&] { client.interrupt(); }};
  EXPECT_FALSE(client.ask("GET", {}, {}, Deadline{kLong}));
}

TEST(HttpClient, GivesUpAtItsDeadline) {
  const auto silent = listen_at({.host = "127.0.0.1", .port = "0"}).value();
  HttpClient client{{.address = silent.address}};
  const auto answer = client.ask("GET", {}, {}, Deadline{200ms});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Errc::kTimeout);
}

}  // namespace
}  // namespace clrscope::net
