#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "net/http_client.h"
#include "net/test_certificate.h"
#include "sinks/sink_kind.h"
#include "sinks/test_events.h"

namespace clrscope::sinks {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::StartsWith;

const Deadline kLong{std::chrono::seconds{60}};

Result<std::unique_ptr<hub::Sink>> sink_at(const std::string& text) {
  const auto address = TRY(parse_sink(text));
  return address.kind->make(address, {});
}

// "listens on http://127.0.0.1:41234/metrics"
net::HttpUrl url_of(const hub::Sink& sink) {
  const auto state = sink.state();
  return net::parse_url(state.substr(state.find("http"))).value();
}

void add(hub::Sink& sink, double growth) {
  const hub::CounterValue value{.time = wall_now(),
                                .pid = 7,
                                .process = "shop",
                                .provider = "Shop",
                                .name = "shop.sold",
                                .kind = hub::CounterKind::kRate,
                                .meter = true,
                                .value = growth,
                                .interval = 1s};
  ASSERT_TRUE(sink.on_counters(std::span{&value, 1}));
}

TEST(PrometheusSink, ServesWhatItWasTold) {
  const auto sink = sink_at("prometheus:127.0.0.1:0").value();
  add(*sink, 3);
  add(*sink, 4);
  ASSERT_TRUE(sink->on_dropped(17));
  net::HttpClient client{url_of(*sink)};
  const auto plain = client.ask("GET", {}, {}, kLong).value();
  EXPECT_THAT(plain.type, StartsWith("text/plain; version=0.0.4"));
  EXPECT_THAT(plain.body, HasSubstr("shop_sold_total{process=\"shop\",pid=\"7\""));
  EXPECT_THAT(plain.body, HasSubstr("} 7\n"));
  EXPECT_THAT(plain.body, HasSubstr("clrscope_events_dropped_total 17\n"));
  const auto open =
      client
          .ask("GET", {{"Accept", "application/openmetrics-text;version=1.0.0,*/*;q=0.1"}}, {},
               kLong)
          .value();
  EXPECT_THAT(open.type, StartsWith("application/openmetrics-text"));
  EXPECT_TRUE(open.body.ends_with("# EOF\n"));
  EXPECT_THAT(open.body, HasSubstr("clrscope_scrapes_total 2\n"));
}

TEST(PrometheusSink, HasOnePage) {
  const auto sink = sink_at("prometheus:127.0.0.1:0").value();
  auto url = url_of(*sink);
  EXPECT_EQ(net::HttpClient{url}.ask("POST", {}, {}, kLong)->status, 405);
  url.path = "/";
  EXPECT_EQ(net::HttpClient{url}.ask("GET", {}, {}, kLong)->status, 404);
  url.path = "/../etc/passwd";
  EXPECT_EQ(net::HttpClient{url}.ask("GET", {}, {}, kLong)->status, 404);
}

TEST(PrometheusSink, SaysThatItsPortIsTaken) {
  const auto first = sink_at("prometheus:127.0.0.1:0").value();
  const auto second = sink_at("prometheus:" + url_of(*first).address.text());
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr(url_of(*first).address.text()));
  EXPECT_THAT(second.error().hint, HasSubstr("another"));
}

TEST(PrometheusSink, ServesOthersOnlyWithTlsAndTokenOrWhenToldAloud) {
  const auto open = sink_at("prometheus:0.0.0.0:0");
  ASSERT_FALSE(open);
  EXPECT_THAT(open.error().hint, HasSubstr("no-auth=yes"));
  EXPECT_TRUE(sink_at("prometheus:0.0.0.0:0,no-auth=yes"));
}

TEST(PrometheusSink, AsksForItsToken) {
  const net::TestCertificate certificate;
  const TestFolder folder;
  const auto token = folder / "token";
  std::ofstream{token} << "open sesame\n";
  const auto sink = sink_at("prometheus:127.0.0.1:0,token=" + token +
                            ",cert=" + certificate.certificate() + ",key=" + certificate.key())
                        .value();
  const auto url = url_of(*sink);
  EXPECT_TRUE(url.tls);
  net::HttpClient client{
      url,
      net::TlsContext::client(certificate.certificate(), net::TlsContext::Trust::kVerify).value()};
  EXPECT_EQ(client.ask("GET", {}, {}, kLong)->status, 401);
  EXPECT_EQ(client.ask("GET", {{"Authorization", "Bearer open"}}, {}, kLong)->status, 401);
  EXPECT_EQ(client.ask("GET", {{"Authorization", "Bearer open sesame"}}, {}, kLong)->status, 200);
}

TEST(PrometheusSink, RefusesWrongOptions) {
  for (const auto* wrong : {"prometheus:127.0.0.1:0,names=funny", "prometheus:127.0.0.1:0,limit=0",
                            "prometheus:nowhere:x", "prometheus:127.0.0.1:0,cert=/nowhere",
                            "prometheus:127.0.0.1:0,token=/nowhere"})
    EXPECT_FALSE(sink_at(wrong)) << wrong;
}

}  // namespace
}  // namespace clrscope::sinks
