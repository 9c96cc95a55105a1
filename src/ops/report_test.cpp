#include "ops/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using testing::ElementsAre;

TEST(ReportAnswer, SumsUpWhatIsMissingOfItsFiles) {
  ReportAnswer answer;
  answer.files.resize(2);
  for (auto& file : answer.files) file.tells_loss = true;
  answer.files[0].summary.lost = 3;
  answer.files[1].summary.lost = 4;
  answer.files[1].summary.truncated = true;
  JsonWriter json;
  write_json(json, answer.losses());
  EXPECT_EQ(json.text(), R"({"lost":7,"damaged":0,"truncated":true})");
}

TEST(ReportAnswer, DoesNotKnowLossesWhereAFileDoesNotTellThem) {
  ReportAnswer answer;
  answer.files.resize(2);
  answer.files[0].tells_loss = true;
  answer.files[1].tells_loss = false;
  JsonWriter json;
  write_json(json, answer.losses());
  EXPECT_EQ(json.text(), R"({"lost":null,"damaged":0,"truncated":false})");
}

TEST(ReportShape, HasTheReportsMembersAndThenItsLosses) {
  std::vector<std::string_view> names;
  for (const auto& member : report_shape(*analyze::find_report("events")).members())
    names.push_back(member.name);
  EXPECT_THAT(names, ElementsAre("events", "byEvent", "lost", "damaged", "truncated"));
}

}  // namespace
}  // namespace clrscope::ops
