#include "net/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <latch>
#include <thread>

#include "base/guarded.h"
#include "net/listen.h"

namespace clrscope::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

constexpr auto kLong = 60s;  // a deadline that only a hanging test meets

// A client that sends the given bytes and reads the response.
class Client {
 public:
  explicit Client(const Address& address)
      : fd_(connect(address, Transport::kStream, Deadline{kLong}).value()) {}

  bool send(std::string_view text) {
    return send_all(fd_.get(), as_bytes(text), Deadline{kLong}).has_value();
  }
  // Until `part` came, or the end.
  const std::string& read_until(std::string_view part) {
    while (got_.find(part) == std::string::npos && read_more()) {
    }
    return got_;
  }
  const std::string& read_all() {
    while (read_more()) {
    }
    return got_;
  }
  // One answer with a Content-Length: its body; what follows stays.
  std::string answer() {
    HttpResponseParser parser{{}};
    for (;;) {
      while (!got_.empty() && parser.phase() != HttpPhase::kDone) {
        const auto used = parser.put(got_);
        got_.erase(0, used);
        if (used == 0) break;
      }
      if (parser.phase() == HttpPhase::kDone) return parser.response().body;
      if (parser.phase() == HttpPhase::kBad || !read_more()) return "no answer";
    }
  }
  bool read_more() {
    std::uint8_t buffer[4096];
    const auto count = receive_some(fd_.get(), buffer, Deadline{kLong});
    if (!count || *count == 0) return false;
    got_.append(reinterpret_cast<const char*>(buffer), *count);
    return true;
  }
  void half_close() { ::shutdown(fd_.get(), SHUT_WR); }
  void close() { fd_.reset(); }
  int fd() const { return fd_.get(); }

 private:
  UniqueFd fd_;
  std::string got_;
};

HttpServerSetting at_free_port() {
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"}});
  return setting;
}

std::unique_ptr<HttpServer> start(HttpServerSetting setting, HttpHandler handler) {
  auto server = HttpServer::start(std::move(setting), std::move(handler));
  EXPECT_TRUE(server) << server.error().what;
  return std::move(server).value();
}

void echo(HttpRequest request, HttpReply reply) {
  reply.send({.body = request.method + " " + request.path + " " + request.body});
}

template <class F>
bool eventually(F&& holds) {
  for (const Deadline deadline{kLong}; !deadline.passed(); std::this_thread::sleep_for(5ms))
    if (holds()) return true;
  return false;
}

TEST(HttpServer, AnswersSeveralRequestsOnOneConnection) {
  const auto server = start(at_free_port(), echo);
  Client client{server->addresses()[0]};
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n"));
    EXPECT_EQ(client.answer(), "GET /x ");
  }
  ASSERT_TRUE(client.send("GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"));
  EXPECT_THAT(client.read_all(), HasSubstr("Connection: close"));
  EXPECT_EQ(server->state().requests, 4U);
  EXPECT_EQ(server->state().accepted, 1U);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const auto server = start(at_free_port(), echo);
  Client client{server->addresses()[0]};
  std::string all;
  for (int i = 0; i < 100; ++i)
    all += fmt::format("POST /{} HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{:02}", i, i);
  ASSERT_TRUE(client.send(all));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(client.answer(), fmt::format("POST /{} {:02}", i, i));
}

TEST(HttpServer, AnswersAClientThatClosedItsSendingSide) {
  const auto server = start(at_free_port(), echo);
  Client client{server->addresses()[0]};
  client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  client.half_close();
  EXPECT_THAT(client.read_all(), HasSubstr("GET /x "));
}

TEST(HttpServer, AnswersAHalfClosedClientLater) {
  std::thread answerer;
  const auto server = start(at_free_port(), [&](HttpRequest, HttpReply reply) {
    answerer = std::thread{[reply = std::move(reply)]() mutable {
      EXPECT_TRUE(eventually([&] { return reply.gone(); }));
      reply.send({.body = "late"});
    }};
  });
  Client client{server->addresses()[0]};
  client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  client.half_close();
  EXPECT_THAT(client.read_all(), HasSubstr("late"));
  answerer.join();
}

