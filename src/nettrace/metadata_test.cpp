#include "nettrace/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nettrace/encode.h"
#include "nettrace/test_support.h"

namespace clrscope::nettrace {
namespace {

void put_v1_field(ByteWriter& out, TypeCode type, std::string_view name) {
  out.write(static_cast<std::uint32_t>(type));
  V4Builder::put_utf16z(out, name);
}

ByteWriter declaration_without_fields() {
  auto out = V4Builder::declaration(5, "Name");
  ByteWriter head;
  head.put(out.bytes().first(out.size() - 4));
  return head;
}

TEST(NettraceMetadata, ReadsFieldsOfTheFirstKindWithNestedOnes) {
  auto out = declaration_without_fields();
  out.write(std::uint32_t{2});
  put_v1_field(out, TypeCode::kInt32, "Count");
  out.write(static_cast<std::uint32_t>(TypeCode::kObject));
  out.write(std::uint32_t{1});
  put_v1_field(out, TypeCode::kUtf16Text, "Inner");
  V4Builder::put_utf16z(out, "Outer");
  TypeTable table;
  ASSERT_TRUE(table.declare_v5(out.bytes()));
  const auto* type = table.find(5);
  ASSERT_NE(type, nullptr);
  EXPECT_EQ(type->provider, "P");
  EXPECT_EQ(type->name, "Name");
  const std::vector<Field> expected = {
      {"Count", TypeCode::kInt32},
      {"Outer", TypeCode::kObject, 0, {{"Inner", TypeCode::kUtf16Text}}},
  };
  EXPECT_EQ(type->fields, expected);
}

TEST(NettraceMetadata, ReadsOpcodeAndFieldsOfTheSecondKindFromTags) {
  ByteWriter field;
  V4Builder::put_utf16z(field, "Items");
  field.write(static_cast<std::uint32_t>(TypeCode::kArray));
  field.write(static_cast<std::uint32_t>(TypeCode::kInt64));
  field.write(std::uint16_t{0xabcd});  // of a later version
  ByteWriter fields;
  fields.write(std::uint32_t{1});
  fields.write(static_cast<std::uint32_t>(field.size() + 4));
  fields.put(field.bytes());

  auto out = declaration_without_fields();
  out.write(std::uint32_t{0});
  out.write(std::uint32_t{1});
  out.write(std::uint8_t{1});
  out.write(std::uint8_t{9});
  out.write(std::uint32_t{3});
  out.write(std::uint8_t{77});  // a tag nobody knows
  out.put("abc");
  out.write(static_cast<std::uint32_t>(fields.size()));
  out.write(std::uint8_t{2});
  out.put(fields.bytes());
  TypeTable table;
  const auto declared = table.declare_v5(out.bytes());
  ASSERT_TRUE(declared) << declared.error().what;
  const std::vector<Field> expected = {{"Items", TypeCode::kArray, 0, {{"", TypeCode::kInt64}}}};
  EXPECT_EQ(table.find(5)->fields, expected);
  EXPECT_EQ(table.find(5)->opcode, 9);
}

TEST(NettraceMetadata, KeepsATypeWhoseFieldsCannotBeRead) {
  auto out = declaration_without_fields();
  out.write(std::uint32_t{1'000'000});
  TypeTable table;
  EXPECT_FALSE(table.declare_v5(out.bytes()));
  ASSERT_NE(table.find(5), nullptr);
  EXPECT_TRUE(table.find(5)->fields.empty());
}

TEST(NettraceMetadata, RefusesObjectsInObjectsWithoutEnd) {
  auto out = declaration_without_fields();
  out.write(std::uint32_t{1});
  for (int i = 0; i < 10'000; ++i) {
    out.write(static_cast<std::uint32_t>(TypeCode::kObject));
    out.write(std::uint32_t{1});
  }
  TypeTable table;
  EXPECT_FALSE(table.declare_v5(out.bytes()));
}

TEST(NettraceMetadata, KeepsAllOfATypeThroughVersion6) {
  EventType type;
  type.provider = "Some-Provider";
  type.name = "Näme";
  type.id = 300;
  type.version = 3;
  type.level = 4;
  type.opcode = 2;
  type.keywords = 0xf000'0000'0000'0001;
  type.message = "took {0}";
  type.description = "how long it took";
  type.attributes = {{"key", "value"}};
  type.provider_guid = Guid{{1, 2, 3}};
  type.fields = {
      {"a", TypeCode::kFixedArray, 16, {{"", TypeCode::kUInt8}}},
      {"b", TypeCode::kArray, 0, {{"", TypeCode::kObject, 0, {{"x", TypeCode::kVarUInt}}}}},
      {"c", TypeCode::kDataLoc, 0, {{"", TypeCode::kUtf8Unit}}},
      {"d", TypeCode::kBool8},
  };
  ByteWriter row;
  put_metadata_row(row, 7, encode_type(type));
  TypeTable table;
  const auto declared = table.declare_v6(row.bytes().subspan(2));
  ASSERT_TRUE(declared) << declared.error().what;
  const auto& read = *table.find(7);
  EXPECT_EQ(read.provider, type.provider);
  EXPECT_EQ(read.name, type.name);
  EXPECT_EQ(read.id, type.id);
  EXPECT_EQ(read.version, type.version);
  EXPECT_EQ(read.level, type.level);
  EXPECT_EQ(read.opcode, type.opcode);
  EXPECT_EQ(read.keywords, type.keywords);
  EXPECT_EQ(read.message, type.message);
  EXPECT_EQ(read.description, type.description);
  EXPECT_EQ(read.attributes, type.attributes);
  EXPECT_EQ(read.provider_guid, type.provider_guid);
  EXPECT_EQ(read.fields, type.fields);
}

TEST(NettraceMetadata, LeavesOutFieldsThatDoNotFitIntoARow) {
  EventType type;
  type.provider = "P";
  for (int i = 0; i < 4000; ++i)
    type.fields.push_back({std::string(60, 'x') + std::to_string(i), TypeCode::kInt32});
  ByteWriter row;
  put_metadata_row(row, 7, encode_type(type));
  EXPECT_LE(row.size(), 0xffffU);
  TypeTable table;
  ASSERT_TRUE(table.declare_v6(row.bytes().subspan(2)));
  EXPECT_TRUE(table.find(7)->fields.empty());
}

}  // namespace
}  // namespace clrscope::nettrace
