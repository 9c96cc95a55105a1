#include "archive/examinations.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace clrscope::archive {
namespace {

class ExaminationsTest : public testing::Test {
 protected:
  ExaminationsTest() {
    char name[] = "/tmp/clrscope-reports-XXXXXX";
    settings_.folder = ::mkdtemp(name);
    std::filesystem::create_directory(settings_.folder + "/reports");
  }
  ~ExaminationsTest() override { std::filesystem::remove_all(settings_.folder); }

  std::string file(const std::string& name) const { return settings_.folder + "/reports/" + name; }
  // As an earlier serve left it.
  void kept(const std::string& id, pid_t pid, const std::string& name) const {
    const Visit visit{.id = id,
                      .state = VisitState::kFinished,
                      .process = {.pid = pid, .name = name, .user = {}}};
    std::ofstream{file(id + ".json")} << json_text(answer_of(visit));
    std::ofstream{file(id + ".report.json")} << "{}";
    std::ofstream{file(id + ".txt")} << "nothing found";
  }

  ArchiveSettings settings_;
  Operations operations_;
};

TEST_F(ExaminationsTest, ReportsOfAnEarlierServeAreFoundAgain) {
  kept("a", 10, "shop");
  Examinations all{settings_, operations_};
  ASSERT_EQ(all.list().size(), 1U);
  EXPECT_EQ(all.find("a")->process.name, "shop");
  EXPECT_EQ(*all.text("a"), "nothing found");
  EXPECT_TRUE(all.remove("a"));
  EXPECT_FALSE(std::filesystem::exists(file("a.txt")));
}

TEST_F(ExaminationsTest, ReportsOnOtherProcessesAreNeitherListedNorFoundNorRemoved) {
  kept("a", 10, "shop");
  kept("b", 11, "other");
  settings_.visible.allow = {"shop"};
  Examinations all{settings_, operations_};
  ASSERT_EQ(all.list().size(), 1U);
  EXPECT_EQ(all.list().front().id, "a");
  EXPECT_EQ(all.find("b").error().code, Errc::kNotFound);
  EXPECT_FALSE(all.report("b"));
  EXPECT_FALSE(all.text("b"));
  EXPECT_FALSE(all.remove("b"));
  EXPECT_TRUE(std::filesystem::exists(file("b.txt")));
}

TEST_F(ExaminationsTest, ReportsStayInTheFolderThatWasCheckedWhateverItsNameLeadsTo) {
  kept("a", 10, "shop");
  Examinations all{settings_, operations_};
  const auto moved = settings_.folder + "-moved";
  std::filesystem::rename(settings_.folder, moved);
  std::filesystem::create_directories(settings_.folder + "/reports");
  std::ofstream{file("a.txt")} << "of somebody else";
  EXPECT_EQ(*all.text("a"), "nothing found");
  EXPECT_TRUE(all.remove("a"));
  EXPECT_TRUE(std::filesystem::exists(file("a.txt")));
  std::filesystem::remove_all(moved);
}

}  // namespace
}  // namespace clrscope::archive
