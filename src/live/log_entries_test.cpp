#include "live/log_entries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/test_trace.h"
#include "base/json_reader.h"

namespace clrscope::live {
namespace {

using analyze::Payload;
using testing::HasSubstr;

class LogEntriesTest : public testing::Test {
 protected:
  LogEntriesTest() {
    message_ = {.index = 5, .provider = "Microsoft-Extensions-Logging", .name = "MessageJson"};
    message_.fields = {{.name = "Level", .type = TypeCode::kInt32},
                       {.name = "FactoryID", .type = TypeCode::kInt32},
                       {.name = "LoggerName", .type = TypeCode::kUtf16Text},
                       {.name = "EventId", .type = TypeCode::kInt32},
                       {.name = "EventName", .type = TypeCode::kUtf16Text},
                       {.name = "ExceptionJson", .type = TypeCode::kUtf16Text},
                       {.name = "ArgumentsJson", .type = TypeCode::kUtf16Text},
                       {.name = "FormattedMessage", .type = TypeCode::kUtf16Text}};
    start_ = {.index = 6, .provider = "Microsoft-Extensions-Logging", .name = "ActivityJsonStart"};
    start_.fields = {{.name = "ID", .type = TypeCode::kInt32},
                     {.name = "FactoryID", .type = TypeCode::kInt32},
                     {.name = "LoggerName", .type = TypeCode::kUtf16Text},
                     {.name = "ArgumentsJson", .type = TypeCode::kUtf16Text}};
    stop_ = {.index = 7, .provider = "Microsoft-Extensions-Logging", .name = "ActivityJsonStop"};
  }

  // "131": three steps.
  static Guid guid(std::string_view path) {
    Guid guid;
    for (std::size_t i = 0; i < path.size(); ++i)
      guid.bytes[i / 2] =
          static_cast<std::uint8_t>(guid.bytes[i / 2] | (path[i] - '0') << (i % 2 == 0 ? 4 : 0));
    return guid;
  }
  void add(const EventType& type, const Payload& payload, std::string_view activity) {
    const auto own = guid(activity);
    rows_.push_back(block_->add({.type = &type, .payload = payload.bytes(), .activity = &own}, {}));
  }
  void open_scope(std::string_view values, std::string_view activity) {
    add(start_, Payload{}.add(1).add(1).text("Hosting").text(values), activity);
  }
  void log(std::int32_t level, std::string_view text, std::string_view activity,
           std::string_view exception = "{}") {
    add(message_,
        Payload{}
            .add(level)
            .add(1)
            .text("Shop.Cart")
            .add(7)
            .text("Sold")
            .text(exception)
            .text(R"({"Item":"hat","Count":2,"{OriginalFormat}":"sold {Item}"})")
            .text(text),
        activity);
  }
  std::vector<LogEntry> entries() {
    std::vector<LogEntry> out;
    decoder_.on_batch({block_, rows_}, out);
    return out;
  }

  EventType message_{}, start_{}, stop_{};
  std::shared_ptr<hub::Block> block_ = std::make_shared<hub::Block>(
      std::make_shared<const hub::SourceInfo>(), nullptr, 1, std::chrono::nanoseconds{0}, 8);
  std::vector<std::uint32_t> rows_;
  LogDecoder decoder_;
};

TEST_F(LogEntriesTest, AnEntryHasTheScopesAroundIt) {
  open_scope(R"({"ConnectionId":"c1"})", "131");
  open_scope(R"({"RequestPath":"/buy"})", "1311");
  log(2, "sold hat", "13115");  // somebody else's activity in it
  add(stop_, {}, "1311");
  log(2, "after", "1311");
  log(2, "elsewhere", "14");
  const auto all = entries();
  ASSERT_EQ(all.size(), 3U);
  ASSERT_EQ(all[0].scopes.size(), 2U);
  EXPECT_EQ(all[0].scopes[0][0].second, "c1");  // the outermost first
  EXPECT_EQ(all[0].scopes[1][0].second, "/buy");
  EXPECT_EQ(all[0].category, "Shop.Cart");
  EXPECT_EQ(all[0].event_id, 7);
  EXPECT_EQ(all[0].level, LogSeverity::kInformation);
  EXPECT_EQ(all[1].scopes.size(), 1U);
  EXPECT_TRUE(all[2].scopes.empty());
}

TEST_F(LogEntriesTest, SaysItAsJsonAndAsText) {
  log(4, "no hat left\nsorry", "1",
      R"x({"TypeName":"Shop.OutOfStock","Message":"none","VerboseMessage":"Shop.OutOfStock: none\n  at Buy()"})x");
  const auto all = entries();
  ASSERT_EQ(all.size(), 1U);
  const auto json = read_json(json_text(all[0]));
  ASSERT_TRUE(json);
  EXPECT_EQ(*json->find("LogLevel")->text(), "Error");
  EXPECT_EQ(*json->find("EventName")->text(), "Sold");
  EXPECT_EQ(*json->find("State")->find("Item")->text(), "hat");
  EXPECT_EQ(*json->find("State")->find("Count")->text(), "2");
  EXPECT_THAT(*json->find("Exception")->text(), HasSubstr("at Buy()"));
  EXPECT_THAT(log_text(all[0]), HasSubstr("fail: Shop.Cart[7]\n      no hat left\n      sorry\n"));
}

TEST_F(LogEntriesTest, AsksForLevelsByCategory) {
  EXPECT_THAT(log_providers({})[0].arguments, HasSubstr("UseAppFilters"));
  EXPECT_EQ(log_providers({.level = LogSeverity::kWarning})[0].arguments,
            "FilterSpecs=\"*:Warning\"");
  const LogRequest request{.level = LogSeverity::kError,
                           .categories = {{"Shop", LogSeverity::kDebug}, {"a\";b", std::nullopt}}};
  EXPECT_EQ(log_providers(request)[0].arguments, "FilterSpecs=\"Shop:Debug;ab:Error;*:Error\"");
  EXPECT_EQ(parse_severity("warning"), LogSeverity::kWarning);
  EXPECT_EQ(parse_severity("2"), LogSeverity::kInformation);
  EXPECT_EQ(parse_severity("loud"), std::nullopt);
}

TEST_F(LogEntriesTest, GarbageHurtsNobody) {
  log(99, "level", "1", "no json");
  add(message_, Payload{}.add(2), "1");  // cut short
  open_scope("[1", "3");
  log(2, "in it", "3");
  const auto all = entries();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].level, LogSeverity::kNone);
  EXPECT_FALSE(all[2].scopes.empty());
}

}  // namespace
}  // namespace clrscope::live
