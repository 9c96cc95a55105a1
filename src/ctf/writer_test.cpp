#include "ctf/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ctf/event_class.h"

namespace clrscope::ctf {
namespace {

using testing::HasSubstr;

Field field(std::string name, TypeCode type, std::vector<Field> children = {}) {
  return {.name = std::move(name), .type = type, .children = std::move(children)};
}

struct Case {
  EventType type{.provider = "Shop", .name = "Sold", .id = 7};
  nettrace::PayloadPlan plan{};
};
Case made_of(std::vector<Field> fields) {
  Case made;
  made.type.fields = std::move(fields);
  made.plan = nettrace::make_plan(made.type, 8);
  return made;
}

std::string encoded(const nettrace::PayloadPlan& plan, std::string_view payload) {
  std::vector<std::uint8_t> out;
  append_payload(out, plan, as_bytes(payload));
  return std::string{as_text(out)};
}
using namespace std::string_literals;

TEST(CtfEventClass, DescribesAndWritesScalarsTextsAndArrays) {
  const auto sold = made_of({field("count", TypeCode::kInt32), field("what", TypeCode::kUtf16Text),
                             field("ids", TypeCode::kArray, {field("", TypeCode::kUInt16)})});
  EXPECT_EQ(describe(sold.plan),
            "    int32_t _count;\n    string _what;\n"
            "    uint32_t _ids_length;\n    uint16_t _ids[_ids_length];\n");
  EXPECT_EQ(encoded(sold.plan, "\x2a\0\0\0h\0i\0\0\0\2\0\5\0\6\0"s),
            "\x2a\0\0\0hi\0\2\0\0\0\5\0\6\0"s);
}

TEST(CtfEventClass, FillsWhatACutPayloadLacks) {
  const auto sold = made_of(
      {field("count", TypeCode::kInt32), field("what", TypeCode::kUtf16Text),
       field("at", TypeCode::kObject, {field("x", TypeCode::kUInt8), field("y", TypeCode::kUInt8)}),
       field("ids", TypeCode::kArray, {field("", TypeCode::kUInt16)})});
  EXPECT_EQ(encoded(sold.plan, "\x2a\0\0\0h\0"s), "\x2a\0\0\0\0\0\0\0\0\0\0"s);
}

TEST(CtfEventClass, MakesNamesThatCanStandInADescription) {
  const auto odd = made_of({field("a b", TypeCode::kInt8), field("a-b", TypeCode::kInt8),
                            field("", TypeCode::kInt8), field("struct", TypeCode::kInt8)});
  EXPECT_EQ(describe(odd.plan),
            "    int8_t _a_b;\n    int8_t _a_b_2;\n    int8_t _field;\n    int8_t _struct;\n");
  EXPECT_EQ(quoted("a\"b\\c\nd"), "\"a\\\"b\\\\cd\"");
}

TEST(CtfEventClass, GivesTheBytesOfWhatNobodyDescribes) {
  EventType type{.provider = "Shop", .name = "Odd", .id = 9};
  const auto plan = nettrace::make_plan(type, 8);
  ASSERT_EQ(plan.schema(), nettrace::Schema::kUnknown);
  EXPECT_THAT(describe(plan), HasSubstr("byte_t _payload[_payload_length]"));
  EXPECT_EQ(encoded(plan, "ab"), "\2\0\0\0ab"s);
}

TEST(CtfWriter, PacksEventsAndTellsLossAndLateness) {
  const auto sold = made_of({field("count", TypeCode::kInt32)});
  std::string stream;
  Writer writer{{}, [&](Bytes bytes) -> Result<> {
                  stream += as_text(bytes);
                  return {};
                }};
  Classes classes{writer};
  const auto at = [&](int ns) {
    const std::string payload = "\1\0\0\0"s;
    return writer.write(classes.of(sold.type, sold.plan),
                        {.type = &sold.type,
                         .time = TraceTime{std::chrono::nanoseconds{ns}},
                         .payload = as_bytes(payload)},
                        sold.plan, {});
  };
  ASSERT_TRUE(at(100));
  ASSERT_TRUE(at(50));
  writer.set_lost(3);
  ASSERT_TRUE(writer.flush());
  EXPECT_EQ(writer.events(), 2U);
  EXPECT_EQ(writer.late(), 1U);
  std::uint64_t context[5];
  std::memcpy(context, stream.data() + 24, sizeof context);
  EXPECT_EQ(context[0], 100U);
  EXPECT_EQ(context[1], 100U);
  EXPECT_EQ(context[2], stream.size() * 8);
  EXPECT_EQ(context[4], 3U);
}

TEST(CtfWriter, DeclaresAClassOnceWhoeverDescribesIt) {
  const auto one = made_of({field("count", TypeCode::kInt32)});
  const auto same = made_of({field("count", TypeCode::kInt32)});
  const auto other = made_of({field("count", TypeCode::kInt64)});
  Writer writer{{}, [](Bytes) -> Result<> { return {}; }};
  EXPECT_EQ(writer.class_of(one.type, one.plan), writer.class_of(same.type, same.plan));
  EXPECT_NE(writer.class_of(one.type, one.plan), writer.class_of(other.type, other.plan));
  const auto size = writer.metadata().size();
  (void)writer.class_of(same.type, same.plan);
  EXPECT_EQ(writer.metadata().size(), size);
  EXPECT_THAT(writer.metadata(), HasSubstr("name = \"Shop:Sold\""));
}

}  // namespace
}  // namespace clrscope::ctf
