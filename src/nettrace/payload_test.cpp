#include "nettrace/payload.h"

#include <gtest/gtest.h>

#include <limits>

#include "nettrace/payload_print.h"
#include "nettrace/payload_text.h"

namespace clrscope::nettrace {
namespace {

constexpr const char* kRuntime = "Microsoft-Windows-DotNETRuntime";

std::vector<std::uint8_t> hex(std::string_view digits) {
  std::vector<std::uint8_t> bytes;
  const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(value(digits[i]) * 16 + value(digits[i + 1])));
  return bytes;
}

EventType runtime_event(std::uint32_t id, std::uint32_t version) {
  EventType type;
  type.provider = kRuntime;
  type.id = id;
  type.version = version;
  return type;
}

EventType described(std::vector<Field> fields) {
  EventType type;
  type.provider = "Test";
  type.name = "Test";
  type.id = 1;
  type.fields = std::move(fields);
  return type;
}

std::string text(const EventType& type, Bytes payload, std::uint32_t pointer_size = 8) {
  std::string out;
  append_text(out, make_plan(type, pointer_size), payload);
  return out;
}

std::string json(const EventType& type, Bytes payload) {
  std::string out;
  append_json(out, make_plan(type, 8), payload);
  return out;
}

// Bytes of real events, .NET 10.0.12.
const auto kGcStart = hex("0100000000000000010000000000000000000000000000000000");
const auto kAllocationTick = hex(
    "289101000000000000002891010000000000c01af53a967f0000530079007300740065006d002e00520065006600"
    "6c0065006300740069006f006e002e00520075006e00740069006d0065004d006500740068006f00640049006e00"
    "66006f00000000000000807181618a7f00006800000000000000");

TEST(Payload, CountsDaysOfEveryFileTime) {
  const auto first = calendar(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(first.year, -27'627);
  EXPECT_EQ(first.hour, 21U);
  const auto day_before = calendar(-1);
  EXPECT_EQ(day_before.year, 1600);
  EXPECT_EQ(day_before.ticks, 9'999'999U);
}

TEST(Payload, ReadsACollectionStartByTheTable) {
  EXPECT_EQ(text(runtime_event(1, 2), kGcStart),
            "Count=\"1\" Depth=\"0\" Reason=\"Induced\" Type=\"NonConcurrentGC\" "
            "ClrInstanceID=\"0\" ClientSequenceNumber=\"0\"");
  EXPECT_EQ(make_plan(runtime_event(1, 2), 8).event_name(), "GC/Start");
}

TEST(Payload, ReadsTextsAndAddressesBehindThem) {
  EXPECT_EQ(json(runtime_event(10, 4), kAllocationTick),
            "{\"AllocationAmount\":102696,\"AllocationKind\":\"Small\",\"ClrInstanceID\":0,"
            "\"AllocationAmount64\":102696,\"TypeID\":\"0x7f963af51ac0\","
            "\"TypeName\":\"System.Reflection.RuntimeMethodInfo\",\"HeapIndex\":0,"
            "\"Address\":\"0x7f8a61817180\",\"ObjectSize\":104}");
}

TEST(Payload, ReadsAFieldByNameWhetherItsPlaceIsFixedOrNot) {
  const auto plan = make_plan(runtime_event(10, 4), 8);
  const auto type_id = read_field(plan, *plan.find("TypeID"), kAllocationTick);
  ASSERT_TRUE(type_id.has_value());
  EXPECT_EQ(type_id->u, 0x7f963af51ac0U);
  const auto size = read_field(plan, *plan.find("ObjectSize"), kAllocationTick);
  ASSERT_TRUE(size.has_value());
  EXPECT_EQ(size->i, 104);
  EXPECT_EQ(text_of(*read_field(plan, *plan.find("TypeName"), kAllocationTick)),
            "System.Reflection.RuntimeMethodInfo");
  EXPECT_FALSE(plan.find("Nothing").has_value());
}

TEST(Payload, SaysTruncatedAtEveryCutAndGivesOnlyWholeFields) {
  const auto plan = make_plan(runtime_event(10, 4), 8);
  for (std::size_t size = 0; size < kAllocationTick.size(); ++size) {
    std::size_t fields = 0;
    const std::vector<std::uint8_t> cut(
        kAllocationTick.begin(), kAllocationTick.begin() + static_cast<std::ptrdiff_t>(size));
    const auto decoded = for_each_field(plan, cut, [&](const auto&, const auto&) { ++fields; });
    EXPECT_EQ(decoded, Decoded::kTruncated) << size;
    EXPECT_LT(fields, plan.fields().size()) << size;
  }
  EXPECT_NE(text(runtime_event(1, 2), Bytes{kGcStart}.first(9)).find("(truncated)"),
            std::string::npos);
  EXPECT_EQ(json(runtime_event(1, 2), Bytes{kGcStart}.first(9)),
            "{\"Count\":1,\"Depth\":0,\"truncated\":true}");
}

TEST(Payload, ReadsALaterVersionByTheHighestItKnows) {
  auto longer = kGcStart;
  longer.insert(longer.end(), 7, 0xee);
  EXPECT_EQ(text(runtime_event(1, 77), longer), text(runtime_event(1, 2), kGcStart));
}

TEST(Payload, ReadsPointersOfTheTraceOwnSize) {
  ByteWriter out;
  out.write<std::uint8_t>(0);
  out.write<std::uint16_t>(9);
  out.write<std::uint32_t>(0x1234);
  out.write<std::uint32_t>(0x5678);
  out.write<std::uint64_t>(42);
  EXPECT_EQ(text(runtime_event(81, 2), out.bytes(), 4),
            "ContentionFlags=\"Managed\" ClrInstanceID=\"9\" LockID=\"0x00001234\" "
            "AssociatedObjectID=\"0x00005678\" LockOwnerThreadID=\"42\"");
}

TEST(Payload, ReadsStructuresOfVaryingSizeCountedByAField) {
  ByteWriter out;
  out.write<std::uint32_t>(2);
  out.write<std::uint16_t>(0);
  for (const std::uint32_t parameters : {0U, 1U}) {
    out.write<std::uint64_t>(0x10 + parameters);
    out.write<std::uint64_t>(0x20);
    out.write<std::uint32_t>(7);
    out.write<std::uint32_t>(0);
    out.write<std::uint8_t>(18);
    for (const char16_t c : u"A.B") out.write(c);  // with its zero
    out.write(parameters);
    if (parameters != 0) out.write<std::uint64_t>(0x99);
  }
  EXPECT_EQ(
      json(runtime_event(15, 0), out.bytes()),
      "{\"Count\":2,\"ClrInstanceID\":0,\"Values\":["
      "{\"TypeID\":\"0x10\",\"ModuleID\":\"0x20\",\"TypeNameID\":7,\"Flags\":0,"
      "\"CorElementType\":18,\"Name\":\"A.B\",\"TypeParameterCount\":0,\"TypeParameters\":[]},"
      "{\"TypeID\":\"0x11\",\"ModuleID\":\"0x20\",\"TypeNameID\":7,\"Flags\":0,"
      "\"CorElementType\":18,\"Name\":\"A.B\",\"TypeParameterCount\":1,"
      "\"TypeParameters\":[\"0x99\"]}]}");
}

TEST(Payload, RefusesACountThatThePayloadCannotHold) {
  ByteWriter out;
  out.write<std::uint32_t>(0xffffffff);
  out.write<std::uint16_t>(0);
  out.write<std::uint64_t>(1);
  EXPECT_EQ(json(runtime_event(15, 0), out.bytes()),
            "{\"Count\":-1,\"ClrInstanceID\":0,\"truncated\":true}");
}

TEST(Payload, SplitsMethodFlagsAndTier) {
  ByteWriter out;
  for (int i = 0; i < 3; ++i) out.write<std::uint64_t>(1);
  out.write<std::uint32_t>(2);
  out.write<std::uint32_t>(3);
  out.write<std::uint32_t>(0x10000000 | 4 << 7 | 8 | 2);
  out.write<std::uint16_t>(0);
  const auto plan = make_plan(runtime_event(141, 1), 8);
  std::string flags, tier;
  append_text(flags, plan, plan.fields()[*plan.find("MethodFlags")],
              *read_field(plan, *plan.find("MethodFlags"), out.bytes()));
  append_text(tier, plan, plan.fields()[*plan.find("OptimizationTier")],
              *read_field(plan, *plan.find("OptimizationTier"), out.bytes()));
  EXPECT_EQ(flags, "Generic, Jitted");
  EXPECT_EQ(tier, "OptimizedTier1");
}

TEST(Payload, PrefersTheFieldsTheTraceDeclares) {
  auto type = runtime_event(1, 2);
  type.fields = {{.name = "Only", .type = TypeCode::kUInt8}};
  EXPECT_EQ(text(type, kGcStart), "Only=\"1\"");
  EXPECT_EQ(make_plan(type, 8).schema(), Schema::kTrace);
}

TEST(Payload, HasNoFieldsForWhatNobodyDescribes) {
  EventType type;
  type.provider = "Nobody";
  type.id = 3;
  const auto plan = make_plan(type, 8);
  EXPECT_EQ(plan.schema(), Schema::kUnknown);
  EXPECT_TRUE(plan.fields().empty());
  EXPECT_EQ(plan.event_name(), "EventID(3)");
  EXPECT_EQ(json(type, kGcStart), "{\"undescribedBytes\":26}");
}

TEST(Payload, ReadsArraysObjectsAndTextsOfATracesOwnFields) {
  const Field number{.name = "Number", .type = TypeCode::kInt32};
  const Field street{.name = "Street", .type = TypeCode::kUtf16Text};
  const Field element{.name = "", .type = TypeCode::kObject, .children = {street, number}};
  const auto type = described({
      {.name = "Home", .type = TypeCode::kObject, .children = {street, number}},
      {.name = "Others", .type = TypeCode::kArray, .children = {element}},
      {.name = "Letters",
       .type = TypeCode::kArray,
       .children = {{.name = "", .type = TypeCode::kUtf8Unit}}},
      {.name = "Pair",
       .type = TypeCode::kFixedArray,
       .count = 2,
       .children = {{.name = "", .type = TypeCode::kInt16}}},
      {.name = "Far",
       .type = TypeCode::kRelLoc,
       .children = {{.name = "", .type = TypeCode::kUtf16Unit}}},
      {.name = "Big", .type = TypeCode::kVarUInt},
      {.name = "Small", .type = TypeCode::kVarInt},
  });
  ByteWriter out;
  for (const char16_t c : u"Lane") out.write(c);
  out.write<std::int32_t>(12);
  out.write<std::uint16_t>(1);
  for (const char16_t c : u"S") out.write(c);
  out.write<std::int32_t>(-1);
  out.write<std::uint16_t>(2);
  out.put("hi");
  out.write<std::int16_t>(3);
  out.write<std::int16_t>(-4);
  out.write<std::uint32_t>(3 | 4 << 16);  // 4 bytes, 3 bytes after this field
  out.write_varuint(300);
  out.write_varuint(5);  // zigzag: -3
  for (const char16_t c : {u'o', u'k'}) out.write(c);
  EXPECT_EQ(json(type, out.bytes()),
            "{\"Home\":{\"Street\":\"Lane\",\"Number\":12},"
            "\"Others\":[{\"Street\":\"S\",\"Number\":-1}],\"Letters\":\"hi\",\"Pair\":[3,-4],"
            "\"Far\":\"ok\",\"Big\":\"0x12c\",\"Small\":-3}");
  EXPECT_EQ(text(type, out.bytes()),
            "Home=\"{ \"Street\":\"Lane\", \"Number\":12 }\" "
            "Others=\"[{ \"Street\":\"S\", \"Number\":-1 }]\" Letters=\"hi\" Pair=\"[3,-4]\" "
            "Far=\"ok\" Big=\"0x0000012c\" Small=\"-3\"");
}

TEST(Payload, ReadsTruthsOfSelfDescribingEventsAsOneByte) {
  const auto type = described({{.name = "",
                                .type = TypeCode::kObject,
                                .children = {{.name = "yes", .type = TypeCode::kBool32},
                                             {.name = "small", .type = TypeCode::kInt16},
                                             {.name = "big", .type = TypeCode::kUInt64}}}});
  EXPECT_EQ(text(type, hex("01fdff0800000000000000")),
            "=\"{ \"yes\":True, \"small\":-3, \"big\":\"8\" }\"");
}

// A native profiler that writes C++ `bool` declares it as every other truth.
TEST(Payload, ReadsTruthsOfOneByteWhereOnlyTheyFit) {
  const auto type = described({{.name = "Hit", .type = TypeCode::kBool32},
                               {.name = "Count", .type = TypeCode::kInt32},
                               {.name = "Name", .type = TypeCode::kUtf16Text},
                               {.name = "Last", .type = TypeCode::kBool32}});
  const auto print = [&](PayloadPlans& plans, const std::vector<std::uint8_t>& payload) {
    Event event;
    event.type = &type;
    event.payload = payload;
    std::string out;
    append_text(out, plans.of(event), payload);
    return out;
  };
  const auto narrow =
      hex("01"
          "05000000"
          "41004200"
          "0000"
          "00");
  const auto wide =
      hex("01000000"
          "05000000"
          "41004200"
          "0000"
          "00000000");
  const std::string expected = R"(Hit="True" Count="5" Name="AB" Last="False")";
  PayloadPlans of_profiler{8};
  EXPECT_EQ(print(of_profiler, narrow), expected);
  EXPECT_EQ(print(of_profiler, narrow), expected);
  PayloadPlans of_others{8};
  EXPECT_EQ(print(of_others, wide), expected);
  EXPECT_EQ(print(of_others, wide), expected);
  // What fits neither does not decide, and is read as usual.
  PayloadPlans later{8};
  EXPECT_EQ(print(later, hex("01000000"
                             "0500")),
            R"(Hit="True" (truncated))");
  EXPECT_EQ(print(later, narrow), expected);
}

TEST(Payload, FindsTheTablesFieldsByNameWhereNumbersAreMadeUp) {
  EventType type;
  type.provider = "Microsoft-Diagnostics-DiagnosticSource";
  type.name = "Event";
  type.id = 26;
  EXPECT_EQ(json(type, hex("61000000620000000100630000006400000000")),
            "{\"SourceName\":\"a\",\"EventName\":\"b\",\"Arguments\":[{\"Key\":\"c\","
            "\"Value\":\"d\"}]}");
}

TEST(Payload, RefusesElementsOfNoSizeAndReferencesOutOfThePayload) {
  const Field nothing{.name = "", .type = TypeCode::kObject};
  EXPECT_EQ(
      make_plan(described({{.name = "A", .type = TypeCode::kArray, .children = {nothing}}}), 8)
          .schema(),
      Schema::kUnknown);
  const auto far = described({{.name = "Far",
                               .type = TypeCode::kDataLoc,
                               .children = {{.name = "", .type = TypeCode::kUInt8}}}});
  EXPECT_EQ(json(far, hex("0400ffff")), "{\"truncated\":true}");
  EXPECT_EQ(json(far, hex("040001007b")), "{\"Far\":\"7b\"}");
}

TEST(Payload, NamesEventsAsTraceEventDoes) {
  auto type = described({});
  type.name = "RequestStart";
  EXPECT_EQ(make_plan(type, 8).event_name(), "Request/Start");
  type.name = "TaskScheduled";
  type.opcode = 9;
  EXPECT_EQ(make_plan(type, 8).event_name(), "TaskScheduled/Transfer");
  type.name = "ThreadTransferReceive";
  type.opcode = 240;
  EXPECT_EQ(make_plan(type, 8).event_name(), "ThreadTransferReceive/240");
}

TEST(PayloadText, PrintsFloatingNumbersAsDotnetDoes) {
  const auto print = [](double value) {
    std::string out;
    append_double(out, value);
    return out;
  };
  EXPECT_EQ(print(0), "0");
  EXPECT_EQ(print(-0.0), "-0");
  EXPECT_EQ(print(60), "60");
  EXPECT_EQ(print(-2.25), "-2.25");
  EXPECT_EQ(print(0.0001), "0.0001");
  EXPECT_EQ(print(0.00001), "1E-05");
  EXPECT_EQ(print(999999999999999), "999999999999999");
  EXPECT_EQ(print(1e15), "1E+15");
  EXPECT_EQ(print(1234567890123456), "1234567890123456");
  EXPECT_EQ(print(1.7976931348623157e308), "1.7976931348623157E+308");
  EXPECT_EQ(print(-std::numeric_limits<double>::infinity()), "-Infinity");
  std::string single;
  append_float(single, 16777216.0F);
  EXPECT_EQ(single, "16777216");
  single.clear();
  append_float(single, 0.1F);
  EXPECT_EQ(single, "0.1");
}

TEST(PayloadText, PrintsTimesInUtc) {
  const auto type = described({{.name = "When", .type = TypeCode::kDateTime}});
  ByteWriter out;
  out.write<std::int64_t>(133536836967890000);  // 2024-02-29T12:34:56.789Z
  EXPECT_EQ(text(type, out.bytes()), "When=\"02/29/2024 12:34:56\"");
  EXPECT_EQ(json(type, out.bytes()), "{\"When\":\"2024-02-29T12:34:56.7890000Z\"}");
}

}  // namespace
}  // namespace clrscope::nettrace