TEST(HttpServer, SendsNoBodyToHead) {
  const auto server = start(at_free_port(), echo);
  Client client{server->addresses()[0]};
  client.send("HEAD /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const auto& text = client.read_all();
  EXPECT_THAT(text, HasSubstr("Content-Length: 8\r\n"));
  EXPECT_TRUE(text.ends_with("\r\n\r\n"));
}

TEST(HttpServer, RefusesBadRequestsAndSaysWhy) {
  auto setting = at_free_port();
  setting.limits = {.head = 2000, .fields = 100, .body = 1000};
  const auto server = start(std::move(setting), echo);
  const std::pair<std::string, std::string> cases[] = {
      {"nonsense\r\n\r\n", "HTTP/1.1 400"},
      {"GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(200'000, 'x'), "HTTP/1.1 431"},
      {"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3000000\r\n\r\n" +
           std::string(3'000'000, 'x'),
       "HTTP/1.1 413"},
      {"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n" +
           std::string(2000, 'x'),
       "HTTP/1.1 413"},
      {"GET / HTTP/3.0\r\nHost: h\r\n\r\n", "HTTP/1.1 505"},
  };
  for (const auto& [request, status] : cases) {
    Client client{server->addresses()[0]};
    client.send(request);
    EXPECT_THAT(client.read_all(), StartsWith(status));
  }
  EXPECT_EQ(server->state().bad, 5U);
  EXPECT_EQ(server->state().requests, 0U);
}

TEST(HttpServer, CutsAClientThatSendsAByteAtATime) {
  auto setting = at_free_port();
  setting.request_time = 300ms;
  const auto server = start(std::move(setting), echo);
  Client head{server->addresses()[0]};
  head.send("GET / HTTP/1.1\r\nHo");
  Client body{server->addresses()[0]};
  body.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc");
  // Bytes keep coming: only the whole request's time counts.
  std::jthread drip{[&](std::stop_token stop) {
    while (!stop.stop_requested() && head.send("X") && body.send("x"))
      std::this_thread::sleep_for(50ms);
  }};
  EXPECT_THAT(head.read_all(), StartsWith("HTTP/1.1 408"));
  drip.request_stop();
  EXPECT_GE(server->state().timed_out, 1U);
}

TEST(HttpServer, ClosesAnIdleConnectionSilently) {
  auto setting = at_free_port();
  setting.idle_time = 300ms;
  const auto server = start(std::move(setting), echo);
  Client client{server->addresses()[0]};
  client.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(client.answer(), "GET /x ");
  EXPECT_EQ(client.read_all(), "");
  EXPECT_EQ(server->state().timed_out, 0U);
}

TEST(HttpServer, ClosesAConnectionThatNeverSpokeSoon) {
  auto setting = at_free_port();
  setting.first_byte_time = 300ms;
  setting.idle_time = kLong;
  const auto server = start(std::move(setting), echo);
  Client silent{server->addresses()[0]};
  EXPECT_EQ(silent.read_all(), "");
  EXPECT_TRUE(eventually([&] { return server->state().open == 0; }));
}

TEST(HttpServer, DropsAClientThatDoesNotTakeItsAnswer) {
  auto setting = at_free_port();
  setting.write_time = 300ms;
  const auto server = start(std::move(setting), [](HttpRequest, HttpReply reply) {
    reply.send({.body = std::string(64 << 20, 'x')});
  });
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return server->state().timed_out == 1; }));
  EXPECT_TRUE(eventually([&] { return server->state().open == 0; }));
}

