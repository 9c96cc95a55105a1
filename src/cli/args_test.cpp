#include "cli/args.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ops/report.h"

namespace clrscope::cli {
namespace {

constexpr Option kWords[] = {
    {.name = "--duration", .value = "TIME", .help = "how long"},
    {.name = "--process-id", .value = "PID", .help = "who", .letter = 'p', .alias = "--pid"},
    {.name = "--json", .help = "for machines"},
};
const Options kGroups[] = {Options{kWords}};
const Verb kVerb{.name = "try",
                 .summary = "",
                 .usage = "",
                 .options = kGroups,
                 .examples = "",
                 .run = nullptr,
                 .positionals = 1,
                 .takes_command = true};

Result<Args> parse(std::vector<std::string_view> words) { return Args::parse(kVerb, words); }

TEST(Args, TakesAValueInEveryWayPeopleWriteIt) {
  for (const auto& words : {std::vector<std::string_view>{"--process-id", "7"},
                            {"--process-id=7"},
                            {"--process-id:7"},
                            {"-p", "7"},
                            {"--pid", "7"}}) {
    const auto args = parse(words);
    ASSERT_TRUE(args);
    EXPECT_EQ(args->text("--process-id"), "7");
  }
}

TEST(Args, NamesTheNearestOptionForAMistypedOne) {
  const auto args = parse({"--duratoin", "5"});
  ASSERT_FALSE(args);
  EXPECT_EQ(args.error().code, Errc::kUsage);
  EXPECT_EQ(args.error().hint, "did you mean --duration?");
}

TEST(Args, RefusesAnOptionWithoutItsValue) {
  EXPECT_FALSE(parse({"--duration"}));
  EXPECT_FALSE(parse({"--duration", "--", "ls"}));
  const auto args = parse({"-p", "--duration", "5"});
  ASSERT_FALSE(args);
  EXPECT_EQ(args.error().what, "--process-id needs a value: PID");
}

TEST(Args, RefusesAValueForASwitch) { EXPECT_FALSE(parse({"--json=no"})); }

TEST(Args, LeavesEverythingAfterTheDashesToTheCommand) {
  const auto args = parse({"--json", "--", "dotnet", "app.dll", "--json", "-p", "1"});
  ASSERT_TRUE(args);
  EXPECT_EQ(args->command(), (std::vector<std::string>{"dotnet", "app.dll", "--json", "-p", "1"}));
  EXPECT_FALSE(args->has("--process-id"));
}

TEST(Args, RefusesAWordTooMany) {
  EXPECT_TRUE(parse({"one"}));
  EXPECT_FALSE(parse({"one", "two"}));
}

TEST(Args, ReadsDurationsSizesAndBoundedNumbers) {
  const auto args = parse({"--duration", "1m"});
  ASSERT_TRUE(args);
  EXPECT_EQ(args->duration("--duration").value(), std::chrono::minutes{1});
  EXPECT_FALSE(args->duration("--process-id").value().has_value());
  EXPECT_FALSE(parse({"-p", "0"})->number("--process-id", 1, 9));
  EXPECT_FALSE(parse({"-p", "10"})->number("--process-id", 1, 9));
  EXPECT_EQ(parse({"-p", "9"})->number("--process-id", 1, 9).value(), 9U);
}

TEST(Verbs, EachHasASummaryTwoExamplesAndAnOptionForMachines) {
  for (const auto* verb : verbs()) {
    EXPECT_FALSE(verb->summary.empty()) << verb->name;
    EXPECT_EQ(std::ranges::count(verb->examples, '\n'), 1) << verb->name;
    EXPECT_TRUE(Args::parse(*verb, std::vector<std::string_view>{"--json"})) << verb->name;
  }
}

TEST(Verbs, HelpNamesEveryReport) {
  for (const auto* kind : ops::report_kinds())
    EXPECT_NE(find_verb("report")->usage.find(kind->name), std::string_view::npos) << kind->name;
}

}  // namespace
}  // namespace clrscope::cli
