#include "ops/forward_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::ops {
namespace {

using testing::HasSubstr;

TEST(ForwardConfig, GivesEachSectionWhatStandsAboveAllOfThem) {
  const auto plan = parse_forward_config(
      "# sinks of the shop\n"
      "name = Shop.*, Cart\n"
      "counters = System.Runtime\n"
      "spool = /var/lib/clrscope\n"
      "spool-limit = 64MiB\n"
      "max-histograms = 40\n"
      "max-time-series = 5000\n"
      "\n"
      "[ndjson:-]\n"
      "[ndjson:/tmp/x.ndjson]\n"
      "process-id = 12, 13\n"
      "interval = 10s\n"
      "providers = Shop-Orders:0x3:4\n"
      "where = Total>=100\n",
      "f.conf");
  ASSERT_TRUE(plan) << plan.error().what;
  ASSERT_EQ(plan->routes.size(), 2U);
  EXPECT_EQ(plan->spool, "/var/lib/clrscope");
  EXPECT_EQ(plan->spool_limit, 64U << 20);
  EXPECT_EQ(plan->limits, (hub::MeterLimits{.histograms = 40, .series = 5000}));
  for (const auto& route : plan->routes) EXPECT_EQ(route.request.limits, plan->limits);
  EXPECT_EQ(plan->routes[0].targets.names, (std::vector<std::string>{"Shop.*", "Cart"}));
  EXPECT_EQ(plan->routes[0].request.counters.size(), 1U);
  EXPECT_TRUE(plan->routes[0].request.providers.empty());
  EXPECT_EQ(plan->routes[1].targets.pids, (std::vector<pid_t>{12, 13}));
  EXPECT_TRUE(plan->routes[1].targets.names.empty());
  EXPECT_EQ(plan->routes[1].request.interval, std::chrono::seconds{10});
  EXPECT_EQ(plan->routes[1].request.providers.at(0).keywords, 3U);
  EXPECT_FALSE(plan->routes[1].request.where.empty());
}

struct Wrong {
  const char* text;
  const char* says;
};

class WrongForwardConfig : public testing::TestWithParam<Wrong> {};

TEST_P(WrongForwardConfig, IsRefusedWithItsLineAndKey) {
  const auto plan = parse_forward_config(GetParam().text, "f.conf");
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, Errc::kUsage);
  EXPECT_THAT(plan.error().what, HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongForwardConfig,
    testing::Values(Wrong{"", "no sink defined"}, Wrong{"all = yes\n[ndjson:-", "f.conf:2: "},
                    Wrong{"all = perhaps\n[ndjson:-]", "f.conf:1: all: "},
                    Wrong{"all\n[ndjson:-]", "f.conf:1: 'all' is neither"},
                    Wrong{"all =\n[ndjson:-]", "f.conf:1: all: has no value"},
                    Wrong{"max-histograms = 0\n[ndjson:-]", "f.conf:1: max-histograms: '0'"},
                    Wrong{"[ndjson:-]\nmax-time-series = 9", "max-time-series: unknown key"},
                    Wrong{"[ndjson:-]\n\nspool = x", "f.conf:3: spool: unknown key"},
                    Wrong{"process-id = 1,x\n[ndjson:-]", "f.conf:1: process-id: "},
                    Wrong{"all = yes\n\n[pigeon:-]", "f.conf:3: pigeon:-: "},
                    Wrong{"[ndjson:-]", "f.conf:1: ndjson:-: no process given"},
                    Wrong{"all = yes\nspool-limit = much\n[ndjson:-]", "f.conf:2: spool-limit: "},
                    Wrong{"all = yes\n[ndjson:-]\nwhere = x", "f.conf:2: ndjson:-: "}));

TEST(ForwardConfig, KnowsWhatStayedTheSame) {
  const std::string text = "all = yes\n[ndjson:-]\ninterval = 2s\n";
  const auto before = parse_forward_config(text, "f");
  const auto same = parse_forward_config("# a remark\n" + text, "f");
  const auto other = parse_forward_config(text + "stacks = yes\n", "f");
  ASSERT_TRUE(before && same && other);
  EXPECT_EQ(before->routes[0].identity, same->routes[0].identity);
  EXPECT_NE(before->routes[0].identity, other->routes[0].identity);
}

}  // namespace
}  // namespace clrscope::ops
