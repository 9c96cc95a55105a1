#include "doctor/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "doctor/examination.h"
#include "doctor/test_evidence.h"

namespace clrscope::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<Selected> all() { return *select({}, {}); }

std::vector<std::string> ids(const Diagnosis& diagnosis) {
  std::vector<std::string> out;
  for (const auto& report : diagnosis.reports) out.emplace_back(report.id);
  return out;
}

EventFacts storm() {
  return {.exceptions = 500,
          .thrown = {{.type = "Shop.NoStock",
                      .count = 500,
                      .message = "<none> left",
                      .places = {{"Shop.Cart.Add()", "Shop", 500}}}}};
}

// Two threads in a cycle, one more behind them, and a third of the pool that waits for it.
inspect::Snapshot deadlock() {
  inspect::Snapshot snapshot;
  snapshot.threads = {waiting(make_thread(131, "orders", "Shop.Orders.Place()"),
                              inspect::WaitKind::kMonitor, 132, "Shop.Stock", 0x98),
                      waiting(make_thread(132, "refunds", "Shop.Refunds.Run()"),
                              inspect::WaitKind::kMonitor, 131, "Shop.Cart", 0x10),
                      waiting(pool_worker(make_thread(133, "", "Shop.Web.Get()")),
                              inspect::WaitKind::kMonitor, 131, "Shop.Cart", 0x10),
                      waiting(pool_worker(make_thread(134, "", "Shop.Web.Get()")),
                              inspect::WaitKind::kMonitor, 131, "Shop.Cart", 0x10)};
  snapshot.locks = {
      {.object = 0x98, .type = "Shop.Stock", .owner_os_id = 132, .waiters = {131}},
      {.object = 0x10, .type = "Shop.Cart", .owner_os_id = 131, .waiters = {132, 133, 134}}};
  snapshot.cycles = {{131, 132}};
  snapshot.pool = inspect::Pool{.workers = 2, .queued = 7};
  return snapshot;
}

TEST(Registry, EveryFindingHasAnIdOfItsOwnAndAnExplanation) {
  std::set<std::string_view> seen;
  for (const auto* finding : findings()) {
    EXPECT_TRUE(seen.insert(finding->id).second) << finding->id;
    EXPECT_THAT(std::string{explanation(finding->id)},
                HasSubstr(fmt::format("# {}: ", finding->id)));
    EXPECT_FALSE(finding->title.empty() || finding->description.empty() || finding->price.empty() ||
                 finding->rights.empty())
        << finding->id;
  }
  EXPECT_TRUE(explanation("CS0000").empty());
}

TEST(Select, NamesTheNearestIdAndRefusesUnknownParameters) {
  EXPECT_EQ(select({"CS1001"}, {})->size(), 1U);
  EXPECT_EQ(select({"cs1001"}, {})->size(), 1U);
  EXPECT_THAT(select({"CS1O01"}, {}).error().hint, HasSubstr("CS1001"));
  for (const auto* wrong : {"CS1501.perSecond", "CS1501.nothing=1", "CS1501.perSecond=many",
                            "perSecond=1", "CS9999.perSecond=1"})
    EXPECT_FALSE(select({}, {wrong})) << wrong;
}

TEST(Diagnose, SaysWhatCouldNotRunAndWhy) {
  auto evidence = with_events({});
  evidence.no_snapshots = "needs CAP_SYS_PTRACE";
  const auto diagnosis = diagnose(evidence, all());
  for (const auto& one : diagnosis.examined)
    if (one.finding->needs.snapshots) {
      EXPECT_EQ(one.outcome, Outcome::kNotRun);
      EXPECT_EQ(one.reason, "needs CAP_SYS_PTRACE");
    }
  EXPECT_THAT(not_run_lines(diagnosis)[0], HasSubstr("lock cycle"));
  EXPECT_THAT(not_run_lines(diagnosis)[0], HasSubstr("(needs CAP_SYS_PTRACE)"));
}

