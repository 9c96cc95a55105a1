#include "ops/doctor_file.h"

#include <gmock/gmock.h>

#include "base/json_reader.h"

namespace clrscope::ops {
namespace {

using testing::HasSubstr;

std::string report(int minute) {
  return fmt::format(R"({{"pid":7,"time":"2026-05-01T12:{:02}:00Z","findings":[],"examined":[]}})",
                     minute);
}

TEST(DoctorFile, KeepsEachEarlierReportOnceNewestFirst) {
  const auto json = kept_reports_json(
      *kept_report(report(9)),
      {*kept_report(report(1)), *kept_report(report(5)), *kept_report(report(1))});
  EXPECT_EQ(json, "[\n" + report(9) + ",\n" + report(5) + ",\n" + report(1) + "\n]");
}

TEST(DoctorFile, ReadsWhatItWrote) {
  const auto json = kept_reports_json(*kept_report(report(9)), {*kept_report(report(1))});
  for (const auto& text :
       {json, "<html><script id=\"data\" data-kind=\"doctor\">" + json + "</script></html>",
        report(9) + "\n" + report(1) + "\n"}) {
    const auto read = kept_reports_in(text);
    ASSERT_TRUE(read) << text;
    ASSERT_EQ(read->size(), 2U);
    EXPECT_EQ(read->front().json, report(9));
    EXPECT_EQ(read->back().time, "2026-05-01T12:01:00Z");
  }
}

TEST(DoctorFile, KeepsNoMoreThanSoMany) {
  std::vector<KeptReport> earlier;
  for (int minute = 0; minute < 50; ++minute) earlier.push_back(*kept_report(report(minute)));
  const auto json = kept_reports_json(*kept_report(report(55)), earlier);
  EXPECT_EQ(kept_reports_in(json)->size(), kMostKeptReports + 1);
  EXPECT_THAT(json, HasSubstr(report(30)));
}

TEST(DoctorFile, RefusesWhatIsNoReport) {
  for (const std::string text :
       {"", "[", "[]", "{", "{}", "[1]", R"({"findings":[],"time":"x"})", "<html></html>",
        R"({"findings":1,"examined":[],"time":"x"})", "\xff\xfe"})
    EXPECT_FALSE(kept_reports_in(text)) << text;
}

}  // namespace
}  // namespace clrscope::ops
