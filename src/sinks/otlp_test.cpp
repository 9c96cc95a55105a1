#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/guarded.h"
#include "base/proto_writer.h"
#include "net/http_server.h"
#include "net/listen.h"
#include "net/test_certificate.h"
#include "sinks/otlp_carrier.h"
#include "sinks/otlp_message.h"
#include "sinks/test_events.h"
#include "sinks/test_wait.h"

namespace clrscope::sinks {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A collector that answers as configured and keeps what it got. What the bytes mean to others is
// shown by tests/e2e/forward_otlp.case.
class Collector {
 public:
  explicit Collector(std::vector<net::HttpResponse> answers = {},
                     std::shared_ptr<net::TlsContext> tls = {})
      : answers_(std::move(answers)) {
    net::HttpServerSetting setting;
    setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"}, .tls = tls});
    server_ =
        net::HttpServer::start(setting, [this](net::HttpRequest request, net::HttpReply reply) {
          const auto count = got_.with([&](auto& all) {
            all.push_back(std::move(request));
            return all.size();
          });
          reply.send(count <= answers_.size() ? answers_[count - 1]
                                              : net::HttpResponse{.type = "", .body = ""});
        }).value();
  }
  std::string address() const { return server_->addresses()[0].text(); }
  std::vector<net::HttpRequest> got() const {
    return got_.with([](const auto& all) { return all; });
  }

 private:
  const std::vector<net::HttpResponse> answers_;
  Guarded<std::vector<net::HttpRequest>> got_;
  std::unique_ptr<net::HttpServer> server_;
};

// As the hub does it: a tick about once a second, here at once.
std::unique_ptr<hub::Sink> opened(const std::string& text) {
  const auto address = parse_sink(text).value();
  auto sink = address.kind->make(address, {.interval = 1ns}).value();
  EXPECT_TRUE(sink->open());
  return sink;
}

Result<> tell(hub::Sink& sink) {
  const auto value = test_value();
  EXPECT_TRUE(sink.on_counters(std::span{&value, 1}));
  return sink.on_tick();
}

TEST(OtlpSink, PostsToTheCollector) {
  const Collector collector;
  const auto sink = opened("otlp:http://" + collector.address() + ",header=X-Key=a=b");
  (void)tell(*sink);
  ASSERT_TRUE(until([&] { return !collector.got().empty(); }));
  const auto request = collector.got()[0];
  EXPECT_EQ(request.path, "/v1/metrics");
  EXPECT_EQ(request.field("Content-Type"), "application/x-protobuf");
  EXPECT_EQ(request.field("X-Key"), "a=b");
  EXPECT_TRUE(sink->close({}));
  EXPECT_THAT(sink->state(), HasSubstr("dropped 0"));
}

TEST(OtlpSink, ReadsHeadersFromAFile) {
  const auto path = ::testing::TempDir() + fmt::format("headers-{}", ::getpid());
  std::ofstream{path} << "# for the collector\nX-Key: a, b=c\n\nX-Tenant:shop\n";
  const Collector collector;
  const auto sink = opened("otlp:http://" + collector.address() + ",header-file=" + path);
  (void)tell(*sink);
  ASSERT_TRUE(until([&] { return !collector.got().empty(); }));
  const auto request = collector.got()[0];
  EXPECT_EQ(request.field("X-Key"), "a, b=c");
  EXPECT_EQ(request.field("X-Tenant"), "shop");
  EXPECT_TRUE(sink->close({}));

  std::ofstream{path} << "X-Key secret\n";
  const auto address = parse_sink("otlp:http://h,header-file=" + path);
  ASSERT_TRUE(address);
  const auto made = address->kind->make(*address, {});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().what, HasSubstr("line 1 must be NAME: VALUE"));
  EXPECT_THAT(made.error().what, testing::Not(HasSubstr("secret")));
  std::filesystem::remove(path);
}

