#include "base/shape.h"

#include <gtest/gtest.h>

#include <utility>

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

struct Bird {
  std::optional<int> ring{};
  std::string song{};
  std::vector<int> eggs{};
  Leaf nest{};
};
const Shape& shape_of(const Bird*) {
  static const auto shape =
      describe<Bird>("Bird", "in a tree",
                     {member_or_null<&Bird::ring>("ring", "number on its ring"),
                      member_unless_empty<&Bird::song>("song", "what it sings"),
                      member_unless_empty<&Bird::eggs>("eggs", "ages"), members_of<&Bird::nest>()});
  return shape;
}

TEST(Shape, WritesNullLeavesOutAndSpreads) {
  JsonWriter json;
  write_json(json, Bird{});
  EXPECT_EQ(json.text(), R"({"ring":null,"colour":"red","ageMs":0})");
  json.clear();
  write_json(json, Bird{.ring = 7, .song = "tsip", .eggs = {1}});
  EXPECT_EQ(json.text(), R"({"ring":7,"song":"tsip","eggs":[1],"colour":"red","ageMs":0})");
}

TEST(Shape, SaysInTheSchemaWhatMayBeNullOrMissing) {
  JsonWriter json;
  write_schema(json, shape_of(static_cast<const Bird*>(nullptr)), "#/");
  EXPECT_NE(json.text().find(R"("ring":{"type":["integer","null"])"), std::string::npos);
  EXPECT_NE(json.text().find(R"("colour":{)"), std::string::npos);
  EXPECT_NE(json.text().find(R"("required":["ring","colour","ageMs"])"), std::string::npos)
      << json.text();
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
      R"("ageMs":{"type":"number","description":"since it grew","x-unit":"ms"}},)"
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

enum class NestId : std::uint32_t {};

struct Nest {
  NestId id{};
  Leaf lining{};
  OrNull<std::uint64_t> eggs{};
  OrNull<Leaf> roof{};
};
const Shape& shape_of(const Nest*) {
  static const auto shape = describe<Nest>(
      "Nest", "in a tree",
      {member<&Nest::id>("id", "which one"), members_of<&Nest::lining>(),
       member<&Nest::eggs>("eggs", "in it, when seen"), member<&Nest::roof>("roof", "above it")});
  return shape;
}

TEST(Shape, WritesTheMembersOfWhatIsHeldAmongItsOwn) {
  JsonWriter json;
  write_json(json, Nest{.id = NestId{7}, .lining = {Colour::kGreen}, .eggs = {3}});
  EXPECT_EQ(json.text(), R"({"id":7,"colour":"green","ageMs":0,"eggs":3,"roof":null})");
}

TEST(Shape, WritesNullWhereAValueIsNotKnown) {
  JsonWriter json;
  write_json(json, Nest{});
  EXPECT_EQ(json.text(), R"({"id":0,"colour":"red","ageMs":0,"eggs":null,"roof":null})");
  json.clear();
  write_schema(json, shape_for<Nest>(), "#/");
  EXPECT_NE(json.text().find(R"("eggs":{"type":["integer","null"])"), std::string::npos);
  EXPECT_NE(json.text().find(R"("roof":{"anyOf":[{"$ref":"#/Leaf"},{"type":"null"}])"),
            std::string::npos);
  EXPECT_NE(json.text().find(R"("required":["id","colour","ageMs","eggs","roof"])"),
            std::string::npos);
}

enum class Id : std::uint32_t {};
struct Forest {
  Leaf first{};
  std::string owner{};
  std::string country{};
  std::optional<Leaf> last{};
  Id id{};
  std::vector<std::pair<std::string, std::string>> tags{};
  std::chrono::duration<double> age{};
  std::chrono::milliseconds walk{};
  RawJson told{};
  std::vector<RawJsonOf<Leaf>> stored{};
};
const Shape& shape_of(const Forest*) {
  static const auto shape = describe<Forest>(
      "Forest", "many trees",
      {members_of<&Forest::first>(), member_unless_empty<&Forest::owner>("owner", "a person"),
       member_or_null<&Forest::country>("country", "where it is"),
       member_or_null<&Forest::last>("last", "to fall"), member<&Forest::id>("id", "its number"),
       member<&Forest::tags>("tags", "in their order"),
       member<&Forest::age>("ageSeconds", "since it was planted"),
       member<&Forest::walk>("walkMs", "through it"), member<&Forest::told>("told", "by others"),
       member<&Forest::stored>("stored", "before")});
  return shape;
}

TEST(Shape, LeavesOutOrWritesNullWhereAMemberIsEmpty) {
  Forest forest{.tags = {{"z", "1"}, {"a", "2"}},
                .age = std::chrono::seconds{2},
                .walk = std::chrono::milliseconds{5},
                .told = {R"([1,{"a":2}])"},
                .stored = {{R"({"colour":"red","ageMs":1})"}}};
  EXPECT_EQ(json_text(forest),
            R"({"colour":"red","ageMs":0,"country":null,"last":null,"id":0,)"
            R"("tags":{"z":"1","a":"2"},"ageSeconds":2,"walkMs":5,"told":[1,{"a":2}],)"
            R"("stored":[{"colour":"red","ageMs":1}]})");
  forest.owner = "x";
  forest.country = "y";
  forest.last = Leaf{};
  EXPECT_NE(
      json_text(forest).find(R"("owner":"x","country":"y","last":{"colour":"red","ageMs":0},)"),
      std::string::npos)
      << json_text(forest);
}

TEST(Shape, SaysInTheSchemaWhatIsNullOrLeftOutOrOfAnotherShape) {
  JsonWriter json;
  write_schema(json, shape_of(static_cast<const Forest*>(nullptr)), "#/");
  const auto& text = json.text();
  EXPECT_NE(text.find(R"("country":{"type":["string","null"],)"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("last":{"anyOf":[{"$ref":"#/Leaf"},{"type":"null"}],)"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("told":{"description":"by others"})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("stored":{"type":"array","items":{"$ref":"#/Leaf"},)"), std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("required":["colour","ageMs","country","last","id","tags",)"),
            std::string::npos)
      << text;
}

TEST(Shape, DescribesListsAndMapsToo) {
  JsonWriter json;
  json.begin_object();
  write_value_schema(json, value_shape<std::vector<Leaf>>(), "#/");
  json.end_object();
  EXPECT_EQ(json.text(), R"({"type":"array","items":{"$ref":"#/Leaf"}})");
  EXPECT_EQ(json_text(std::vector<Leaf>{{}}), R"([{"colour":"red","ageMs":0}])");
}

struct Ring {
  std::vector<std::pair<std::string, std::uint64_t>> years{};
  std::map<std::string, RawJson> notes{};
  std::optional<std::string> finder{};
};
const Shape& shape_of(const Ring*) {
  static const auto shape = describe<Ring>("Ring", "a growth ring",
                                           {member<&Ring::years>("years", "width by year"),
                                            member<&Ring::notes>("notes", "anything else"),
                                            member<&Ring::finder>("finder", "who found it")});
  return shape;
}

struct Branch {
  Leaf last{};
};
const Shape& shape_of(const Branch*) {
  static const auto shape = describe<Branch>(
      "Branch", "of a tree", {member_in<&Branch::last, &Leaf::age>("lastAgeMs", "its last leaf")});
  return shape;
}

TEST(Shape, ShowsAMemberOfAMember) {
  EXPECT_EQ(json_line(Branch{{.age = std::chrono::milliseconds{2}}}), "{\"lastAgeMs\":2}\n");
}

TEST(Shape, KeepsTheOrderOfPairs) {
  EXPECT_EQ(json_line(Ring{.years = {{"b", 2}, {"a", 1}}}), R"({"years":{"b":2,"a":1},"notes":{}})"
                                                            "\n");
}

TEST(Shape, WritesAListAsOneLine) {
  EXPECT_EQ(json_line(std::vector<Leaf>{{}, {.colour = Colour::kGreen}}),
            R"([{"colour":"red","ageMs":0},{"colour":"green","ageMs":0}])"
            "\n");
}

TEST(Shape, LeavesAnEmptyTextOut) {
  EXPECT_EQ(unless_empty(""), std::nullopt);
  EXPECT_EQ(unless_empty("a"), "a");
}

TEST(Shape, AllowsAnythingWhereItSaysSo) {
  JsonWriter json;
  write_schema(json, shape_of(static_cast<const Ring*>(nullptr)), "#/");
  EXPECT_NE(json.text().find(R"("notes":{"type":"object","additionalProperties":{},)"),
            std::string::npos)
      << json.text();
}

struct OakLeaf : Leaf {
  std::uint32_t lobes = 0;
};
const Shape& shape_of(const OakLeaf*) {
  static const auto shape = describe<OakLeaf>(
      "OakLeaf", "of an oak",
      {inherited<OakLeaf, Leaf>(), member<&OakLeaf::lobes>("lobes", "on both sides")});
  return shape;
}

TEST(Shape, WritesTheMembersOfABase) {
  OakLeaf leaf;
  leaf.colour = Colour::kGreen;
  leaf.lobes = 7;
  JsonWriter json;
  write_json(json, leaf);
  EXPECT_EQ(json.text(), R"({"colour":"green","ageMs":0,"lobes":7})");
}

}  // namespace
}  // namespace clrscope
