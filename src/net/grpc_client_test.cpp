// The peer here is libnghttp2's server side, or bytes that no server should send. A real gRPC
// server, with and without TLS, is in tests/e2e/forward_otlp_grpc.case.
#include "net/grpc_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <sys/socket.h>

#include <cstring>
#include <map>
#include <thread>

#include "base/guarded.h"
#include "base/io.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "net/test_certificate.h"

namespace clrscope::net {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kLong = 60s;
constexpr auto kMethod = "/a.B/C";

struct Seen {
  std::map<std::string, std::string> fields{};
  std::string body{};
};

struct Script {
  std::vector<HttpField> head{{":status", "200"}, {"content-type", "application/grpc"}};
  std::vector<HttpField> trailers{{"grpc-status", "0"}};
  std::string body = std::string{"\0\0\0\0\3abc", 8};
  bool hang_up = false;  // after each answer
};

class Server {
 public:
  explicit Server(Script script = {}) : script_(std::move(script)) {}
  GrpcTarget target() const { return {.address = listening_.address}; }
  std::vector<Seen> seen() const {
    return seen_.with([](const auto& all) { return all; });
  }
  int connections() const { return connections_; }

 private:
  struct Talk {
    const Script& script;
    std::map<std::int32_t, Seen> streams{};
    std::size_t given = 0;
    int answered = 0;
    Guarded<std::vector<Seen>>& seen;
  };

  static std::vector<nghttp2_nv> pairs(const std::vector<HttpField>& fields) {
    std::vector<nghttp2_nv> all;
    for (const auto& [name, value] : fields)
      all.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                     reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(),
                     value.size(), NGHTTP2_NV_FLAG_NONE});
    return all;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                       std::uint8_t, void* user) {
    static_cast<Talk*>(user)->streams[frame->hd.stream_id].fields.insert_or_assign(
        std::string{reinterpret_cast<const char*>(name), name_size},
        std::string{reinterpret_cast<const char*>(value), value_size});
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t stream, const std::uint8_t* bytes,
                     std::size_t size, void* user) {
    static_cast<Talk*>(user)->streams[stream].body.append(reinterpret_cast<const char*>(bytes),
                                                          size);
    return 0;
  }
  static ssize_t give(nghttp2_session* session, std::int32_t stream, std::uint8_t* into,
                      std::size_t room, std::uint32_t* flags, nghttp2_data_source*, void* user) {
    auto& talk = *static_cast<Talk*>(user);
    const auto size = std::min(room, talk.script.body.size() - talk.given);
    std::memcpy(into, talk.script.body.data() + talk.given, size);
    talk.given += size;
    if (talk.given == talk.script.body.size()) {
      *flags |= NGHTTP2_DATA_FLAG_EOF;
      if (!talk.script.trailers.empty()) {
        *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
        const auto trailers = pairs(talk.script.trailers);
        nghttp2_submit_trailer(session, stream, trailers.data(), trailers.size());
      }
    }
    return static_cast<ssize_t>(size);
  }
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    auto& talk = *static_cast<Talk*>(user);
    const auto stream = frame->hd.stream_id;
    if (stream == 0 || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    talk.seen.with([&](auto& all) { all.push_back(talk.streams[stream]); });
    talk.given = 0;
    ++talk.answered;
    const auto head = pairs(talk.script.head);
    nghttp2_data_provider source{.source = {}, .read_callback = give};
    nghttp2_submit_response(session, stream, head.data(), head.size(),
                            talk.script.body.empty() ? nullptr : &source);
    return 0;
  }

  void talk(int fd, const std::stop_token& stop) {
    Talk talk{.script = script_, .seen = seen_};
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session* session = nullptr;
    nghttp2_session_server_new(&session, callbacks, &talk);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, nullptr, 0);
    while (!stop.stop_requested()) {
      const std::uint8_t* out = nullptr;
      while (const auto size = nghttp2_session_mem_send(session, &out)) {
        if (size < 0) break;
        if (!send_all(fd, {out, static_cast<std::size_t>(size)}, Deadline{kLong})) break;
      }
      // Only our half: a close with something unread would take the answer back.
      if (script_.hang_up && talk.answered > 0) (void)::shutdown(fd, SHUT_WR);
      if (!wait_readable(fd, Deadline{20ms}).value_or(false)) continue;
      std::uint8_t buffer[16 << 10];
      const auto got = receive_some(fd, buffer, Deadline{kLong});
      if (!got || *got == 0) break;
      if (script_.hang_up && talk.answered > 0) continue;
      if (nghttp2_session_mem_recv(session, buffer, *got) < 0) break;
    }
    nghttp2_session_del(session);
  }

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      if (!wait_readable(listening_.fd.get(), Deadline{20ms}).value_or(false)) continue;
      const UniqueFd one{::accept(listening_.fd.get(), nullptr, nullptr)};
      ++connections_;
      talk(one.get(), stop);
    }
  }

  const Script script_;
  std::atomic<int> connections_{0};
  Guarded<std::vector<Seen>> seen_;
  Listening listening_ = listen_at({.host = "127.0.0.1", .port = "0"}).value();
  std::jthread thread_{[this](std::stop_token stop) { run(stop); }};
};

