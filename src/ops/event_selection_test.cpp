#include "ops/event_selection.h"

#include <gtest/gtest.h>

#include "ops/profiles.h"

namespace clrscope::ops {
namespace {

TEST(EventSelection, TakesTheProvidersOfTheProfilesItNames) {
  const auto request = parse_selection({.profiles = kDefaultProfilesWithoutPerf});
  ASSERT_TRUE(request);
  ASSERT_EQ(request->providers.size(), 2U);
  EXPECT_EQ(request->providers[0].provider.name, "Microsoft-Windows-DotNETRuntime");
  EXPECT_EQ(request->providers[0].provider.keywords, 0x100003801DU);
  EXPECT_EQ(request->providers[1].provider.name, "Microsoft-DotNETCore-SampleProfiler");
  EXPECT_EQ(request->rundown_keyword, ipc::kDefaultRundown);
}

TEST(EventSelection, AsksForTheMapsThatLinesNeed) {
  const auto request = parse_selection({.profiles = "gc-collect", .lines = true});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->providers[0].provider.keywords, 0x20001U);
  EXPECT_EQ(request->rundown_keyword, 0x20039U);
  EXPECT_EQ(request->names, 0x20038U);
  EXPECT_EQ(parse_selection({})->names, 0x38U);
}

TEST(EventSelection, ReadsNameKeywordsLevelAndArguments) {
  const auto providers = parse_providers("A:0x1F:Warning:k=v;m=\"x,y:z\",B::2,C");
  ASSERT_TRUE(providers);
  ASSERT_EQ(providers->size(), 3U);
  EXPECT_EQ((*providers)[0].name, "A");
  EXPECT_EQ((*providers)[0].keywords, 0x1FU);
  EXPECT_EQ((*providers)[0].level, ipc::Level::kWarning);
  EXPECT_EQ((*providers)[0].arguments, "k=v;m=\"x,y:z\"");
  EXPECT_EQ((*providers)[1].keywords, ~0ULL);
  EXPECT_EQ((*providers)[1].level, ipc::Level::kError);
  EXPECT_EQ((*providers)[2].level, ipc::Level::kVerbose);
}

TEST(EventSelection, TakesKeywordsAsHexadecimalWithoutAPrefixToo) {
  EXPECT_EQ(parse_providers("A:10").value()[0].keywords, 0x10U);
}

TEST(EventSelection, ReadsEventIdsInBracketsBehindTheName) {
  const auto providers = parse_providers("A[7,1,3-5]:0x1:4:k=\"[x,y\",B,C[2]");
  ASSERT_TRUE(providers);
  ASSERT_EQ(providers->size(), 3U);
  EXPECT_EQ((*providers)[0].name, "A");
  EXPECT_EQ((*providers)[0].event_ids, (std::vector<std::uint32_t>{1, 3, 4, 5, 7}));
  EXPECT_EQ((*providers)[0].arguments, "k=\"[x,y\"");
  EXPECT_TRUE((*providers)[1].event_ids.empty());
  EXPECT_EQ((*providers)[2].event_ids, (std::vector<std::uint32_t>{2}));
  EXPECT_EQ(provider_text((*providers)[0]), "A[1,3-5,7]:0x1:4");
  for (const auto* wrong :
       {"A[]", "A[1", "A[x]", "A[5-3]", "A[65536]", "A[0-1000]", "[1]", "A[1]b"})
    EXPECT_FALSE(parse_providers(wrong)) << wrong;
}

TEST(EventSelection, JoinsTheEventIdsOfOneProviderNamedTwice) {
  EXPECT_EQ(parse_selection({.providers = {"A[3],A[1]"}})->providers[0].provider.event_ids,
            (std::vector<std::uint32_t>{1, 3}));
  EXPECT_TRUE(parse_selection({.providers = {"A[3],A"}})->providers[0].provider.event_ids.empty());
  const auto lines =
      parse_selection({.providers = {"Microsoft-Windows-DotNETRuntime[1]:0x1:4"}, .lines = true});
  EXPECT_EQ(lines->providers[0].provider.event_ids, (std::vector<std::uint32_t>{1, 190}));
}

TEST(EventSelection, RefusesWhatItCannotRead) {
  EXPECT_FALSE(parse_providers(""));
  EXPECT_FALSE(parse_providers(":1:2"));
  EXPECT_FALSE(parse_providers("A:xyz"));
  EXPECT_FALSE(parse_providers("A:1:9"));
  EXPECT_FALSE(parse_providers("A:1:2:nonsense"));
  EXPECT_FALSE(parse_providers("A:1:2:k=\"open"));
  EXPECT_FALSE(parse_selection({.profiles = "no-such"}));
  EXPECT_FALSE(parse_selection({.clr_events = "gc+nonsense"}));
  EXPECT_FALSE(parse_selection({.clr_level = "5"}));
}

TEST(EventSelection, JoinsTheSameProviderOfTwoProfiles) {
  const auto request = parse_selection({.profiles = "dotnet-common,gc-verbose"});
  ASSERT_TRUE(request);
  ASSERT_EQ(request->providers.size(), 1U);
  EXPECT_EQ(request->providers[0].provider.keywords, 0x100003801DU | 0x8003U);
  EXPECT_EQ(request->providers[0].provider.level, ipc::Level::kVerbose);
}

TEST(EventSelection, LetsAnExplicitProviderWinOverAProfile) {
  const auto request = parse_selection(
      {.profiles = "dotnet-common", .providers = {"Microsoft-Windows-DotNETRuntime:1:4"}});
  ASSERT_TRUE(request);
  ASSERT_EQ(request->providers.size(), 1U);
  EXPECT_EQ(request->providers[0].provider.keywords, 1U);
  EXPECT_EQ(request->providers[0].asked_by, "--providers");
}

TEST(EventSelection, NamesTheRuntimesOwnKeywords) {
  const auto request = parse_selection({.clr_events = "gc+Exception", .clr_level = "verbose"});
  ASSERT_TRUE(request);
  EXPECT_EQ(request->providers[0].provider.keywords, 0x8001U);
  EXPECT_EQ(request->providers[0].provider.level, ipc::Level::kVerbose);
  EXPECT_EQ(parse_selection({.clr_events = "exceptoin"}).error().hint, "did you mean exception?");
}

}  // namespace
}  // namespace clrscope::ops
