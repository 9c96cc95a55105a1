// Findings from the sessions beside the recording: each with the problem, and with healthy evidence
// that looks similar.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "doctor/test_evidence.h"

namespace clrscope::doctor {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

CallPlace calls_to(std::string what, std::uint64_t calls, std::chrono::milliseconds each) {
  return {.what = std::move(what),
          .calls = calls,
          .total = each * static_cast<std::int64_t>(calls),
          .longest = each,
          .callers = {{"Shop.Stock.Load()", "Shop", calls}}};
}

Evidence with_calls(CallFacts calls) {
  auto evidence = with_events({});
  calls.length = evidence.watched;
  evidence.calls = std::move(calls);
  return evidence;
}

TEST(SlowHttp, NamesTheAddressAndTheCaller) {
  const auto found =
      examined("CS1702", with_calls({.http = {calls_to("http://stock/items", 10, 800ms),
                                              calls_to("http://price/now", 100, 5ms)}}));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].severity, Severity::kWarning);
  EXPECT_THAT(found[0].title, HasSubstr("http://stock/items: 800 ms"));
  EXPECT_THAT(found[0].advice, HasSubstr("Shop.Stock.Load()"));
  EXPECT_EQ(found[0].numbers[0].value, 800);
}

TEST(SlowHttp, IsNeitherOneSlowRequestNorManyQuickOnes) {
  EXPECT_THAT(examined("CS1702", with_calls({.http = {calls_to("http://stock/items", 1, 2s)}})),
              IsEmpty());
  EXPECT_THAT(examined("CS1702", with_calls({.http = {calls_to("http://stock/items", 900, 9ms)}})),
              IsEmpty());
}

TEST(SlowHttp, IsToldByCountersWhereTheSessionEndedTooSoon) {
  auto under_way = calls_to("http://stock/items", 300, 50ms);
  under_way.unfinished = 300;
  auto evidence = with_calls({.cut = true, .http = {under_way}});
  evidence.events->counters["System.Net.Http/current-requests"] = {.values = {2000, 2000}};
  evidence.events->counters["System.Net.Http/requests-started-rate"] = {.values = {1000, 1000}};
  const auto found = examined("CS1702", evidence);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("2 s on average"));
  EXPECT_EQ(found[0].confidence, Confidence::kLikely);
  evidence.events->counters["System.Net.Http/current-requests"] = {.values = {20, 20}};
  EXPECT_THAT(examined("CS1702", evidence), IsEmpty());
}

TEST(SlowDns, IsAnAverage) {
  EXPECT_THAT(examined("CS1703", with_calls({.dns = {calls_to("stock", 5, 300ms)}})), SizeIs(1));
  EXPECT_THAT(examined("CS1703", with_calls({.dns = {calls_to("stock", 500, 3ms)}})), IsEmpty());
}

Evidence with_commands(std::uint64_t units, std::uint64_t commands, std::uint64_t most) {
  auto evidence = with_events({});
  evidence.commands = CommandFacts{.length = 10s,
                                   .repeated = {{"SELECT *\n  FROM items\n WHERE id = ?",
                                                 {"Shop.Orders.Items()", "Shop", commands},
                                                 units,
                                                 most}}};
  return evidence;
}

TEST(RepeatedCommands, AreManyInOneRequest) {
  const auto found = examined("CS1704", with_commands(5, 150, 30));
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].title, HasSubstr("Shop.Orders.Items() sends the same database command 30"));
  EXPECT_THAT(found[0].details, Contains("command: SELECT * FROM items WHERE id = ?"));
  // As many, but each of a request of its own.
  EXPECT_THAT(examined("CS1704", with_commands(150, 150, 1)), IsEmpty());
}

Evidence with_allocations(double mb_per_second, std::chrono::nanoseconds paused,
                          double share = 0.6) {
  auto evidence = with_events({.gc_paused = paused});
  evidence.events->counters["System.Runtime/alloc-rate"] = {.values = {mb_per_second * 1e6}};
  evidence.allocations = AllocationFacts{
      .length = 5s, .samples = 500, .places = {{"byte[]", "Shop.Report.Make()", "Shop", share}}};
  return evidence;
}

TEST(AllocationSites, MatterAtAHighRateOrWithLongPauses) {
  const auto fact = examined("CS1608", with_allocations(300, 10ms));
  ASSERT_THAT(fact, SizeIs(1));
  EXPECT_EQ(fact[0].severity, Severity::kInfo);
  EXPECT_THAT(fact[0].title, HasSubstr("Shop.Report.Make() allocates 60 % of all bytes as byte[]"));
  const auto damage = examined("CS1608", with_allocations(50, 900ms));
  ASSERT_THAT(damage, SizeIs(1));
  EXPECT_EQ(damage[0].severity, Severity::kWarning);
}

TEST(AllocationSites, AreNoMatterInAQuietProgramOrWhereNoneStandsOut) {
  EXPECT_THAT(examined("CS1608", with_allocations(20, 10ms)), IsEmpty());
  EXPECT_THAT(examined("CS1608", with_allocations(300, 10ms, 0.1)), IsEmpty());
}

}  // namespace
}  // namespace clrscope::doctor
