#include "base/shape.h"

#include <gtest/gtest.h>

#include <array>

namespace clrscope {
namespace {

enum class Colour : std::uint8_t { kRed, kGreen };
std::span<const std::string_view> names_of(Colour) {
  static constexpr std::array<std::string_view, 2> kNames{"red", "green"};
  return kNames;
}

struct Leaf {
  Colour colour = Colour::kRed;
  std::chrono::nanoseconds age{};
};
const Shape& shape_of(const Leaf*) {
  static const auto shape = describe<Leaf>("Leaf", "of a tree",
                                           {member<&Leaf::colour>("colour", "what it looks like"),
                                            member<&Leaf::age>("ageMs", "since it grew")});
  return shape;
}

struct Tree {
  std::string name{};
  std::optional<std::uint64_t> bytes{};
  std::vector<Leaf> leaves{};
  std::map<std::string, double> shares{};
  bool old = false;
};
const Shape& shape_of(const Tree*) {
  static const auto shape =
      describe<Tree>("Tree", "with leaves",
                     {member<&Tree::name>("name", "of the kind"),
                      member<&Tree::bytes>("bytes", Unit::kBytes, "as it lies in a file"),
                      member<&Tree::leaves>("leaves", "all of them"),
                      member<&Tree::shares>("shares", Unit::kPercent, "by part"),
                      member<&Tree::old>("old", "older than a person")});
  return shape;
}

std::string text_of(const Tree& tree) {
  JsonWriter json;
  write_json(json, tree);
  return json.text();
}

TEST(Shape, WritesWhatItDescribes) {
  Tree tree{.name = "oak", .shares = {{"bark", 12.5}}};
  EXPECT_EQ(text_of(tree), R"({"name":"oak","leaves":[],"shares":{"bark":12.5},"old":false})");
  tree.bytes = 7;
  tree.leaves = {{Colour::kGreen, std::chrono::microseconds{1500}}};
  tree.old = true;
  EXPECT_EQ(
      text_of(tree),
      R"({"name":"oak","bytes":7,"leaves":[{"colour":"green","ageMs":1.5}],"shares":{"bark":12.5},"old":true})");
}

TEST(Shape, WritesMembersIntoAnObjectOfOthers) {
  JsonWriter json;
  json.begin_object().member("first", 1);
  write_members(json, Leaf{});
  json.end_object();
  EXPECT_EQ(json.text(), R"({"first":1,"colour":"red","ageMs":0})");
}

TEST(Shape, HasASchema) {
  JsonWriter json;
  write_schema(json, shape_of(static_cast<const Leaf*>(nullptr)), "#/");
  EXPECT_EQ(
      json.text(),
      R"({"type":"object","description":"of a tree","properties":{)"
      R"("colour":{"type":"string","enum":["red","green"],"description":"what it looks like"},)"
      R"("ageMs":{"type":["number","null"],"description":"since it grew","x-unit":"ms"}},)"
      R"("required":["colour","ageMs"]})");
}

TEST(Shape, LeavesOptionalMembersOutOfWhatIsRequired) {
  JsonWriter json;
  write_schema(json, shape_of(static_cast<const Tree*>(nullptr)), "#/");
  EXPECT_NE(json.text().find(R"("required":["name","leaves","shares","old"])"), std::string::npos)
      << json.text();
  EXPECT_NE(json.text().find(R"("items":{"$ref":"#/Leaf"})"), std::string::npos);
  EXPECT_NE(json.text().find(R"("additionalProperties":{"type":["number","null"]})"),
            std::string::npos);
}

TEST(Shape, FindsAllThatItRefersTo) {
  std::map<std::string_view, const Shape*> all;
  gather_shapes(shape_of(static_cast<const Tree*>(nullptr)), all);
  EXPECT_EQ(all.size(), 2U);
  EXPECT_TRUE(all.contains("Leaf"));
}

}  // namespace
}  // namespace clrscope
