#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/zstd_block.h"
#include "fleet/convert.h"
#include "fleet/host_limits.h"
#include "fleet/options.h"
#include "fleet/rest.h"
#include "fleet/server.h"
#include "fleet/test_grpc.h"
#include "fleet/tokens.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/test_batches.h"
#include "store/testing/fake_clickhouse.h"
#include "uplink/batch_encoder.h"

namespace clrscope::fleet {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::HasSubstr;

class FleetTest : public testing::Test {
 protected:
  FleetTest() {
    std::string name = testing::TempDir() + "fleet.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~FleetTest() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TraceTime at(int us) { return TraceTime{microseconds{us}}; }

RequestBatch sample_requests() {
  RequestBatch batch{.methods = {"A.Run", "A.LoadAsync", "never used"}};
  RequestTrace request{.number = 1,
                       .trace_id = {1, 2, 3},
                       .method = "GET",
                       .route = "/a/{id}",
                       .path = "/a/1",
                       .error = "System.Exception",
                       .status = 503,
                       .sampled = true,
                       .aborted = true,
                       .begin = at(1000),
                       .end = at(1900),
                       .running = microseconds{400},
                       .waiting = microseconds{500},
                       .queued = microseconds{20},
                       .bytes_out = 17,
                       .spans_lost = 3};
  request.spans.push_back({.id = 50, .method = 0, .begin = at(1010), .end = at(1210), .thread = 4});
  request.spans.push_back({.id = 60,
                           .parent = 50,
                           .method = 1,
                           .is_async = true,
                           .outcome = SpanOutcome::kFaulted,
                           .begin = at(1020),
                           .end = at(1800),
                           .queued = microseconds{20},
                           .steps = {{at(1020), at(1100), 4}, {at(1700), at(1800), 5}},
                           .thread = 4});
  batch.requests = {request, RequestTrace{.begin = at(2000), .end = at(2001)}};
  return batch;
}

TEST(BatchEncoder, WritesWhatTheGeneratedCodeReads) {
  uplink::BatchEncoder encoder{
      {.host = "h", .service = "s", .version = "1", .instance = "12345678"}};
  const uplink::ClockOffset clock{seconds{1'800'000'000}};
  const auto encoded = encoder.encode(sample_requests(), clock, {.seen = 9, .sampled = 1},
                                      WallTime{seconds{1'800'000'001}});
  ASSERT_EQ(encoded.size(), 1U);
  v1::BatchEnvelope envelope;
  envelope.set_id("batch-01");
  envelope.set_batch_zstd(zstd_block(as_bytes(encoded[0]), 1));
  const auto batch = batch_of(envelope, 1 << 20);
  ASSERT_TRUE(batch) << batch.error().what;
  EXPECT_EQ(batch->source.host, "h");
  EXPECT_EQ(batch->written_requests, 2U);
  EXPECT_EQ(batch->written_spans, 2U);
  EXPECT_EQ(batch->recording.seen, 9U);
  EXPECT_THAT(batch->names, testing::Not(testing::Contains("never used")));
  const auto& request = batch->requests[0];
  EXPECT_EQ(request.trace_id, (TraceId{1, 2, 3}));
  EXPECT_EQ(request.begin, 1'800'000'000'001'000'000);
  EXPECT_EQ(request.duration, 900'000U);
  EXPECT_EQ(batch->names[request.route - 1], "/a/{id}");
  EXPECT_EQ(batch->names[request.error - 1], "System.Exception");
  EXPECT_EQ(request.status, 503);
  EXPECT_EQ(request.flags, store::kSampled | store::kAborted);
  EXPECT_EQ(request.bytes_in, ~std::uint64_t{0});
  EXPECT_EQ(request.bytes_out, 17U);
  EXPECT_EQ(request.spans_lost, 3U);
  ASSERT_EQ(request.spans, 2U);
  EXPECT_THAT(batch->spans.parent, testing::ElementsAre(0, 1));
  EXPECT_THAT(batch->spans.begin, testing::ElementsAre(10'000, 20'000));
  // 200 us, of which 80 belong to the async method that it called.
  EXPECT_THAT(batch->spans.self, testing::ElementsAre(120'000, 180'000));
  EXPECT_THAT(batch->spans.kind, testing::ElementsAre(0, 5));
  EXPECT_THAT(batch->spans.step_begin, testing::ElementsAre(20'000, 700'000));
  EXPECT_THAT(batch->spans.step_thread, testing::ElementsAre(4, 5));
  EXPECT_EQ(batch->requests[1].spans, 0U);
}

TEST(BatchEncoder, MakesTextOfAnyBytesValid) {
  uplink::BatchEncoder encoder{{.host = "h\xff", .service = "s", .instance = "12345678"}};
  auto requests = sample_requests();
  requests.requests[0].path = "/a/\xc3\x28\xf0";
  requests.methods[0] = std::string(4095, 'x') + "\xc3\xa9";  // cut in the middle of a letter
  requests.methods[1] = std::string(4096, '\xff');
  v1::RequestBatch batch;
  ASSERT_TRUE(batch.ParseFromString(encoder.encode(requests, {}, {}, WallTime{}).at(0)));
  EXPECT_EQ(batch.source().host(), "h\uFFFD");
  for (const auto& name : batch.names()) EXPECT_LE(name.size(), 4096U);
}

// The server refuses batches with deeper ones.
TEST(BatchEncoder, FlattensRecursionBeyondTheDeepestStack) {
  constexpr std::uint32_t kDepth = kDeepestStack + 500;
  RequestBatch requests{.methods = {"A.Run"}, .frames = {"A.Run()"}};
  RequestTrace request{.sampled = true, .begin = at(0), .end = at(9000)};
  for (std::uint32_t i = 0; i < kDepth; ++i) {
    request.spans.push_back({.id = i + 1, .parent = i, .begin = at(1), .end = at(2), .thread = 4});
    requests.stacks.push_back({.parent = i, .frame = 0});
  }
  request.samples.push_back({.time = at(1), .thread = 4, .stack = kDepth});
  request.samples.push_back({.time = at(1), .thread = 4, .stack = kDepth - 1});
  requests.requests = {request};
  uplink::BatchEncoder encoder{{.host = "h", .service = "s", .instance = "12345678"}};
  v1::BatchEnvelope envelope;
  envelope.set_id("batch-01");
  envelope.set_batch_zstd(
      zstd_block(as_bytes(encoder.encode(requests, {}, {}, WallTime{}).at(0)), 1));
  const auto batch = batch_of(envelope, 1 << 20);
  ASSERT_TRUE(batch) << batch.error().what;
  ASSERT_EQ(batch->spans.parent.size(), kDepth);
  EXPECT_EQ(batch->spans.parent.back(), kDeepestStack - 1);
  EXPECT_EQ(batch->stacks.parent.size(), kDeepestStack);
  EXPECT_THAT(batch->samples.stack, testing::ElementsAre(kDeepestStack, kDeepestStack));
}

TEST(BatchEncoder, SplitsWhatIsLarge) {
  uplink::BatchEncoder encoder{{.host = "h", .service = "s", .instance = "12345678"}};
  RequestBatch large = sample_requests();
  large.requests.resize(40'000, large.requests[0]);
  const auto encoded = encoder.encode(large, {}, {.seen = 40'000}, WallTime{});
  ASSERT_GT(encoded.size(), 2U);
  std::uint64_t requests = 0, before = 0, seen = 0;
  for (const auto& bytes : encoded) {
    EXPECT_LT(bytes.size(), 2U << 20);
    v1::RequestBatch batch;
    ASSERT_TRUE(batch.ParseFromString(bytes));
    requests += static_cast<std::uint64_t>(batch.requests_size());
    EXPECT_EQ(batch.written_requests(), requests);
    EXPECT_GT(batch.written_spans(), before);
    before = batch.written_spans();
    seen += batch.recording().seen_requests();
  }
  EXPECT_EQ(requests, 40'000U);
  EXPECT_EQ(seen, 40'000U);
}

TEST(BatchOf, RefusesABombAndWhatIsNoBatch) {
  v1::BatchEnvelope envelope;
  envelope.set_id("batch-01");
  envelope.set_batch_zstd(zstd_block(as_bytes(std::string(2 << 20, '\0')), 1));
  EXPECT_EQ(batch_of(envelope, 1 << 20).error().code, Errc::kTooLarge);
  envelope.set_batch_zstd("not zstd");
  EXPECT_FALSE(batch_of(envelope, 1 << 20));
  envelope.clear_body();
  EXPECT_FALSE(batch_of(envelope, 1 << 20));
}

TEST(TraceIds, AreThirtyTwoHexadecimalDigits) {
  EXPECT_EQ(trace_id_of("0AF7651916cd43dd8448eb211c80319c").value()[0], 0x0a);
  EXPECT_FALSE(trace_id_of("0af7651916cd43dd8448eb211c80319"));
  EXPECT_FALSE(trace_id_of("0af7651916cd43dd8448eb211c80319x"));
}

TEST(HostLimits, LetTenSecondsPassAtOnceAndThenTheRate) {
  HostLimits limits{100};
  const TraceTime start{seconds{50}};
  EXPECT_TRUE(limits.take("a", 1000, start));
  EXPECT_FALSE(limits.take("a", 100, start));
  EXPECT_TRUE(limits.take("b", 1000, start));
  EXPECT_TRUE(limits.take("a", 100, start + seconds{1}));
  EXPECT_FALSE(limits.take("a", 5000, start + seconds{5}));
  EXPECT_TRUE(limits.take("a", 5000, start + seconds{30}));  // more than a bucket holds
  EXPECT_TRUE(HostLimits{0}.take("a", ~0ULL, start));
}

TEST_F(FleetTest, TokensAreFoundByTheirWordAndReadAgainWhenTheyChange) {
  const auto file = folder_ + "/tokens";
  const auto word = add_token(file, "web-7", "ingest").value();
  auto tokens = Tokens::open(file).value();
  EXPECT_EQ(tokens.find("Bearer " + word)->name, "web-7");
  EXPECT_TRUE(tokens.find("Bearer " + word)->may(Scope::kIngest));
  EXPECT_FALSE(tokens.find("Bearer " + word)->may(Scope::kRead));
  EXPECT_FALSE(tokens.find(word));
  EXPECT_FALSE(tokens.find("Bearer "));
  const auto second = add_token(file, "ana", "ingest,read").value();
  EXPECT_FALSE(tokens.find("Bearer " + second));
  ASSERT_TRUE(tokens.refresh());
  EXPECT_TRUE(tokens.find("Bearer " + second)->may(Scope::kRead));
  ::chmod(file.c_str(), 0640);
  EXPECT_FALSE(tokens.refresh());
  EXPECT_TRUE(tokens.find("Bearer " + word));  // keeps what it had
}

TEST(Tokens, RefuseALineThatIsNone) {
  EXPECT_TRUE(parse_tokens("# comment\n\n").value().empty());
  EXPECT_FALSE(parse_tokens("name ingest short"));
  EXPECT_FALSE(parse_tokens("name write " + std::string(64, 'a')));
}

TEST(Loopback, IsThisMachineAlone) {
  for (const auto* one : {"127.0.0.1:1", "localhost:1", "[::1]:1", "unix:/tmp/x"})
    EXPECT_TRUE(is_loopback(one)) << one;
  for (const auto* one : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "localhost.example:1", ":1", ""})
    EXPECT_FALSE(is_loopback(one)) << one;
}

TEST_F(FleetTest, RestAnswersQueriesAndNamesWhatIsWrong) {
  const auto tenants = Tenants::open({.store = "sqlite:" + folder_ + "/a.db",
                                      .usual = {.retention = {.age = seconds{1LL << 32}}}})
                           .value();
  const auto tokens = Tokens::open("").value();
  const auto audit = FleetAudit::open("").value();
  Caller caller;
  const Access access{tokens, *audit, *tenants};
  ASSERT_EQ(access.check("", Scope::kRead, "", "", caller), Access::Answer::kYes);
  auto& store = caller.tenant->store();
  ASSERT_TRUE(store.add(std::vector{store::make_batch({})}, WallTime{seconds{1'800'000'000}}));
  const auto get = [&](const std::string& path, const std::string& query = {}) {
    return Rest::answer({.method = "GET", .path = path, .query = query}, access, caller);
  };
  EXPECT_THAT(get("/fleet/services").body,
              HasSubstr(R"("service":"shop","versions":["1.0"],"hosts":["web-1"],"requests":10)"));
  EXPECT_THAT(
      get("/fleet/series", "by=service&step=1m").body,
      HasSubstr(R"({"by":"service","stepMs":60000,"series":[{"group":"shop","requests":10)"));
  EXPECT_THAT(get("/fleet/requests", "service=shop&limit=1").body, HasSubstr(R"("spanCount":8)"));
  EXPECT_THAT(get("/fleet/status").body, HasSubstr(R"("signedIn":false)"));
  for (const auto* query : {"", "by=host", "by=moon&service=shop", "by=service&step=1ms"})
    EXPECT_EQ(get("/fleet/series", query).status, 400) << query;
  EXPECT_EQ(get("/fleet/requests", "service=shop&limit=0").status, 400);
  EXPECT_THAT(get("/fleet/routes", "service=shop&route=GET+/route/1").body,
              HasSubstr(R"("route":"GET /route/1","requests":3)"));
  EXPECT_THAT(get("/fleet/routes", "service=shop&status=4xx").body, HasSubstr(R"("routes":[])"));
  EXPECT_THAT(get("/fleet/flame", "service=shop&fromPercentile=90").body,
              HasSubstr(R"("requests":2)"));
  EXPECT_THAT(get("/fleet/hosts").body, HasSubstr(R"("samplingPercent":50)"));
  EXPECT_EQ(get("/health").status, 200);
  for (const auto* query : {"", "service=shop&from=x", "service=shop&from=5&to=4",
                            "service=shop&status=abc", "service=shop&last=never"})
    EXPECT_EQ(get("/fleet/routes", query).status, 400) << query;
  EXPECT_EQ(get("/fleet/flame", "service=shop&fromPercentile=nan").status, 400);
  EXPECT_EQ(get("/fleet/requests/xyz").status, 400);
  EXPECT_EQ(get("/fleet/requests/" + std::string(32, '0')).status, 404);
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_EQ(Rest::answer({.method = "POST", .path = "/fleet/hosts"}, access, caller).status, 405);
}

TEST_F(FleetTest, SaysThatItRunsWhileTheStoreHangs) {
  SKIP_UNDER_THREAD_SANITIZER();
  store::FakeClickhouse clickhouse;
  ASSERT_TRUE(store::migrate_schema(store::parse_clickhouse(clickhouse.url()).value()));
  const auto server = FleetServer::start({.store = "clickhouse:" + clickhouse.url(),
                                          .listen = "127.0.0.1:0",
                                          .http = "127.0.0.1:0",
                                          .no_auth = true})
                          .value();
  clickhouse.hang();
  const auto ask = [&](const std::string& path) {
    net::HttpClient client{net::parse_url(server->http_address() + path).value()};
    return client.ask("GET", {}, {}, Deadline{seconds{60}}).value();
  };
  std::vector<std::future<net::HttpResponse>> waiting;
  while (clickhouse.held() < 2) {  // more than the server answers at a time
    if (waiting.size() < 8) waiting.push_back(std::async(std::launch::async, ask, "/health/ready"));
    std::this_thread::sleep_for(microseconds{1000});
  }
  EXPECT_EQ(ask("/health").status, 200);
  EXPECT_EQ(ask("/fleet/status").status, 200);
  clickhouse.release();
  for (auto& one : waiting) one.get();
}

// Retention waits for the store; a token that was deleted ends nevertheless, and so does the
// server.
TEST_F(FleetTest, ForgetsATokenWhileRetentionWaitsForTheStore) {
  SKIP_UNDER_THREAD_SANITIZER();
  store::FakeClickhouse clickhouse;
  ASSERT_TRUE(store::migrate_schema(store::parse_clickhouse(clickhouse.url()).value()));
  const auto file = folder_ + "/tokens";
  const auto word = add_token(file, "ana", "read").value();
  std::promise<void> begun, over;
  clickhouse.change([&](store::FakeClickhouse::State& state) {
    state.answer = [&, once = true](std::string_view sql, ByteWriter&) mutable {
      if (!once || !sql.starts_with("SELECT DISTINCT toInt64(partition)")) return false;
      once = false;
      begun.set_value();
      over.get_future().wait();
      return false;
    };
  });
  {
    const auto server = FleetServer::start({.store = "clickhouse:" + clickhouse.url(),
                                            .listen = "127.0.0.1:0",
                                            .http = "127.0.0.1:0",
                                            .token_file = file})
                            .value();
    const auto ask = [&] {
      net::HttpClient client{net::parse_url(server->http_address() + "/fleet/status").value()};
      const std::vector<net::HttpField> fields{{"Authorization", "Bearer " + word}};
      return client.ask("GET", fields, {}, Deadline{seconds{60}}).value().status;
    };
    EXPECT_EQ(begun.get_future().wait_for(seconds{60}), std::future_status::ready);
    EXPECT_EQ(ask(), 200);
    add_token(folder_ + "/others", "ben", "read").value();
    std::filesystem::rename(folder_ + "/others", file);
    server->tick();
    EXPECT_EQ(ask(), 401);
  }
  over.set_value();
}

TEST(CommandOptions, NameWhatIsWrong) {
  constexpr OptionText kKnown[] = {{"--to", "URL", ""}, {"--json", "", ""}};
  const auto parse = [&](std::vector<std::string_view> words) {
    return CommandOptions::parse(kKnown, words);
  };
  EXPECT_EQ(parse({"--to", "a", "--json"})->text("--to"), "a");
  EXPECT_EQ(parse({"--to=a"})->text("--to"), "a");
  EXPECT_FALSE(parse({"--to"}));
  EXPECT_FALSE(parse({"--json=1"}));
  EXPECT_THAT(parse({"--too", "x"}).error().hint, HasSubstr("--to"));
}

}  // namespace
}  // namespace clrscope::fleet