// Sends the same bytes again and again, or once; reads nothing.
class Rude {
 public:
  Rude(std::string bytes, int times) : bytes_(std::move(bytes)), times_(times) {}
  GrpcTarget target() const { return {.address = listening_.address}; }

 private:
  void run(const std::stop_token& stop) const {
    while (!stop.stop_requested()) {
      if (!wait_readable(listening_.fd.get(), Deadline{20ms}).value_or(false)) continue;
      const UniqueFd one{::accept(listening_.fd.get(), nullptr, nullptr)};
      for (int i = 0; i < times_ && !stop.stop_requested(); ++i)
        if (!send_all(one.get(), as_bytes(bytes_), Deadline{1s})) break;
    }
  }

  const std::string bytes_;
  const int times_;
  Listening listening_ = listen_at({.host = "127.0.0.1", .port = "0"}).value();
  std::jthread thread_{[this](std::stop_token stop) { run(stop); }};
};

TEST(GrpcTarget, IsAHostAndAPort) {
  EXPECT_EQ(parse_grpc_target("grpc://host")->text(), "grpc://host:4317");
  EXPECT_EQ(parse_grpc_target("grpcs://[::1]:9/")->text(), "grpcs://[::1]:9");
  EXPECT_TRUE(parse_grpc_target("grpcs://h")->tls);
  for (const auto* bad : {"grpc://", "grpc://h/path", "grpc://h?x", "grpc://u@h", "grpc://h:x"})
    EXPECT_FALSE(parse_grpc_target(bad)) << bad;
}

