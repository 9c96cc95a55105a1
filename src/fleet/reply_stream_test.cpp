#include "fleet/reply_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "base/guarded.h"
#include "fleet/rest_body.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "site/answer.h"

namespace clrscope::fleet {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto kLong = 60s;

TEST(RestBody, HoldsAShortAnswerAndSendsALongOneInPieces) {
  const std::vector<std::string> rows(10'000, "a row of an answer");
  std::string sent;
  std::size_t pieces = 0;
  RestBody body{[&](const net::HttpResponse& head, std::string piece) -> Result<> {
    EXPECT_EQ(head.type, site::kJson);
    EXPECT_TRUE(head.body.empty());
    EXPECT_LT(piece.size(), 66'000U);
    ++pieces;
    sent += piece;
    return {};
  }};
  body.begin(site::json_answer(""));
  ASSERT_TRUE(body.value(std::vector<std::string>{rows.begin(), rows.begin() + 10}) && !pieces);
  RestBody whole, longer{[&](const net::HttpResponse&, std::string piece) -> Result<> {
    ++pieces;
    sent += piece;
    return {};
  }};
  for (auto* one : {&whole, &longer}) {
    one->begin(site::json_answer(""));
    EXPECT_TRUE(one->value(rows));
  }
  EXPECT_TRUE(longer.in_pieces());
  EXPECT_GE(pieces, 3U);
  sent += std::move(longer).take().body;
  EXPECT_EQ(sent, json_text(rows) + "\n");
  EXPECT_EQ(std::move(whole).take().body, sent);
}

TEST(RestBody, SendsBytesInPiecesAndStopsWhenNobodyTakesThem) {
  const std::string bytes(300'000, 'b');
  std::string sent;
  RestBody body{[&](const net::HttpResponse&, std::string piece) -> Result<> {
    sent += piece;
    return {};
  }};
  body.begin({.type = std::string{site::kOctets}});
  EXPECT_TRUE(body.bytes(bytes));
  EXPECT_EQ(sent + std::move(body).take().body, bytes);
  std::size_t asked = 0;
  RestBody refused{[&](const net::HttpResponse&, std::string) -> Result<> {
    ++asked;
    return fail(Errc::kGone, "the client left");
  }};
  refused.begin(site::json_answer(""));
  EXPECT_FALSE(refused.value(std::vector<std::string>(100'000, "row")));
  EXPECT_FALSE(refused.sent());
  EXPECT_EQ(asked, 1U);
}

// A server whose answers are endless, or as long as the path says.
class ReplyStreamTest : public testing::Test {
 protected:
  static constexpr std::size_t kEndless = 1 << 30;

  ReplyStreamTest() {
    net::HttpServerSetting setting;
    setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"}});
    setting.stream_buffer = 128 << 10;
    server_ =
        net::HttpServer::start(setting, [this](net::HttpRequest request, net::HttpReply reply) {
          answers_.with([&](auto& answers) {
            answers.push_back(std::async(std::launch::async, [this, size = request.path.size(),
                                                              reply = std::move(reply)]() mutable {
              return answer(reply, size == 1 ? kEndless : size * 100'000);
            }));
          });
        }).value();
  }
  ~ReplyStreamTest() override {
    server_.reset();
    for (auto& one : answers_.with([](auto& all) { return std::exchange(all, {}); }))
      if (one.valid()) one.wait();
  }
  Result<> answer(net::HttpReply& reply, std::size_t size) {
    auto pass = gate_.enter().value();
    ReplyStream stream{reply, &pass, slow_, patience_};
    for (; size > 50'000; size -= 50'000) TRY(stream.write({}, std::string(50'000, 'x')));
    return stream.end(std::string(size, 'x'));
  }
  std::unique_ptr<net::HttpClient> client() {
    auto one = std::make_unique<net::HttpClient>(net::HttpUrl{.address = server_->addresses()[0]});
    one->limit_answer(~std::uint64_t{0});
    return one;
  }
  // One that reads the head of an endless answer and no more.
  std::unique_ptr<net::HttpClient> lagging() {
    auto one = client();
    EXPECT_TRUE(one->begin("GET", {}, {}, Deadline{kLong}));
    return one;
  }
  static Result<std::size_t> read_all(net::HttpClient& from) {
    std::size_t got = 0;
    for (std::string piece; TRY(from.more(piece, Deadline{kLong})); piece.clear())
      got += piece.size();
    return got;
  }
  Result<> outcome(std::size_t of) {
    return answers_.with([&](auto& all) { return std::move(all[of]); }).get();
  }

  std::chrono::nanoseconds patience_ = kLong;
  QueryGate gate_{1, 8};
  SlowClients slow_{2};
  Guarded<std::vector<std::future<Result<>>>> answers_;
  std::unique_ptr<net::HttpServer> server_;
};

TEST_F(ReplyStreamTest, ClientsThatLagDoNotKeepTheOnlyPlaceFromAFastOne) {
  const auto first = lagging(), second = lagging();
  while (slow_.waiting() < 2) std::this_thread::yield();
  const auto fast = client();
  fast->set_path("/2345");
  ASSERT_TRUE(fast->begin("GET", {}, {}, Deadline{kLong}));
  const auto got = read_all(*fast);
  ASSERT_TRUE(got) << got.error().what;
  EXPECT_EQ(*got, 500'000U);
  EXPECT_TRUE(outcome(2));
}

TEST_F(ReplyStreamTest, TheOneThatLaggedLongestIsCutForAnother) {
  const auto first = lagging();
  while (slow_.waiting() < 1) std::this_thread::yield();
  const auto second = lagging();
  while (slow_.waiting() < 2) std::this_thread::yield();
  const auto third = lagging();
  const auto done = outcome(0);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().what, HasSubstr("too slowly while 2 others"));
  EXPECT_FALSE(read_all(*first)) << "the answer must not look whole";
}

TEST_F(ReplyStreamTest, AClientThatLagsForTooLongIsCut) {
  patience_ = 1ms;
  const auto one = lagging();
  const auto done = outcome(0);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kTimeout);
  EXPECT_FALSE(read_all(*one)) << "the answer must not look whole";
  EXPECT_EQ(slow_.waiting(), 0U);
}

TEST_F(ReplyStreamTest, AClientThatLeavesEndsTheAnswer) {
  auto one = lagging();
  while (slow_.waiting() < 1) std::this_thread::yield();
  one.reset();
  EXPECT_EQ(outcome(0).error().code, Errc::kGone);
}

}  // namespace
}  // namespace clrscope::fleet
