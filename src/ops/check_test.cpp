#include "ops/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answer/text.h"

namespace clrscope::ops {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<CheckRow> rows(Works port, Works memory, Works pause, Works cpu) {
  return {{"diagnostic-port", "", port, "port words", "port hint"},
          {"events", "", port, "events words"},
          {"memory", "", memory, "memory words", "memory hint"},
          {"pause", "", pause, "pause words", "pause hint"},
          {"dump", "", Works::kYes, "dump words"},
          {"cpu-process", "", cpu, "cpu words", "cpu hint"}};
}

VerbUse use(std::string_view verb, const std::vector<CheckRow>& rows,
            PortKind port = PortKind::kAnswers) {
  for (auto& one : verbs_for(rows, port))
    if (one.verb == verb) return one;
  ADD_FAILURE() << verb;
  return {};
}

constexpr auto kYes = Works::kYes;
constexpr auto kPartly = Works::kPartly;
constexpr auto kNo = Works::kNo;

TEST(CheckVerbs, UseTheBestSourcesWhereAllWork) {
  const auto all = rows(kYes, kYes, kYes, kYes);
  for (const auto& one : verbs_for(all, PortKind::kAnswers)) {
    EXPECT_EQ(one.works, kYes) << one.verb;
    EXPECT_THAT(one.detail, IsEmpty()) << one.verb;
  }
  EXPECT_THAT(use("stacks", all).uses, ElementsAre("memory", "pause"));
  EXPECT_THAT(use("doctor", all).uses, ElementsAre("memory", "events", "cpu-process"));
}

TEST(CheckVerbs, StacksComeThroughThePortWhereMemoryCannotBeRead) {
  for (const auto memory : {kNo, kPartly}) {
    const auto stacks = use("stacks", rows(kYes, memory, kNo, kYes));
    EXPECT_EQ(stacks.works, kPartly);
    EXPECT_THAT(stacks.uses, ElementsAre("diagnostic-port"));
    EXPECT_THAT(stacks.detail, HasSubstr("memory words"));
    EXPECT_EQ(stacks.hint, "memory hint");
  }
}

TEST(CheckVerbs, StacksOfMemoryThatHasNoReaderAreNativeWithoutAPort) {
  const auto stacks = use("stacks", rows(kNo, kPartly, kYes, kYes));
  EXPECT_EQ(stacks.works, kPartly);
  EXPECT_THAT(stacks.uses, ElementsAre("memory"));
  EXPECT_THAT(stacks.detail, HasSubstr("native frames only"));
}

TEST(CheckVerbs, RecordByTheRuntimesSamplerWithoutPerf) {
  const auto none = rows(kYes, kYes, kYes, kNo);
  for (const auto* verb : {"collect", "flame", "top", "doctor"}) {
    EXPECT_EQ(use(verb, none).works, kPartly) << verb;
    EXPECT_THAT(use(verb, none).detail, HasSubstr("own sampler: cpu words")) << verb;
    EXPECT_EQ(use(verb, none).hint, "cpu hint") << verb;
  }
}

TEST(CheckVerbs, NeedNoPortForTopAndDoctor) {
  const auto off = rows(kNo, kYes, kYes, kYes);
  EXPECT_THAT(use("top", off, PortKind::kOff).uses, ElementsAre("cpu-process", "memory"));
  EXPECT_THAT(use("doctor", off, PortKind::kOff).uses, ElementsAre("memory", "cpu-process"));
  for (const auto* verb : {"collect", "counters", "events", "forward", "dump"}) {
    EXPECT_EQ(use(verb, off, PortKind::kOff).works, kNo) << verb;
    EXPECT_EQ(use(verb, off, PortKind::kOff).detail, "port words") << verb;
    EXPECT_EQ(use(verb, off, PortKind::kOff).hint, "port hint") << verb;
  }
}

TEST(CheckVerbs, SampleAProcessWhoseRuntimeIsSilent) {
  const auto silent = rows(kNo, kYes, kYes, kYes);
  EXPECT_THAT(use("collect", silent, PortKind::kSilent).uses, ElementsAre("cpu-process"));
  EXPECT_EQ(use("collect", silent, PortKind::kSilent).works, kPartly);
}

TEST(CheckVerbs, UseNothingWhereNothingWorks) {
  for (const auto& one : verbs_for(rows(kNo, kNo, kNo, kNo), PortKind::kAnswers)) {
    EXPECT_EQ(one.works, kNo) << one.verb;
    EXPECT_THAT(one.uses, IsEmpty()) << one.verb;
    EXPECT_FALSE(one.detail.empty()) << one.verb;
    EXPECT_FALSE(one.hint.empty()) << one.verb;
  }
}

TEST(CheckDocument, PutsHintsBesideTheirSourceAndWhatToRunAtTheEnd) {
  CheckReport report;
  report.rows = {{"dump", "dump", kNo, "not here", "share the namespace", {{"ps", {}}}},
                 {"memory", "memory", kYes}};
  report.next = {{"collect", {{"pid", "7"}}}};
  EXPECT_EQ(answer::page_text(check_document(report)),
            "  dump                  no      not here\n"
            "                                hint: share the namespace; ps\n"
            "  memory                yes\n"
            "Next: collect pid=7\n");
}

TEST(CheckAnswer, HasRemediesAsValues) {
  CheckReport report;
  report.next = {{"collect", {{"pid", "7"}}}};
  EXPECT_EQ(json_line(answer_of(report)),
            "{\"sources\":[],\"next\":[{\"verb\":\"collect\",\"options\":{\"pid\":\"7\"}}]}\n");
}

}  // namespace
}  // namespace clrscope::ops