TEST(GrpcClient, CarriesAMessageOfAnySizeAndReadsTheAnswer) {
  const Server server;
  GrpcClient client{server.target()};
  const std::string large(300'000, 'x');  // more than HTTP/2 lets go without being asked for more
  const auto answer =
      client.call(kMethod, {{"X-Key", "a=b"}, {"TE", "no"}}, large, Deadline{kLong});
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(answer->status, GrpcStatus::kOk);
  EXPECT_EQ(answer->body, "abc");
  auto seen = server.seen().at(0);
  EXPECT_EQ(seen.body.size(), large.size() + 5);
  EXPECT_EQ(seen.body.substr(0, 5), (std::string{"\0\0\4\x93\xe0", 5}));
  EXPECT_EQ(seen.fields[":path"], kMethod);
  EXPECT_EQ(seen.fields["x-key"], "a=b");
  EXPECT_EQ(seen.fields["te"], "trailers");
  EXPECT_EQ(seen.fields["content-type"], "application/grpc");
}

TEST(GrpcClient, KeepsItsConnectionAndOpensAnotherWhenTheServerHangsUp) {
  const Server keeps;
  GrpcClient first{keeps.target()};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(first.call(kMethod, {}, "m", Deadline{kLong}));
  EXPECT_EQ(keeps.connections(), 1);
  const Server hangs_up{{.hang_up = true}};
  GrpcClient second{hangs_up.target()};
  for (int i = 0; i < 3; ++i) {
    const auto answer = second.call(kMethod, {}, "m", Deadline{kLong});
    EXPECT_TRUE(answer) << answer.error().what;
  }
}

TEST(GrpcClient, ReportsTheStatusAndItsReason) {
  const Server server{{.head = {{":status", "200"},
                                {"content-type", "application/grpc"},
                                {"grpc-status", "14"},
                                {"grpc-message", "too busy: 100%25%0A%zz"}},
                       .body = ""}};
  GrpcClient client{server.target()};
  const auto answer = client.call(kMethod, {}, "m", Deadline{kLong});
  ASSERT_TRUE(answer) << answer.error().what;
  EXPECT_EQ(status_text(answer->status), "UNAVAILABLE");
  EXPECT_EQ(answer->message, "too busy: 100%\n%zz");
}

TEST(GrpcClient, UnderstandsServersThatDoNotSpeakGrpc) {
  for (const auto& [status, expected] :
       {std::pair{"503", GrpcStatus::kUnavailable}, std::pair{"401", GrpcStatus::kUnauthenticated},
        std::pair{"404", GrpcStatus::kUnimplemented}}) {
    const Server server{{.head = {{":status", status}}, .body = ""}};
    GrpcClient client{server.target()};
    const auto answer = client.call(kMethod, {}, "m", Deadline{kLong});
    ASSERT_TRUE(answer) << answer.error().what;
    EXPECT_EQ(answer->status, expected);
  }
}

TEST(GrpcClient, RefusesAnswersThatAreTooLargeOrMakeNoSense) {
  Script headers, body, cut, none, page;
  for (int i = 0; i < 50; ++i) {  // more than the server's library sends at once
    headers.head.push_back({fmt::format("x-{}", i), std::string(1000, 'y')});
    headers.trailers.push_back({fmt::format("y-{}", i), std::string(1000, 'y')});
  }
  body.body = std::string(3 << 20, '\0');
  cut.body = std::string{"\0\0\0\0\7abc", 8};
  none.trailers.clear();
  page.head[1].value = "text/html";
  page.trailers.clear();
  for (const auto& [script, why] :
       {std::pair{headers, "headers"}, std::pair{body, "more than"}, std::pair{cut, "one message"},
        std::pair{none, "no grpc-status"}, std::pair{page, "text/html"}}) {
    const Server server{script};
    GrpcClient client{server.target()};
    const auto answer = client.call(kMethod, {}, "m", Deadline{kLong});
    ASSERT_FALSE(answer) << why;
    EXPECT_THAT(answer.error().what, HasSubstr(why));
    EXPECT_THAT(answer.error().what, HasSubstr(server.target().text()));
  }
}

TEST(GrpcClient, EndsWhateverThePeerSends) {
  const std::string settings{"\0\0\0\4\0\0\0\0\0", 9};
  const std::string ping{"\0\0\x08\6\0\0\0\0\0pingpong", 17};
  std::string continuation{"\0\0\4\1\0\0\0\0\1\x88\x88\x88\x88", 13};
  const std::string more{"\0\0\4\x9\0\0\0\0\1\x88\x88\x88\x88", 13};
  for (int i = 0; i < 100'000; ++i) continuation += more;
  for (const auto& [bytes, times] :
       {std::pair{std::string{}, 0}, std::pair{std::string{"HTTP/1.1 200 OK\r\n\r\n"}, 1},
        std::pair{std::string(1000, '\xff'), 1}, std::pair{settings, 1},
        std::pair{settings + ping, 1'000'000}, std::pair{settings, 1'000'000},
        std::pair{settings + continuation, 1}}) {
    const Rude rude{bytes, times};
    GrpcClient client{rude.target()};
    const auto answer = client.call(kMethod, {}, "m", Deadline{2s});
    EXPECT_FALSE(answer) << bytes.substr(0, 30) << times;
  }
}

TEST(GrpcClient, GivesUpAtItsDeadlineAndWhenInterrupted) {
  const auto silent = listen_at({.host = "127.0.0.1", .port = "0"}).value();
  GrpcClient client{{.address = silent.address}};
  const auto late = client.call(kMethod, {}, "m", Deadline{300ms});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::kTimeout);
  client.interrupt();
  EXPECT_FALSE(client.call(kMethod, {}, "m", Deadline{kLong}));
}

TEST(GrpcClient, InsistsOnHttp2WithTls) {
  const TestCertificate certificate;
  HttpServerSetting setting;
  setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"},
                               .tls = TlsContext::server({.certificate = certificate.certificate(),
                                                          .key = certificate.key()})
                                          .value()});
  const auto server =
      HttpServer::start(setting, [](HttpRequest, HttpReply reply) { reply.send({}); }).value();
  GrpcClient client{
      {.tls = true, .address = server->addresses()[0]},
      TlsContext::client(certificate.certificate(), TlsContext::Trust::kVerify).value()};
  const auto answer = client.call(kMethod, {}, "m", Deadline{kLong});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().what, HasSubstr("ALPN"));
}

TEST(GrpcClient, RefusesHeadersOfSeveralLines) {
  const Server server;
  GrpcClient client{server.target()};
  EXPECT_FALSE(client.call(kMethod, {{"x-key", "a\r\nb: c"}}, "m", Deadline{kLong}));
}

}  // namespace
}  // namespace clrscope::net