TEST(HttpServer, AsksWhetherTheHeadIsWelcomeBeforeItTakesTheBody) {
  auto setting = at_free_port();
  setting.admit = [](const HttpRequest& head) {
    HttpAdmission admission;
    if (!local_host_field(head.field("Host"), {})) admission.refusal = HttpResponse{.status = 421};
    admission.body_limit = 5;
    return admission;
  };
  const auto server = start(std::move(setting), echo);
  Client foreign{server->addresses()[0]};
  foreign.send("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  EXPECT_THAT(foreign.read_all(), StartsWith("HTTP/1.1 421"));
  Client patient{server->addresses()[0]};
  patient.send(
      "POST / HTTP/1.1\r\nHost: localhost:1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_THAT(patient.read_until("\r\n\r\n"), StartsWith("HTTP/1.1 100"));
  patient.send("12345");
  EXPECT_THAT(patient.read_until("12345"), HasSubstr("HTTP/1.1 200"));
}

TEST(HttpServer, StreamsInChunksWithTrailers) {
  std::thread writer;
  const auto server = start(at_free_port(), [&](HttpRequest, HttpReply reply) {
    writer = std::thread{[stream = reply.stream({.type = "text/event-stream"})] {
      for (int i = 0; i < 1000; ++i) ASSERT_TRUE(stream->write(fmt::format("line {}\n", i)));
      stream->end({{"X-Why", "done"}});
    }};
  });
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto text = client.read_until("0\r\nX-Why: done\r\n\r\n");
  writer.join();
  EXPECT_THAT(text, HasSubstr("Transfer-Encoding: chunked"));
  EXPECT_THAT(text, HasSubstr("line 999\n"));
  // And the connection lives on.
  client.close();
}

TEST(HttpServer, HoldsBackAWriterWhoseClientLags) {
  auto setting = at_free_port();
  setting.stream_buffer = 100'000;
  std::thread writer;
  std::atomic<std::uint64_t> written{0}, refused{0};
  const auto server = start(std::move(setting), [&](HttpRequest, HttpReply reply) {
    writer = std::thread{[&, stream = reply.stream({})] {
      const std::string piece(50'000, 'x');
      while (stream->try_write(piece)) written += piece.size();  // until the client lags
      ++refused;
      while (stream->write(piece)) written += piece.size();  // until it is gone
    }};
  });
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.read_until("xxxx");
  ASSERT_TRUE(eventually([&] { return refused == 1; }));
  client.close();
  writer.join();  // write() came back: the client left
  EXPECT_LT(written, 64U << 20);
  EXPECT_TRUE(eventually([&] { return server->state().open == 0; }));
}

TEST(HttpServer, EndsAQuietStreamWhenItsClientLeaves) {
  Guarded<std::shared_ptr<HttpStream>> kept;
  const auto server = start(at_free_port(), [&](HttpRequest, HttpReply reply) {
    kept.with([&](auto& stream) { stream = reply.stream({.body = "first"}); });
  });
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  client.read_until("first");
  client.close();
  EXPECT_TRUE(eventually([&] { return server->state().open == 0; }));
  EXPECT_TRUE(kept.with([](auto& stream) { return stream->gone(); }));
}

TEST(HttpServer, BreaksAStreamThatNobodyEnded) {
  const auto server = start(at_free_port(), [](HttpRequest, HttpReply reply) {
    reply.stream({.body = "part"})->try_write("more");
  });
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  const auto& text = client.read_all();
  EXPECT_THAT(text, HasSubstr("part"));
  EXPECT_THAT(text, testing::Not(HasSubstr("\r\n0\r\n")));
}

TEST(HttpServer, WaitsForRoomAndCutsAClientThatLags) {
  auto setting = at_free_port();
  setting.stream_buffer = 64 << 10;
  Guarded<std::shared_ptr<HttpStream>> kept;
  std::function<bool()> gone;
  const auto server = start(std::move(setting), [&](HttpRequest, HttpReply reply) {
    gone = reply.watch();
    kept.with([&](auto& stream) { stream = reply.stream({.body = "first"}); });
  });
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_THAT(client.read_until("first"), HasSubstr("first"));
  const auto stream = kept.with([](auto& one) { return one; });
  // Until the socket's buffers are full too.
  while (stream->wait_for_room(200ms)) ASSERT_TRUE(stream->write(std::string(64 << 10, 'x')));
  EXPECT_FALSE(gone());
  stream->cut();
  EXPECT_TRUE(stream->gone());
  EXPECT_TRUE(gone());
  EXPECT_FALSE(stream->write("more"));
  EXPECT_FALSE(client.read_all().ends_with("0\r\n\r\n"));
  EXPECT_TRUE(eventually([&] { return server->state().open == 0; }));
}

TEST(HttpServer, AnswersForAHandlerThatForgot) {
  const auto server = start(at_free_port(), [](HttpRequest, HttpReply) {});
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.read_until("\n"), StartsWith("HTTP/1.1 500"));
}

TEST(HttpServer, SurvivesAHandlerThatThrows) {
  const auto server =
      start(at_free_port(), [](HttpRequest, HttpReply) { throw std::runtime_error{"on purpose"}; });
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_THAT(client.read_until("\n"), StartsWith("HTTP/1.1 500"));
}

TEST(HttpServer, ServesAUnixSocketToItsOwnerAndKnowsThePeer) {
  const auto path = fmt::format("{}http_server_{}.sock", testing::TempDir(), ::getpid());
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = {.path = path}});
  {
    const auto server = start(setting, [](HttpRequest request, HttpReply reply) {
      reply.send({.body = fmt::format("uid {}", request.peer.uid.value())});
    });
    struct stat at {};
    ASSERT_EQ(::stat(path.c_str(), &at), 0);
    EXPECT_EQ(at.st_mode & 0777, 0600U);
    Client client{server->addresses()[0]};
    client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    EXPECT_EQ(client.answer(), fmt::format("uid {}", ::getuid()));
    EXPECT_FALSE(HttpServer::start(setting, echo)) << "somebody listens there";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  // A file left over by a killed run is no obstacle.
  { auto left_over = listen_at({.path = path}).value(); }
  EXPECT_TRUE(std::filesystem::exists(path));
  start(setting, echo);
}

TEST(HttpServer, SaysThatAPortIsTaken) {
  const auto first = start(at_free_port(), echo);
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = first->addresses()[0]});
  const auto second = HttpServer::start(std::move(setting), echo);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr(first->addresses()[0].text()));
  EXPECT_THAT(second.error().hint, HasSubstr("another"));
}