TEST(SinkAddress, HoldsNoSecretInItsText) {
  const auto one = parse_sink("otlp:http://h/p?key=s3cret,header=X-Key=s3cret,timeout=2s");
  ASSERT_TRUE(one);
  EXPECT_EQ(one->text, "otlp:http://h/p?…,header=X-Key=…,timeout=2s");
  EXPECT_THAT(one->identity, testing::Not(HasSubstr("s3cret")));
  EXPECT_EQ(one->all("header"), std::vector<std::string>{"X-Key=s3cret"});
  const auto other = parse_sink("otlp:http://h/p?key=s3cret,header=X-Key=other,timeout=2s");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->text, one->text);
  EXPECT_NE(other->identity, one->identity);
  EXPECT_EQ(parse_sink("otlp:http://h,timeout=2s")->identity, "otlp:http://h,timeout=2s");
}

TEST(SinkAddress, SaysNoSecretInAnError) {
  for (const auto* wrong :
       {"otlp:http://h,header=X-Key=s3cret,tomeout=1s", "otlp:http://h,header=X-Key=a,s3cret",
        "oltp:http://h,header=X-Key=s3cret", "otlp:http://h,header=s3cret",
        "otlp:http://h,header=X-Key=s3cret,ca=/x", "otlp:http://h,header=X=a,s3cret=b"}) {
    const auto address = parse_sink(wrong);
    const auto made = address ? address->kind->make(*address, {})
                              : Result<std::unique_ptr<hub::Sink>>{fail(address.error())};
    ASSERT_FALSE(made) << wrong;
    EXPECT_THAT(made.error().what + made.error().hint, testing::Not(HasSubstr("s3cret"))) << wrong;
  }
}

TEST(OtlpSink, SendsAgainWhatTheCollectorCannotTakeNow) {
  const Collector collector{
      {{.status = 503, .fields = {{"Retry-After", "1"}}}, {.status = 429}, {.status = 502}}};
  const auto sink = opened("otlp:http://" + collector.address());
  (void)tell(*sink);
  ASSERT_TRUE(until([&] { return collector.got().size() >= 4; }));
  const auto got = collector.got();
  for (int i = 1; i < 4; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)].body, got[0].body);
}

TEST(OtlpSink, CountsWhatTheCollectorRefusesForGood) {
  ProtoWriter partial, answer;
  partial.varint(1, 1);
  partial.text(2, "too old");
  answer.message(1, partial);
  for (const auto& [response, why] :
       {std::pair{net::HttpResponse{.status = 400}, "400 Bad Request"},
        std::pair{net::HttpResponse{.status = 500}, "500 Internal"},
        std::pair{net::HttpResponse{.body = answer.bytes()}, "rejected 1 (too old)"}}) {
    const Collector collector{{response}};
    const auto sink = opened("otlp:http://" + collector.address());
    const auto at_once = tell(*sink);  // the answer may be there already
    EXPECT_TRUE(until([&] { return sink->state().find(why) != std::string::npos; }))
        << sink->state();
    const auto told = at_once ? sink->on_tick() : at_once;
    ASSERT_FALSE(told);
    EXPECT_THAT(told.error().what, HasSubstr("rejected"));
  }
}

TEST(OtlpSink, HasDeliveredNothingWhenAllWasRefused) {
  for (const int status : {401, 200}) {
    const Collector collector{std::vector<net::HttpResponse>(100, {.status = status})};
    const auto sink = opened("otlp:http://" + collector.address());
    (void)tell(*sink);
    (void)sink->close({});
    EXPECT_EQ(sink->delivered() == 0U, status == 401) << sink->state();
  }
}

TEST(OtlpCarrier, CountsTheItemsOfARefusedMessageAsRefusedAndNotAsDelivered) {
  ProtoWriter partial, answer;
  partial.varint(1, 3);
  answer.message(1, partial);
  const Collector collector{{{.status = 400}, {.body = answer.bytes()}, {.status = 200}}};
  const auto peer = parse_otlp_peer("http://" + collector.address(), kOtlpSpans).value();
  auto fate = std::make_shared<Guarded<OtlpFate>>();
  const auto outbox = Outbox::open({.name = "test"}, make_otlp_carrier(peer, fate)).value();
  outbox->put("all of it is refused", 7);
  outbox->put("three of it are refused", 5);
  outbox->put("all of it is taken", 4);
  outbox->finish(1min);
  EXPECT_EQ(outbox->state().refused, 10U);
  EXPECT_EQ(outbox->state().delivered, 6U);
  EXPECT_EQ(fate->with([](const OtlpFate& one) { return one.rejected; }), 10U);
}

