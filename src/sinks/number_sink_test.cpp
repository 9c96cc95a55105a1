// graphite: and statsd: as a peer on a unix socket sees them.
#include "sinks/number_sink.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::sinks {
namespace {

using hub::CounterKind;
using hub::CounterValue;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr WallTime kTime{std::chrono::seconds{1'794'704'712}};

class NumberSinkTest : public testing::Test {
 protected:
  NumberSinkTest() {
    std::string name = testing::TempDir() + "numbers.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~NumberSinkTest() override { std::filesystem::remove_all(folder_); }

  void listen(int type) {
    peer_ = UniqueFd{::socket(AF_UNIX, type | SOCK_CLOEXEC, 0)};
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    const auto path = folder_ + "/s";
    std::memcpy(at.sun_path, path.data(), path.size());
    ASSERT_EQ(::bind(peer_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    if (type == SOCK_STREAM) {
      ASSERT_EQ(::listen(peer_.get(), 4), 0);
    }
  }
  std::unique_ptr<hub::Sink> make(std::string_view kind, std::string_view options) {
    const auto text = fmt::format("{}:unix:{}/s,prefix=p{}", kind, folder_, options);
    const auto address = parse_sink(text);
    EXPECT_TRUE(address) << address.error().what;
    auto sink = address->kind->make(*address, {});
    EXPECT_TRUE(sink) << sink.error().what;
    return std::move(*sink);
  }
  // Does with the sink what the test does, while the peer reads: all that it got.
  template <class F>
  std::string received(std::string_view kind, std::string_view options, F&& use) {
    const bool datagrams = kind == "statsd";
    listen(datagrams ? SOCK_DGRAM : SOCK_STREAM);
    std::string text;
    std::jthread reader{[&](const std::stop_token& stop) { read(datagrams, stop, text); }};
    const auto sink = make(kind, options);
    EXPECT_TRUE(sink->open());
    use(*sink);
    EXPECT_TRUE(sink->close({}));
    state_ = sink->state();
    reader.request_stop();
    reader.join();
    return text;
  }
  void read(bool datagrams, const std::stop_token& stop, std::string& text) {
    UniqueFd connection;
    std::vector<char> piece(20'000);
    for (;;) {
      const bool last = stop.stop_requested();  // what was sent before is there by now
      if (!connection && !wait(peer_)) {
        if (last) return;
        continue;
      }
      if (!connection)
        connection = UniqueFd{datagrams ? ::dup(peer_.get())
                                        : ::accept4(peer_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      if (!wait(connection)) {
        if (last) return;
        continue;
      }
      const auto got = ::recv(connection.get(), piece.data(), piece.size(), MSG_DONTWAIT);
      if (got <= 0) return;
      largest_ = std::max(largest_, static_cast<std::size_t>(got));
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
  }
  static bool wait(const UniqueFd& fd) {
    const auto ready = wait_readable(fd.get(), Deadline{std::chrono::milliseconds{20}});
    return ready && *ready;
  }
  // The lines that the peer got of these values; its own losses are left out.
  std::vector<std::string> lines(std::string_view kind, std::string_view options,
                                 const std::vector<CounterValue>& values) {
    const auto text =
        received(kind, options, [&](auto& sink) { EXPECT_TRUE(sink.on_counters(values)); });
    std::vector<std::string> lines;
    for (const auto line : split(text, '\n'))
      if (!line.empty() && line.find("clrscope.dropped") == std::string_view::npos)
        lines.emplace_back(line);
    return lines;
  }
  static CounterValue gauge(std::string name, double value) {
    return {.time = kTime,
            .pid = 42,
            .process = "Shop.Api",
            .provider = "Shop",
            .name = std::move(name),
            .meter = true,
            .value = value};
  }
  static CounterValue tagged(std::string value) {
    auto one = gauge("requests", 5);
    one.kind = CounterKind::kRate;
    one.tags = {{"route", std::move(value)}};
    one.interval = std::chrono::seconds{1};
    return one;
  }

  std::string folder_;
  UniqueFd peer_;
  std::string state_;
  std::size_t largest_ = 0;
  const std::string host_ = plain_part(host_name());
};

TEST_F(NumberSinkTest, SendsGraphiteALineForEachPoint) {
  EXPECT_THAT(lines("graphite", "", {gauge("queue.length", 17), tagged("/a")}),
              ElementsAre(fmt::format("p.{}.Shop_Api.queue.length 17 1794704712", host_),
                          fmt::format("p.{}.Shop_Api.requests.route._a.rate 5 1794704712", host_)));
  EXPECT_EQ(state_, "delivered 3, waiting 0 B, dropped 0");
}

TEST_F(NumberSinkTest, TellsGraphiteItsOwnLosses) {
  const auto text = received("graphite", ",limit=2", [](auto& sink) {
    EXPECT_TRUE(sink.on_dropped(40));
    EXPECT_TRUE(sink.on_counters(std::vector{gauge("a", 1), gauge("b", 1), gauge("c", 1)}));
    EXPECT_TRUE(sink.on_dropped(2));
  });
  EXPECT_THAT(text, HasSubstr(fmt::format("p.{}.clrscope.dropped 43 ", host_)));
  EXPECT_EQ(text.find(".c 1"), std::string::npos);
}

TEST_F(NumberSinkTest, WritesGraphitesTags) {
  auto value = tagged("/a b;c");
  value.tags.emplace_back("name", "~x");
  EXPECT_THAT(lines("graphite", ",tags=graphite,pid=yes", {value}),
              ElementsAre(fmt::format("p.requests.rate;host={};process=Shop.Api;pid=42;name_=_x;"
                                      "route=/a_b_c 5 1794704712",
                                      host_name())));
}

TEST_F(NumberSinkTest, FollowsATemplateAndDotnetsNames) {
  EXPECT_THAT(lines("graphite", ",template={provider}.{name},names=dotnet", {gauge("x y", 0.25)}),
              ElementsAre("Shop.x_y 0.25 1794704712"));
}

TEST_F(NumberSinkTest, KeepsHostileNamesInTheirLine) {
  const auto got = lines(
      "graphite", "",
      {gauge("a\nevil.path 1 1", 1), tagged("x\r\n\0y;z"), gauge(std::string(100'000, '.'), 1)});
  for (const auto& line : got) {
    EXPECT_THAT(line, StartsWith("p."));
    EXPECT_EQ(split(line, ' ').size(), 3U) << line;
  }
}

TEST_F(NumberSinkTest, SendsPicklesWithTheirLength) {
  const auto got = received("graphite", ",proto=pickle", [](auto& sink) {
    EXPECT_TRUE(sink.on_counters(std::vector{gauge("a", 1.5)}));
  });
  ASSERT_GT(got.size(), 8U);
  const auto length = static_cast<std::size_t>((static_cast<unsigned char>(got[2]) << 8) |
                                               static_cast<unsigned char>(got[3]));
  EXPECT_EQ(got.substr(4, 4), std::string_view("\x80\x02](", 4));
  ASSERT_GE(got.size(), 4 + length);
  EXPECT_EQ(got.substr(4 + length - 2, 2), "e.");
  EXPECT_THAT(got, HasSubstr(fmt::format("p.{}.Shop_Api.a", host_)));
}

TEST_F(NumberSinkTest, SendsStatsdGaugesAndIncrements) {
  EXPECT_THAT(lines("statsd", "", {gauge("depth", 17), tagged("/a")}),
              ElementsAre("p.Shop_Api.depth:17|g", "p.Shop_Api.requests.route._a:5|c"));
}

TEST_F(NumberSinkTest, StartsANegativeGaugeFromZero) {
  EXPECT_THAT(lines("statsd", "", {gauge("depth", -3)}),
              ElementsAre("p.Shop_Api.depth:0|g", "p.Shop_Api.depth:-3|g"));
}

TEST_F(NumberSinkTest, WritesDatadogsTags) {
  EXPECT_THAT(lines("statsd", ",tags=dogstatsd", {tagged("/a{id}|b,c"), gauge("t", -3)}),
              ElementsAre("p.requests:5|c|#process:Shop.Api,route:/a_id__b_c",
                          "p.t:-3|g|#process:Shop.Api"));
}

TEST_F(NumberSinkTest, WritesInfluxsTags) {
  EXPECT_THAT(lines("statsd", ",tags=influx", {tagged("a:b=c")}),
              ElementsAre("p.requests,process=Shop.Api,route=a_b_c:5|c"));
}

TEST_F(NumberSinkTest, SendsStatsdAHistogramAsQuantilesAndAmounts) {
  auto value = gauge("latency", 1);
  value.kind = CounterKind::kHistogram;
  value.count = 40;
  value.sum = 2.5;
  value.quantiles = {{0.5, 1}, {0.99, 2}};
  EXPECT_THAT(
      lines("statsd", ",tags=dogstatsd", {value}),
      ElementsAre("p.latency.p50:1|g|#process:Shop.Api", "p.latency.p99:2|g|#process:Shop.Api",
                  "p.latency.count:40|c|#process:Shop.Api",
                  "p.latency.sum:2.5|c|#process:Shop.Api"));
}

TEST_F(NumberSinkTest, KeepsDatagramsSmall) {
  std::vector<CounterValue> values;
  for (int i = 0; i < 1000; ++i) values.push_back(gauge(fmt::format("number.{}", i), i));
  EXPECT_EQ(lines("statsd", "", values).size(), 1000U);
  EXPECT_LE(largest_, 8000U);
}

TEST_F(NumberSinkTest, RefusesWrongOptions) {
  for (const auto* text :
       {"graphite:h:1,proto=sctp", "graphite:h:1,template={x}", "graphite:h:port",
        "statsd:h,tags=yes", "statsd:h:99999", "graphite:h,limit=0", "graphite:h,names=x"}) {
    const auto address = parse_sink(text);
    ASSERT_TRUE(address) << text;
    EXPECT_FALSE(address->kind->make(*address, {})) << text;
  }
}

}  // namespace
}  // namespace clrscope::sinks