TEST(HttpServer, FinishesAnswersUnderWayWhenItStops) {
  std::latch asked{1};
  std::thread writer;
  auto server = start(at_free_port(), [&](HttpRequest, HttpReply reply) {
    writer = std::thread{[&, stream = reply.stream({})] {
      asked.count_down();
      for (int i = 0; i < 50; ++i) {
        stream->write("x");
        std::this_thread::sleep_for(1ms);
      }
      stream->end();
    }};
  });
  Client idle{server->addresses()[0]};
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  asked.wait();
  server->stop(kLong);
  writer.join();
  EXPECT_THAT(client.read_all(), testing::EndsWith("0\r\n\r\n"));
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_FALSE(connect(server->addresses()[0], Transport::kStream, Deadline{1s}));
}

TEST(HttpServer, StopsThoughSomebodyStillHoldsAReply) {
  Guarded<std::vector<HttpReply>> replies;
  auto server = start(at_free_port(), [&](HttpRequest, HttpReply reply) {
    replies.with([&](auto& all) { all.push_back(std::move(reply)); });
  });
  Client client{server->addresses()[0]};
  client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return replies.with([](auto& all) { return all.size() == 1; }); }));
  server.reset();
  replies.with([](auto& all) {
    EXPECT_TRUE(all[0].gone());
    all[0].send({.body = "too late"});
  });
}

// Answers on demand, so that connections stay busy. "key" in the head makes a caller
// known.
struct Waiting {
  Guarded<std::vector<HttpReply>> replies;

  HttpHandler handler() {
    return [this](HttpRequest request, HttpReply reply) {
      if (request.path != "/wait") return echo(std::move(request), std::move(reply));
      replies.with([&](auto& all) { all.push_back(std::move(reply)); });
    };
  }
  static HttpAdmission admit(const HttpRequest& head) {
    return {.known = head.field("key").has_value(), .health = head.path == "/health"};
  }
  bool holds(std::size_t count) {
    return replies.with([&](auto& all) { return all.size() == count; });
  }
};

