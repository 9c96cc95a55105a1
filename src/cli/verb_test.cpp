#include "cli/verb.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cli/args.h"
#include "cli/json_schema.h"

namespace clrscope::cli {
namespace {

TEST(Verb, DescribesItsJson) {
  for (const auto* verb : verbs()) {
    EXPECT_FALSE(verb->answers.empty()) << verb->name;
    for (const auto& answer : verb->answers) {
      std::map<std::string_view, const Shape*> all;
      gather_shapes(answer, all);
      ASSERT_FALSE(all.empty()) << verb->name;
      for (const auto& [name, shape] : all)
        EXPECT_FALSE(shape->members().empty()) << verb->name << ": " << name;
    }
  }
}

TEST(Verb, PrintsTheSchemaOfItsJson) {
  const auto schema = json_schema(*find_verb("key"));
  EXPECT_NE(schema.find(R"("title":"clrscope key list --json","type":"array")"), std::string::npos);
  EXPECT_NE(schema.find(R"("$ref":"#/$defs/)"), std::string::npos);
}

TEST(Verb, UsesOneNameForOneShape) {
  std::map<std::string_view, const Shape*> all;
  for (const auto* verb : verbs())
    for (const auto& answer : verb->answers) {
      std::map<std::string_view, const Shape*> own;
      gather_shapes(answer, own);
      for (const auto& [name, shape] : own)
        EXPECT_EQ(all.emplace(name, shape).first->second, shape) << verb->name << ": " << name;
    }
}

TEST(Verb, SaysWhatEachMemberMeans) {
  for (const auto* verb : verbs())
    for (const auto& answer : verb->answers) {
      std::map<std::string_view, const Shape*> all;
      gather_shapes(answer, all);
      for (const auto& [name, shape] : all)
        for (const auto* member : written_members(*shape))
          EXPECT_GT(member->meaning.size(), 3U) << name << "." << member->name;
    }
}

TEST(Verb, SaysDefaultsAsPeopleExpectThem) {
  for (const auto* verb : verbs()) {
    const auto help = help_text(*verb);
    for (const auto* odd : {"unless told", "where to;", "say more", "come and go"})
      EXPECT_EQ(help.find(odd), std::string::npos) << verb->name << ": " << odd;
  }
}

}  // namespace
}  // namespace clrscope::cli
