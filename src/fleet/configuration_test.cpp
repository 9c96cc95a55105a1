#include "fleet/configuration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace clrscope::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Stage, HasTheSameHostsWhateverWasAskedBefore) {
  std::size_t ten = 0, fifty = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto host = fmt::format("web-{}", i);
    EXPECT_FALSE(is_in_stage("shop", host, 0));
    EXPECT_TRUE(is_in_stage("shop", host, 100));
    if (is_in_stage("shop", host, 10)) {
      ++ten;
      EXPECT_TRUE(is_in_stage("shop", host, 50)) << "those of 10 % are among those of 50 %";
    }
    fifty += is_in_stage("shop", host, 50) ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(ten), 1000, 150);
  EXPECT_NEAR(static_cast<double>(fifty), 5000, 300);
  // The answer is part of the protocol between servers: it must never change.
  std::string bits;
  for (int i = 0; i < 16; ++i)
    bits += is_in_stage("shop", fmt::format("web-{}", i), 50) ? '1' : '0';
  std::string other;
  for (int i = 0; i < 16; ++i)
    other += is_in_stage("pay", fmt::format("web-{}", i), 50) ? '1' : '0';
  EXPECT_NE(bits, other) << "another service begins with other hosts";
}

TEST(ReadChange, NamesWhatIsWrong) {
  const auto good = read_change(
      R"({"service":"shop","basedOn":2,"include":["Shop"],"sample":0.5,"percent":10,"comment":"why"})");
  ASSERT_TRUE(good) << good.error().what;
  EXPECT_EQ(good->percent, 10U);
  EXPECT_EQ(good->settings.sample, 0.5);
  EXPECT_EQ(good->settings.budget_percent, 1);
  for (const auto* text : {"", "[]", "{}", R"({"service":"s"})", R"({"service":"s","basedOn":0})",
                           R"({"service":"","basedOn":0,"include":["A"]})",
                           R"({"service":"s","basedOn":-1,"include":["A"]})",
                           R"({"service":"s","basedOn":0,"include":[]})",
                           R"({"service":"s","basedOn":0,"include":"A"})",
                           R"({"service":"s","basedOn":0,"include":[""]})",
                           R"({"service":"s","basedOn":0,"include":["A\nB"]})",
                           "{\"service\":\"s\",\"basedOn\":0,\"include\":[\"A\xff\"]}",
                           "{\"service\":\"s\xff\",\"basedOn\":0,\"include\":[\"A\"]}",
                           R"({"service":"s","basedOn":0,"include":["[x"]})",
                           R"({"service":"s","basedOn":0,"include":["A"],"sample":2})",
                           R"({"service":"s","basedOn":0,"include":["A"],"budgetPercent":0})",
                           R"({"service":"s","basedOn":0,"include":["A"],"percent":101})"})
    EXPECT_FALSE(read_change(text)) << text;
}

class ConfigurationsTest : public testing::Test {
 protected:
  ConfigurationsTest() {
    std::string name = testing::TempDir() + "configurations.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    open();
  }
  ~ConfigurationsTest() override {
    configurations_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }
  void open() {
    configurations_.reset();
    store_.reset();
    store_ = store::open_store("sqlite:" + folder_ + "/a.db", {}).value();
    configurations_.emplace(*store_);
  }
  Result<ConfigurationVersion> change(const std::string& members) {
    return configurations_->change(read_change(R"({"service":"shop",)" + members + "}").value(),
                                   "ana");
  }
  std::string folder_;
  std::unique_ptr<store::Store> store_;
  std::optional<Configurations> configurations_;
};

TEST_F(ConfigurationsTest, GoOnAfterAVersionThatCannotBeRead) {
  ASSERT_TRUE(change(R"("basedOn":0,"include":["Old"])"));
  ASSERT_TRUE(*store_->add_configuration(
      {.service = "shop", .version = 2, .percent = 100, .settings = "of another version"}));
  EXPECT_EQ(configurations_->for_host("shop", "web-1")->version, 1U);
  const auto made = change(R"("basedOn":2,"include":["New"])");
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->version, 3U);
}

TEST_F(ConfigurationsTest, FollowEachOtherAndAreRolledBack) {
  EXPECT_EQ(configurations_->for_host("shop", "web-1")->version, 0U);
  ASSERT_TRUE(change(R"("basedOn":0,"include":["Old"])"));
  const auto lost = change(R"("basedOn":0,"include":["Mine"])");
  EXPECT_EQ(lost.error().code, Errc::kBusy);
  ASSERT_TRUE(change(R"("basedOn":1,"include":["New"],"percent":10)"));
  std::string in, out;
  for (int i = 0; in.empty() || out.empty(); ++i) {
    const auto host = fmt::format("web-{}", i);
    (is_in_stage("shop", host, 10) ? in : out) = host;
  }
  EXPECT_THAT(configurations_->for_host("shop", in)->include, ElementsAre("New"));
  EXPECT_THAT(configurations_->for_host("shop", out)->include, ElementsAre("Old"));
  open();  // the store has them
  configurations_->note(
      {.service = "shop", .host = in, .instance = "00", .configuration = 2, .time = wall_now()});
  ASSERT_TRUE(configurations_->flush());
  ASSERT_TRUE(change(R"("basedOn":2,"rollBackTo":1)"));
  EXPECT_THAT(configurations_->for_host("shop", in)->include, ElementsAre("Old"));
  EXPECT_EQ(configurations_->for_host("shop", in)->version, 3U);
  ASSERT_TRUE(change(R"("basedOn":3,"rollBackTo":0)"));
  EXPECT_TRUE(configurations_->for_host("shop", in)->include.empty());
  EXPECT_EQ(change(R"("basedOn":4,"rollBackTo":9)").error().code, Errc::kNotFound);
  const auto all = configurations_->list("shop").value();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].versions.size(), 4U);
  EXPECT_EQ(all[0].versions[0].version, 4U);
  EXPECT_THAT(all[0].versions[1].comment, HasSubstr("back to version 1"));
  EXPECT_EQ(all[0].versions[2].processes, 1U);
  EXPECT_EQ(all[0].versions[2].who, "ana");
  EXPECT_TRUE(configurations_->list("pay").value().empty());
}

}  // namespace
}  // namespace clrscope::fleet