TEST(HttpServer, AnswersOnlyHealthChecksWhenAllPlacesAreTaken) {
  Waiting waiting;
  auto setting = at_free_port();
  setting.connections.all = 2;
  setting.admit = Waiting::admit;
  const auto server = start(std::move(setting), waiting.handler());
  const auto& address = server->addresses()[0];
  Client first{address}, second{address};
  for (auto* client : {&first, &second})
    client->send("GET /wait HTTP/1.1\r\nHost: h\r\nkey: k\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return waiting.holds(2); }));
  Client third{address}, health{address};
  third.send("GET /x HTTP/1.1\r\nHost: h\r\nkey: k\r\n\r\n");
  EXPECT_THAT(third.read_all(), StartsWith("HTTP/1.1 503"));
  EXPECT_EQ(server->state().overflowed, 1U);
  health.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(health.answer(), "GET /health ");
  waiting.replies.with([](auto& all) {
    for (auto& reply : all) reply.send({.body = "done"});
  });
  EXPECT_EQ(first.answer(), "done");
  EXPECT_EQ(second.answer(), "done");
  for (auto* client : {&first, &health, &third}) client->close();
  ASSERT_TRUE(eventually([&] { return server->state().open == 1; }));
  Client fourth{address};
  fourth.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(fourth.answer(), "GET /x ");
}

TEST(HttpServer, EndsTheLongestIdleConnectionForANewOne) {
  auto setting = at_free_port();
  setting.connections.all = 2;
  setting.admit = Waiting::admit;
  const auto server = start(std::move(setting), echo);
  const auto& address = server->addresses()[0];
  Client first{address}, second{address};
  for (auto* client : {&first, &second}) {
    client->send("GET /x HTTP/1.1\r\nHost: h\r\nkey: k\r\n\r\n");
    EXPECT_EQ(client->answer(), "GET /x ");
  }
  Client third{address};
  third.send("GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(third.answer(), "GET /x ");
  EXPECT_EQ(first.read_all(), "");
  EXPECT_EQ(server->state().displaced, 1U);
}

void allow_open_files(rlim_t count) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = std::max(files.rlim_cur, std::min<rlim_t>(files.rlim_max, count));
  ::setrlimit(RLIMIT_NOFILE, &files);
}

TEST(HttpServer, AnswersThoughAClientHasElevenHundredSilentConnections) {
  allow_open_files(4096);
  Waiting waiting;
  auto setting = at_free_port();
  setting.threads = 2;
  setting.first_byte_time = setting.idle_time = kLong;
  setting.admit = Waiting::admit;
  const auto server = start(std::move(setting), waiting.handler());
  const auto& address = server->addresses()[0];
  Client known{address};
  known.send("GET /wait HTTP/1.1\r\nHost: h\r\nkey: k\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return waiting.holds(1); }));
  std::vector<std::unique_ptr<Client>> silent;
  for (int i = 0; i < 1100; ++i) {
    silent.push_back(std::make_unique<Client>(address));
    if (i % 2) silent.back()->send("GET / HT");  // nor does half a request help
  }
  Client health{address};
  health.send("GET /health HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(health.answer(), "GET /health ");
  EXPECT_TRUE(eventually([&] { return server->state().open <= 386; }));
  // Who is known keeps its connection.
  waiting.replies.with([](auto& all) { all[0].send({.body = "done"}); });
  EXPECT_EQ(known.answer(), "done");
}

TEST(HttpServer, ServesAThousandConnectionsAtOnce) {
  allow_open_files(4096);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < 2200) GTEST_SKIP() << "only " << files.rlim_cur << " open files allowed";
  auto setting = at_free_port();
  setting.connections = {.all = 1100, .newcomers = 1100, .newcomers_of_address = 1100};
  setting.threads = 2;
  const auto server = start(std::move(setting), echo);
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 1000; ++i) {
    clients.push_back(std::make_unique<Client>(server->addresses()[0]));
    // Half of them never end their request.
    ASSERT_TRUE(
        clients.back()->send(i % 2 ? "GET /slow HT" : "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"));
  }
  for (std::size_t i = 0; i < clients.size(); i += 2) ASSERT_EQ(clients[i]->answer(), "GET /x ");
  EXPECT_EQ(server->state().open, 1000U);
  clients.clear();
  EXPECT_TRUE(eventually([&] { return server->state().open == 0; }));
}

TEST(LocalHostField, KnowsWhatAForeignPageCannotSend) {
  for (const auto* local : {"localhost", "LOCALHOST:52323", "127.0.0.1:1", "127.9.9.9", "[::1]:80",
                            "box.example:1", "a.localhost:7"})
    EXPECT_TRUE(local_host_field(local, {"box.example"})) << local;
  for (const auto* foreign : {"evil.example", "localhost.evil.example", "10.0.0.1", "[::2]", "[::1",
                              "", "evillocalhost", ".localhost"})
    EXPECT_FALSE(local_host_field(foreign, {"box.example"})) << foreign;
}

}  // namespace
}  // namespace clrscope::net
