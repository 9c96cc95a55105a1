#include "inspect/async/requests.h"

#include <gmock/gmock.h>

#include "inspect/async/made_up_heap.h"

namespace clrscope::inspect {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kLoop =
    "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol";
constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";

std::string property(std::string_view name) { return "<" + std::string{name} + ">k__BackingField"; }

// 2026-11-17 17:00:00 UTC.
const RequestClock kNow{.wall = std::chrono::system_clock::time_point{1'794'934'800s},
                        .monotonic = 5000s};

class RequestsTest : public testing::Test, protected MadeUpHeap {
 protected:
  RequestsTest() {
    string_ = type("System.String", {});
    context_ = type("Microsoft.AspNetCore.Http.DefaultHttpContext",
                    {{.name = "_active", .offset = 8}, {.name = "_features", .offset = 16}});
    protocol_ =
        type("Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.Http1Connection`1[Context]",
             {{.name = property("ConnectionIdFeature"), .offset = 8},
              {.name = property("Path"), .offset = 16},
              {.name = property("PathBase"), .offset = 24},
              {.name = property("Method"), .offset = 40},
              {.name = "_httpVersion", .offset = 41},
              {.name = property("IsUpgraded"), .offset = 42},
              {.name = "_requestProcessingStatus", .offset = 43},
              {.name = "_requestCount", .offset = 44},
              {.name = "_methodText", .offset = 48},
              {.name = "_endpoint", .offset = 56},
              {.name = "_requestId", .offset = 64},
              {.name = "_currentIHttpActivityFeature", .offset = 72},
              {.name = property("HttpRequestHeaders"), .offset = 80},
              {.name = "HostContext", .offset = 88}});
    endpoint_ = type("Microsoft.AspNetCore.Routing.RouteEndpoint",
                     {{.name = property("DisplayName"), .offset = 8},
                      {.name = property("RoutePattern"), .offset = 16}});
    pattern_ = type("Microsoft.AspNetCore.Routing.Patterns.RoutePattern",
                    {{.name = property("RawText"), .offset = 8}});
    feature_ = type("Microsoft.AspNetCore.Hosting.HttpActivityFeature",
                    {{.name = property("Activity"), .offset = 8}});
    activity_ =
        type("System.Diagnostics.Activity", {{.name = property("OperationName"), .offset = 8},
                                             {.name = "_traceId", .offset = 16},
                                             {.name = "_spanId", .offset = 24},
                                             {.name = property("StartTimeUtc"), .offset = 32}});
    host_ = type("Microsoft.AspNetCore.Hosting.HostingApplication+Context",
                 {{.name = property("StartTimestamp"), .offset = 8}});
    headers_ =
        type("Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpRequestHeaders", {});
    loop_ = method(std::string{kLoop} + "+<ProcessRequests>d__238`1[Context]");
  }

  std::uint64_t text(std::string_view value) {
    const auto address = add(string_);
    target_.put(address + 8, static_cast<std::uint32_t>(value.size()));
    for (std::size_t i = 0; i < value.size(); ++i)
      target_.put(address + 12 + 2 * i, static_cast<char16_t>(value[i]));
    return address;
  }
  // A context and its connection; gives the connection.
  std::uint64_t request(std::string_view path, bool active = true) {
    const auto connection = add(protocol_);
    const auto context = add(context_);
    target_.put<std::uint8_t>(context + 8, active ? 1 : 0);
    point(context, 16, connection);
    point(connection, 16, text(path));
    point(connection, 8, text("0HN1"));
    target_.put<std::uint8_t>(connection + 40, 3);  // POST
    target_.put<std::uint8_t>(connection + 41, 1);
    target_.put<std::uint32_t>(connection + 44, 26);
    return connection;
  }
  // Units of 100 ns since the year 1, as UTC.
  static std::uint64_t date(std::chrono::system_clock::time_point time) {
    const auto since =
        std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch());
    return (static_cast<std::uint64_t>(since.count() / 100) + 621'355'968'000'000'000) |
           (std::uint64_t{1} << 62);
  }
  std::uint64_t activity(std::uint64_t connection, std::string_view trace, std::uint64_t started) {
    const auto one = add(activity_);
    point(one, 16, text(trace));
    target_.put(one + 32, started);
    const auto feature = add(feature_);
    point(feature, 8, one);
    point(connection, 72, feature);
    return one;
  }
  RequestsSnapshot look(std::optional<RequestClock> now = kNow, const Snapshot* threads = nullptr) {
    auto async = read(threads);
    return read_requests(target_, runtime_, heap_, threads, std::move(async), now);
  }

  std::uint32_t string_, context_, protocol_, endpoint_, pattern_, feature_, activity_, host_,
      headers_, loop_;
};

TEST_F(RequestsTest, ListsTheContextsThatAreInUse) {
  const auto connection = request("/orders/17");
  request("/orders/18", false);
  const auto endpoint = add(endpoint_);
  point(endpoint, 8, text("HTTP: POST /orders/{id}"));
  const auto pattern = add(pattern_);
  point(pattern, 8, text("/orders/{id}"));
  point(endpoint, 16, pattern);
  point(connection, 56, endpoint);
  point(connection, 24, text("/shop"));
  activity(connection, kTrace, date(kNow.wall - 1500ms));
  const auto seen = look();
  EXPECT_EQ(seen.contexts, 2U);
  ASSERT_THAT(seen.requests, SizeIs(1));
  const auto& one = seen.requests[0];
  EXPECT_EQ(one.method, "POST");
  EXPECT_EQ(one.path, "/shop/orders/17");
  EXPECT_EQ(one.protocol, "HTTP/1.1");
  EXPECT_EQ(one.endpoint, "HTTP: POST /orders/{id}");
  EXPECT_EQ(one.route, "/orders/{id}");
  EXPECT_EQ(one.connection_id, "0HN1");
  EXPECT_EQ(one.request_id, "0HN1:0000001A");
  EXPECT_EQ(one.trace_id, kTrace);
  EXPECT_EQ(one.age, 1500ms);
  EXPECT_EQ(one.age_source, AgeSource::kActivity);
  EXPECT_EQ(one.started, kNow.wall - 1500ms);
  EXPECT_FALSE(one.upgraded);
}

TEST_F(RequestsTest, SayWhatWasLookedForWhenThereIsNone) {
  add(plain_);
  const auto seen = look();
  EXPECT_THAT(seen.requests, IsEmpty());
  EXPECT_EQ(seen.contexts, 0U);
  EXPECT_THAT(seen.async.notes, ElementsAre(HasSubstr("no HttpContext of ASP.NET Core")));
}

TEST_F(RequestsTest, FindNoneInAHeapReadWithoutReferences) {
  add(loop_);
  read(nullptr);
  heap_.graph.first_edge.clear();
  heap_.graph.edges.clear();
  auto async = read_async(target_, runtime_, heap_, nullptr);
  EXPECT_THAT(async.stacks, IsEmpty());
  const auto seen = read_requests(target_, runtime_, heap_, nullptr, std::move(async), {});
  EXPECT_THAT(seen.requests, IsEmpty());
  EXPECT_THAT(seen.async.notes, ElementsAre(HasSubstr("no HttpContext of ASP.NET Core")));
}

TEST_F(RequestsTest, PutTheOldestFirstAndUnknownAgesLast) {
  request("/unknown");
  activity(request("/new"), kTrace, date(kNow.wall - 1s));
  const auto old = request("/old");
  const auto host = add(host_);
  target_.put<std::int64_t>(host + 8, std::chrono::nanoseconds{kNow.monotonic - 60s}.count());
  point(old, 88, host);
  const auto seen = look();
  ASSERT_THAT(seen.requests, SizeIs(3));
  EXPECT_EQ(seen.requests[0].path, "/old");
  EXPECT_EQ(seen.requests[0].age, 60s);
  EXPECT_EQ(seen.requests[0].age_source, AgeSource::kHosting);
  EXPECT_EQ(seen.requests[0].started, kNow.wall - 60s);
  EXPECT_EQ(seen.requests[1].path, "/new");
  EXPECT_EQ(seen.requests[2].path, "/unknown");
  EXPECT_FALSE(seen.requests[2].age);
  EXPECT_THAT(seen.async.notes, ElementsAre(HasSubstr("the age of 1 request is unknown")));
}

TEST_F(RequestsTest, TakeTheTraceIdOfTheHeaderWithoutAnActivity) {
  const auto connection = request("/orders/17");
  const auto headers = add(headers_);
  point(headers, 8, text("curl/8.5"));
  point(headers, 16, text("00-" + std::string{kTrace} + "-00f067aa0ba902b7-01"));
  point(connection, 80, headers);
  EXPECT_EQ(look().requests[0].trace_id, kTrace);
}

TEST_F(RequestsTest, TakeTheDeepestStackUpToTheLoopOfTheServer) {
  const auto connection = request("/orders/17");
  const auto load = method("Shop.Cart+<Load>d__3");
  const auto place = method("Shop.Orders+<Place>d__1");
  const auto serve = method("Kestrel.Connection+<Execute>d__1");
  const auto next = [&] { return number(heap_.graph.addresses.size() + 1); };
  const auto reply = task(task_, next());
  const auto inner = box(load, 2, reply, next());
  const auto middle = box(place, 0, inner, next());
  const auto loop = box(loop_, 1, middle, next(), connection);
  box(serve, 0, loop);
  task(task_, middle);  // a shorter way to the same method
  const auto seen = look();
  ASSERT_THAT(seen.requests, SizeIs(1));
  const auto& one = seen.requests[0];
  ASSERT_THAT(one.steps, SizeIs(3));
  EXPECT_EQ(seen.async.method(one.steps[0]), "Shop.Cart.Load");
  EXPECT_EQ(seen.async.method(one.steps[1]), "Shop.Orders.Place");
  EXPECT_EQ(seen.async.method(one.steps[2]), std::string{kLoop} + ".ProcessRequests");
  ASSERT_TRUE(one.wait);
  EXPECT_EQ(one.wait->object, reply);
  EXPECT_EQ(one.stacks, 2U);
  EXPECT_EQ(one.thread, 0U);
}

TEST_F(RequestsTest, FindTheThreadThatRunsARequestByItsStack) {
  const auto connection = request("/cpu");
  const auto loop = box(loop_, -1, 0, 0, connection);
  find_edges();
  Snapshot threads;
  const auto loop_frame = std::string{kLoop} + "+<ProcessRequests>d__238`1[Context].MoveNext()";
  for (const std::uint32_t id : {7U, 8U, 9U}) {
    ThreadView thread;
    thread.os.namespace_tid = static_cast<pid_t>(id);
    if (id == 9) thread.frames.push_back({.method = "read", .kind = FrameKind::kNative});
    thread.frames.push_back(
        {.method = id == 9 ? "Shop.Burn(int)" : "Shop.Other(int)", .kind = FrameKind::kManaged});
    if (id != 8) thread.frames.push_back({.method = loop_frame, .kind = FrameKind::kFramework});
    thread.frames.push_back({.method = "Pool.Run()", .kind = FrameKind::kFramework});
    threads.threads.push_back(std::move(thread));
  }
  // Thread 7 serves another one; thread 8 has what an earlier call left on its stack.
  const auto object = static_cast<std::uint32_t>((loop - kHeap) / kSize);
  heap_.graph.root_names = {"static field", "thread 8: Shop.Other", "thread 9: Shop.Burn"};
  heap_.graph.roots = {{.object = object, .kind = RootKind::kStatic, .name = 0},
                       {.object = object, .kind = RootKind::kStack, .name = 1},
                       {.object = object, .kind = RootKind::kStack, .name = 2}};
  const auto seen = look(kNow, &threads);
  ASSERT_THAT(seen.requests, SizeIs(1));
  EXPECT_EQ(seen.requests[0].thread, 9U);
  ASSERT_THAT(seen.requests[0].frames, SizeIs(2));
  EXPECT_EQ(seen.requests[0].frames[0].method, "Shop.Burn(int)");
  EXPECT_EQ(seen.requests[0].frames[1].method, loop_frame);
}

TEST_F(RequestsTest, LeaveOutWhatMakesNoSense) {
  const auto connection = request("/x");
  target_.put<std::uint32_t>(*Memory{target_}.pointer(connection + 16) + 8, 0xffffffff);  // length
  target_.put<std::uint8_t>(connection + 40, 200);
  target_.put<std::uint8_t>(connection + 41, 77);
  point(connection, 56, connection);        // an endpoint that is none
  point(connection, 80, 0xdead'beef'0000);  // headers that are nowhere
  point(connection, 64, number(0) + 4);     // not the address of an object
  const auto one = activity(connection, "not a trace id", ~std::uint64_t{0});
  point(one, 24, one);
  const auto seen = look();
  ASSERT_THAT(seen.requests, SizeIs(1));
  EXPECT_LE(seen.requests[0].path.size(), 3 * 512U);
  EXPECT_EQ(seen.requests[0].method, "");
  EXPECT_EQ(seen.requests[0].protocol, "");
  EXPECT_EQ(seen.requests[0].endpoint, "");
  EXPECT_EQ(seen.requests[0].trace_id, "");
  EXPECT_EQ(seen.requests[0].span_id, "");
  EXPECT_FALSE(seen.requests[0].age);
  EXPECT_FALSE(seen.requests[0].started);
}

TEST_F(RequestsTest, RefuseAStartThatLiesAhead) {
  activity(request("/soon"), kTrace, date(kNow.wall + 1s));
  activity(request("/later"), kTrace, date(kNow.wall + 1h));
  const auto seen = look();
  ASSERT_THAT(seen.requests, SizeIs(2));
  EXPECT_EQ(seen.requests[0].path, "/soon");
  EXPECT_EQ(seen.requests[0].age, 0s);
  EXPECT_FALSE(seen.requests[1].age);
}

TEST_F(RequestsTest, GoByTheClockOfKestrelInACore) {
  activity(request("/orders/17"), kTrace, date(kNow.wall - 90s));
  const auto manager =
      add(type("Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.DateHeaderValueManager",
               {{.name = "_dateValues", .offset = 8}}));
  const auto values = add(type("Values", {{.name = "String", .offset = 8}}));
  point(values, 8, text("Tue, 17 Nov 2026 17:00:00 GMT"));
  point(manager, 8, values);
  const auto seen = look(std::nullopt);
  ASSERT_THAT(seen.requests, SizeIs(1));
  EXPECT_EQ(seen.requests[0].age, 90s);
  EXPECT_THAT(seen.async.notes, ElementsAre(HasSubstr("Kestrel's clock")));
}

TEST_F(RequestsTest, KeepABoundedNumber) {
  constexpr std::size_t kMore = 10'005;
  target_.add_memory(kHeap + 0x20000, 0x200000);
  for (std::size_t i = 0; i < kMore; ++i) target_.put<std::uint8_t>(add(context_) + 8, 1);
  const auto seen = look();
  EXPECT_EQ(seen.contexts, kMore);
  EXPECT_THAT(seen.requests, SizeIs(10'000));
  EXPECT_EQ(seen.cut, 5U);
}

}  // namespace
}  // namespace clrscope::inspect
