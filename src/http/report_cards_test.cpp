#include "http/report_cards.h"

#include <gtest/gtest.h>

namespace clrscope::http {
namespace {

JsonValue report(std::string_view findings) {
  return read_json("{\"findings\":[" + std::string{findings} + "],\"examined\":[]}").value();
}

TEST(ReportChanges, TellsWhatIsNewAndWhatIsGone) {
  const auto changes =
      report_changes(report(R"({"id":"CS1","title":"old"},{"id":"CS2","title":"b"})"),
                     report(R"({"id":"CS2","title":"b"},{"id":"CS3","title":"<c>"})"));
  EXPECT_NE(changes.find("new: <a href=\"#CS3\">CS3 &lt;c&gt;</a>"), std::string::npos) << changes;
  EXPECT_NE(changes.find("gone: CS1 old"), std::string::npos);
  EXPECT_EQ(changes.find("CS2"), std::string::npos);
}

TEST(ReportChanges, SaysNothingOfTheSame) {
  const auto same = report(R"({"id":"CS1","title":"a"})");
  EXPECT_EQ(report_changes(same, same), "");
}

}  // namespace
}  // namespace clrscope::http