TEST(OtlpSink, SpeaksTlsToWhomItTrusts) {
  const net::TestCertificate certificate;
  const Collector collector{
      {},
      net::TlsContext::server({.certificate = certificate.certificate(), .key = certificate.key()})
          .value()};
  const auto sink =
      opened("otlp:https://" + collector.address() + ",ca=" + certificate.certificate());
  (void)tell(*sink);
  ASSERT_TRUE(until([&] { return !collector.got().empty(); }));
  const auto wary = opened("otlp:https://" + collector.address());
  (void)tell(*wary);
  Result<> trouble;
  ASSERT_TRUE(until([&] { return !(trouble = wary->on_tick()); }));
  EXPECT_THAT(trouble.error().what, HasSubstr("is not trusted"));
}

TEST(OtlpSink, EndsThoughTheCollectorHangs) {
  const auto silent = net::listen_at({.host = "127.0.0.1", .port = "0"}).value();
  const auto sink = opened("otlp:http://" + silent.address.text() + ",timeout=1h");
  (void)tell(*sink);
  (void)sink->close({});
  EXPECT_THAT(sink->state(), testing::Not(HasSubstr("dropped 0")));
}

TEST(OtlpSink, EndsThoughTheCollectorHangsOverGrpc) {
  const auto silent = net::listen_at({.host = "127.0.0.1", .port = "0"}).value();
  const auto sink = opened("otlp:grpc://" + silent.address.text() + ",timeout=1h");
  (void)tell(*sink);
  (void)sink->close({});
  EXPECT_THAT(sink->state(), testing::Not(HasSubstr("dropped 0")));
}

TEST(OtlpRetryDelay, IsReadFromTheStatusDetails) {
  // google.rpc.Status{8, "slow down", [RetryInfo{2.5 s}]}, as google.protobuf encodes it.
  EXPECT_EQ(otlp_retry_delay("CAgSCXNsb3cgZG93bho2Cih0eXBlLmdvb2dsZWFwaXMuY29tL2dvb2dsZS5y"
                             "cGMuUmV0cnlJbmZvEgoKCAgCEIDKte4B"),
            2500ms);
  for (const auto* nonsense : {"", "====", "CAgSCXNsb3cgZG93bho0", "////////////"})
    EXPECT_FALSE(otlp_retry_delay(nonsense)) << nonsense;
}

TEST(OtlpSink, RefusesWrongWords) {
  for (const auto* wrong :
       {"otlp:host:4318", "otlp:http://h,header=x", "otlp:http://h,ca=/x", "otlp:https://h,ca=/x",
        "otlp:grpc://h/v1/metrics", "otlp:grpc://h,insecure=yes", "otlp:grpcs://h,ca=/x"}) {
    const auto address = parse_sink(wrong);
    EXPECT_FALSE(address && address->kind->make(*address, {})) << wrong;
  }
}

TEST(OtlpRequests, TellWhatIsNewOnceForEachProcess) {
  MetricStore store{{}};
  auto value = test_value();
  store.add(std::span{&value, 1});
  value.pid = 8;
  store.add(std::span{&value, 1});
  const auto first = otlp_requests(store, 0, {});
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].points, 1U);
  EXPECT_THAT(first[0].bytes, HasSubstr("service.name"));
  const auto then = store.revision();
  EXPECT_TRUE(otlp_requests(store, then, {}).empty());
  value.time -= 1s;  // late, but not yet told
  store.add(std::span{&value, 1});
  EXPECT_EQ(otlp_requests(store, then, {}).size(), 1U);
}

TEST(OtlpAnswer, SurvivesNonsense) {
  EXPECT_EQ(read_otlp_answer("").rejected, 0U);
  EXPECT_EQ(read_otlp_answer("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").rejected, 0U);
  EXPECT_EQ(read_otlp_answer("\x0a\x7f\x08").rejected, 0U);
  EXPECT_EQ(read_otlp_answer("{\"partialSuccess\":{}}").rejected, 0U);
}

}  // namespace
}  // namespace clrscope::sinks
