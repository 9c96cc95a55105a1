#include "http/recordings.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace clrscope::http {
namespace {

class RecordingsTest : public testing::Test {
 protected:
  RecordingsTest() {
    char name[] = "/tmp/clrscope-recordings-XXXXXX";
    setting_.folder = ::mkdtemp(name);
  }
  ~RecordingsTest() override { std::filesystem::remove_all(setting_.folder); }

  static Recording recorded(Recordings& all, std::size_t bytes, std::string kind = "trace") {
    auto one = all.begin({.kind = std::move(kind), .title = "a.nettrace"});
    EXPECT_TRUE(one);
    std::ofstream{one->path} << std::string(bytes, 'x');
    one->events = 7;
    one->notes = {"a \"note\""};
    EXPECT_TRUE(all.finish(*one));
    ::usleep(2000);  // the next one is newer, in milliseconds
    return *one;
  }

  ServeSetting setting_;
};

TEST_F(RecordingsTest, AreFoundAgainAfterARestart) {
  std::string id, running;
  {
    Recordings all{setting_};
    id = recorded(all, 100).id;
    const auto begun = all.begin({.kind = "session", .title = "b.nettrace"});
    ASSERT_TRUE(begun);
    running = begun->id;
    EXPECT_EQ(all.find(running)->state, "recording");
  }
  const Recordings again{setting_};
  ASSERT_TRUE(again.find(id));
  EXPECT_EQ(again.find(id)->state, "finished");
  EXPECT_EQ(again.find(id)->bytes, 100U);
  EXPECT_EQ(again.find(id)->events, 7U);
  EXPECT_EQ(again.find(id)->notes, std::vector<std::string>{"a \"note\""});
  EXPECT_EQ(again.find(running)->state, "lost");
  EXPECT_EQ(again.list().size(), 2U);
  EXPECT_FALSE(again.find("../../etc/passwd"));
}

TEST_F(RecordingsTest, TheOldestGoWhenTheLimitIsReached) {
  setting_.disk_limit = 3 << 20;
  Recordings all{setting_};
  const auto first = recorded(all, 1 << 20).id;
  const auto second = recorded(all, 1 << 20).id;
  const auto third = recorded(all, 1 << 20).id;
  const auto begun = all.begin({.kind = "trace", .title = "c"});
  ASSERT_TRUE(begun);
  EXPECT_FALSE(all.find(first));
  EXPECT_TRUE(all.find(second));
  EXPECT_TRUE(all.find(third));
  EXPECT_FALSE(std::filesystem::exists(setting_.folder + "/recordings/" + first + ".nettrace"));
}

TEST_F(RecordingsTest, WhatIsBeingRecordedIsNotRemovedForRoom) {
  setting_.disk_limit = 2 << 20;
  Recordings all{setting_};
  const auto begun = all.begin({.kind = "session", .title = "a"});
  ASSERT_TRUE(begun);
  std::ofstream{begun->path} << std::string(2 << 20, 'x');
  const auto refused = all.begin({.kind = "trace", .title = "b"});
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().hint.empty());
  EXPECT_TRUE(all.find(begun->id));
}

TEST_F(RecordingsTest, AnUploadThatNobodyKeepsIsRemoved) {
  Recordings all{setting_};
  std::string path;
  {
    const auto upload = all.upload();
    ASSERT_TRUE(upload);
    path = (*upload)->path;
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_GT((*upload)->room, 0U);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace clrscope::http