TEST(Diagnose, ExaminesByEventsWhereNothingButThePortIsSeen) {
  auto events = storm();
  events.length = 10s;
  const Evidence evidence{.watched = 10s,
                          .events = events,
                          .no_snapshots = "another pid namespace",
                          .no_proc = "another pid namespace"};
  const auto diagnosis = diagnose(evidence, all());
  EXPECT_THAT(ids(diagnosis), ElementsAre("CS1501"));
  for (const auto& one : diagnosis.examined) {
    const auto& needs = one.finding->needs;
    const bool by_events =
        (needs.events && !needs.state) || needs.events_or_snapshots || one.finding->id == "CS1304";
    if (needs.cpu || needs.heap || needs.calls || needs.commands || needs.allocations)
      continue;  // their own reasons
    EXPECT_EQ(one.outcome == Outcome::kNotRun, !by_events) << one.finding->id;
    EXPECT_EQ(one.reason, by_events ? "" : "another pid namespace") << one.finding->id;
  }
}

TEST(Diagnose, AsksForMoreTimeWhereAFindingNeedsIt) {
  const auto diagnosis = diagnose(with_events(storm(), 300ms), *select({"CS1501"}, {}));
  EXPECT_EQ(diagnosis.examined[0].outcome, Outcome::kNotRun);
  EXPECT_THAT(diagnosis.examined[0].reason, HasSubstr("a duration of 1 s"));
}

TEST(Diagnose, ACoreTellsOnlyWhatAMomentCan) {
  auto evidence = same_snapshot(deadlock(), 1);
  evidence.live = false;
  const auto diagnosis = diagnose(evidence, all());
  EXPECT_EQ(ids(diagnosis)[0], "CS1001");
  for (const auto& one : diagnosis.examined)
    if (one.finding->needs.live) {
      EXPECT_THAT(one.reason, HasSubstr("live process")) << one.finding->id;
    }
}

TEST(Diagnose, RanksByHarmAndFoldsConsequencesIntoTheirCause) {
  auto evidence = same_snapshot(deadlock());
  evidence.events = storm();
  evidence.events->length = 10s;
  const auto diagnosis = diagnose(evidence, all());
  // The starving pool follows from the cycle; the storm does not.
  EXPECT_THAT(ids(diagnosis), ElementsAre("CS1001", "CS1204", "CS1501"));
  EXPECT_EQ(diagnosis.reports[0].because_of, "");
  EXPECT_EQ(diagnosis.reports[1].because_of, "CS1001");
  EXPECT_FALSE(diagnosis.reports[2].folded());
  EXPECT_TRUE(diagnosis.has(Severity::kError));
}

TEST(Examination, WritesTheJsonOfTheContract) {
  Examination examination{.process = {.pid = 100, .name = "Shop", .runtime = "10.0.12"}};
  examination.diagnosis = diagnose(with_events(storm()), *select({"CS1501", "CS1001"}, {}));
  const auto json = to_json(examination);
  for (const auto* part :
       {R"("findings":[{"id":"CS1501","title":)", R"("severity":"warning")",
        R"("confidence":"certain")", R"("summary":)", R"("evidence":{"threads":[)", R"("advice":)",
        R"("docs":"docs/findings/CS1501.md")",
        R"({"id":"CS1501","name":"exception storm","outcome":"found"})",
        R"("outcome":"notRun","reason":)"})
    EXPECT_THAT(json, HasSubstr(part));
}

TEST(Registry, IsWrittenWithPriceRightsAndParameters) {
  const auto json = registry_json();
  EXPECT_THAT(json, HasSubstr(R"("id":"CS1501","name":"exception storm","description":)"));
  EXPECT_THAT(json, HasSubstr(R"("parameters":[{"name":"perSecond","default":25,"meaning":)"));
}

}  // namespace
}  // namespace clrscope::doctor
