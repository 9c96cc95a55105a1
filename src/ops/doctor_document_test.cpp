#include "ops/doctor_document.h"

#include <gmock/gmock.h>

#include "answer/text.h"

namespace clrscope::ops {
namespace {

using testing::HasSubstr;
using testing::Not;

doctor::Examination deadlock() {
  doctor::Examination examination{.process = {.pid = 7, .name = "Shop", .runtime = "10.0.12"}};
  doctor::Report report{.severity = doctor::Severity::kError,
                        .title = "Deadlock: 2 threads",
                        .summary = "Each holds a lock.",
                        .details = {"a detail"},
                        .advice = "take the locks in one order",
                        .next = {{"stacks", {{"pid", "7"}}}},
                        .id = "CS1001"};
  report.threads.push_back({.os_id = 11,
                            .name = "orders",
                            .does = "waits",
                            .frames = {{.method = "Shop.Place()", .file = "/a/O.cs", .line = 3}}});
  examination.diagnosis.reports = {report};
  return examination;
}

TEST(DoctorDocument, TellsWhatIsWrongOnWhatGroundsAndWhatToDo) {
  const auto text = answer::page_text(doctor_document(deadlock()));
  EXPECT_THAT(text, HasSubstr("\n\n✖ CS1001 Deadlock: 2 threads"));
  EXPECT_THAT(text, HasSubstr("certain\n    thread 11 \"orders\"  waits\n"
                              "        Shop.Place()  O.cs:3\n"
                              "    Each holds a lock.\n    a detail\n"
                              "    Do: take the locks in one order.\n"
                              "    Next: stacks pid=7\n"
                              "    More: doctor explain=CS1001\n\n"));
}

TEST(DoctorDocument, SaysLittleOfWhatFollowsFromAnother) {
  auto examination = deadlock();
  examination.diagnosis.reports[0].because_of = "CS1002";
  const auto text = answer::page_text(doctor_document(examination));
  EXPECT_THAT(text, HasSubstr("    because of CS1002\n    Each holds a lock.\n\n"));
  EXPECT_THAT(text, Not(HasSubstr("Do: ")));
}

TEST(RoundDocument, NamesTheWorstAndPutsTheHealthyTogether) {
  Round round{.examined = {deadlock(), {.process = {.pid = 8, .name = "Well"}}},
              .skipped = {{9, "Other", "permission denied"}}};
  const auto text = answer::page_text(round_document(round));
  EXPECT_THAT(text, HasSubstr("2 of 3 .NET processes examined"));
  EXPECT_THAT(text, HasSubstr("\nShop (7)\n✖ CS1001 Deadlock"));
  EXPECT_THAT(text, HasSubstr("\nNothing found: Well (8)\n"
                              "Not examined: Other (9): permission denied\n"));
}

}  // namespace
}  // namespace clrscope::ops
