#include "archive/recordings.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace clrscope::archive {
namespace {

class RecordingsTest : public testing::Test {
 protected:
  RecordingsTest() {
    char name[] = "/tmp/clrscope-recordings-XXXXXX";
    settings_.folder = ::mkdtemp(name);
  }
  ~RecordingsTest() override { std::filesystem::remove_all(settings_.folder); }

  static Recording recorded(Recordings& all, std::size_t bytes,
                            RecordingKind kind = RecordingKind::kTrace) {
    auto one = all.begin({.kind = kind, .title = "a.nettrace"});
    EXPECT_TRUE(one);
    std::ofstream{one->path} << std::string(bytes, 'x');
    one->events = 7;
    one->notes = {"a \"note\""};
    EXPECT_TRUE(all.finish(*one));
    ::usleep(2000);  // the next one is newer, in milliseconds
    return *one;
  }

  ArchiveSettings settings_;
};

TEST_F(RecordingsTest, AreFoundAgainAfterARestart) {
  std::string id, running;
  {
    Recordings all{settings_};
    id = recorded(all, 100).id;
    const auto begun = all.begin({.kind = RecordingKind::kSession, .title = "b.nettrace"});
    ASSERT_TRUE(begun);
    running = begun->id;
    EXPECT_EQ(all.find(running)->state, RecordingState::kRecording);
  }
  const Recordings again{settings_};
  ASSERT_TRUE(again.find(id));
  EXPECT_EQ(again.find(id)->state, RecordingState::kFinished);
  EXPECT_EQ(again.find(id)->bytes, 100U);
  EXPECT_EQ(again.find(id)->events, 7U);
  EXPECT_EQ(again.find(id)->notes, std::vector<std::string>{"a \"note\""});
  EXPECT_EQ(again.find(running)->state, RecordingState::kLost);
  EXPECT_EQ(again.list().size(), 2U);
  EXPECT_FALSE(again.find("../../etc/passwd"));
}

TEST_F(RecordingsTest, NamesAreKept) {
  std::string id, running;
  {
    Recordings all{settings_};
    id = recorded(all, 100).id;
    EXPECT_EQ(all.find(id)->name, "");
    const auto named = all.rename(id, "before the fix");
    ASSERT_TRUE(named);
    EXPECT_EQ(answer_of(*named).name, "before the fix");
    // Whoever records it has a copy from before it was named.
    auto begun = all.begin({.kind = RecordingKind::kSession, .title = "b.nettrace"});
    ASSERT_TRUE(begun);
    running = begun->id;
    ASSERT_TRUE(all.rename(running, "while it is recorded"));
    EXPECT_EQ(all.find(running)->state, RecordingState::kRecording);
    ASSERT_TRUE(all.finish(*begun));
    EXPECT_FALSE(all.rename("none", "x"));
  }
  Recordings again{settings_};
  EXPECT_EQ(again.find(id)->name, "before the fix");
  EXPECT_EQ(again.find(running)->name, "while it is recorded");
  EXPECT_EQ(again.used(), 100U);
  ASSERT_TRUE(again.rename(id, ""));
  EXPECT_EQ(again.find(id)->name, "");
}

// What an earlier serve, which showed everything, kept: of a process, of the machine, an upload.
TEST_F(RecordingsTest, OfOtherProcessesAreNeitherListedNorFound) {
  std::string shop, other, machine, upload, foreign;
  {
    Recordings all{settings_};
    const auto kept = [&](RecordingKind kind, Process process) {
      auto one = all.begin({.kind = kind, .process = std::move(process)});
      EXPECT_TRUE(one && all.finish(*one));
      EXPECT_TRUE(all.find(one->id));
      return one->id;
    };
    shop = kept(RecordingKind::kSession, {.pid = 10, .name = "shop", .user = {}, .uid = "u-shop"});
    other = kept(RecordingKind::kTrace, {.pid = 11, .name = "other", .user = {}, .uid = "u-other"});
    machine = kept(RecordingKind::kTrace, {.pid = 0, .name = "machine", .user = {}});
    upload = kept(RecordingKind::kUpload, {});
    foreign = kept(RecordingKind::kTrace, {.pid = 10, .name = "shop", .user = {}, .foreign = true});
  }
  const auto seen = [&](std::vector<std::string> allow, std::optional<pid_t> owner,
                        std::string owner_name = {}) {
    settings_.visible.allow = std::move(allow);
    settings_.visible.owner = owner;
    settings_.visible.owner_name = std::move(owner_name);
    const Recordings again{settings_};
    std::set<std::string> out;
    for (const auto& one : again.list()) out.insert(one.id);
    for (const auto& id : {shop, other, machine, upload, foreign})
      EXPECT_EQ(again.find(id).has_value(), out.contains(id));
    return out;
  };
  using Ids = std::set<std::string>;
  EXPECT_EQ(seen({}, {}), (Ids{shop, other, machine, upload, foreign}));
  EXPECT_EQ(seen({"sh*"}, {}), (Ids{shop, foreign}));
  EXPECT_EQ(seen({"*"}, {}), (Ids{shop, other, foreign}));
  EXPECT_EQ(seen({"10"}, {}), Ids{shop});
  EXPECT_EQ(seen({"u-other"}, {}), Ids{other});
  EXPECT_EQ(seen({"nothing"}, {}), Ids{});
  EXPECT_EQ(seen({}, 10), Ids{shop});
  EXPECT_EQ(seen({}, 99), Ids{});
  EXPECT_EQ(seen({}, 99, "shop"), Ids{shop});  // an earlier life of the owner
  EXPECT_EQ(seen({"other"}, 99), Ids{});
}

TEST_F(RecordingsTest, WhatThisServeKeptIsShown) {
  settings_.visible.allow = {"shop"};
  Recordings all{settings_};
  const auto upload = recorded(all, 10, RecordingKind::kUpload).id;
  EXPECT_TRUE(all.find(upload));
  EXPECT_EQ(all.list().size(), 1U);
}

TEST_F(RecordingsTest, WhatIsNotShownGoesForRoomAllTheSame) {
  std::string old;
  {
    Recordings all{settings_};
    old = recorded(all, 1 << 20).id;
  }
  settings_.visible.allow = {"shop"};
  settings_.disk_limit = 3 << 19;
  Recordings all{settings_};
  EXPECT_FALSE(all.find(old));
  EXPECT_TRUE(all.make_room());
  EXPECT_FALSE(std::filesystem::exists(settings_.folder + "/recordings/" + old + ".nettrace"));
}

TEST_F(RecordingsTest, TheOldestGoWhenTheLimitIsReached) {
  settings_.disk_limit = 3 << 20;
  Recordings all{settings_};
  const auto first = recorded(all, 1 << 20).id;
  const auto second = recorded(all, 1 << 20).id;
  const auto third = recorded(all, 1 << 20).id;
  const auto begun = all.begin({.kind = RecordingKind::kTrace, .title = "c"});
  ASSERT_TRUE(begun);
  EXPECT_FALSE(all.find(first));
  EXPECT_TRUE(all.find(second));
  EXPECT_TRUE(all.find(third));
  EXPECT_FALSE(std::filesystem::exists(settings_.folder + "/recordings/" + first + ".nettrace"));
}

TEST_F(RecordingsTest, WhatIsBeingRecordedIsNotRemovedForRoom) {
  settings_.disk_limit = 2 << 20;
  Recordings all{settings_};
  const auto begun = all.begin({.kind = RecordingKind::kSession, .title = "a"});
  ASSERT_TRUE(begun);
  std::ofstream{begun->path} << std::string(2 << 20, 'x');
  const auto refused = all.begin({.kind = RecordingKind::kTrace, .title = "b"});
  ASSERT_FALSE(refused);
  EXPECT_FALSE(refused.error().hint.empty());
  EXPECT_TRUE(all.find(begun->id));
}

TEST_F(RecordingsTest, AnUploadThatNobodyKeepsIsRemoved) {
  Recordings all{settings_};
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

TEST_F(RecordingsTest, UploadsUnderWayCountInTheLimit) {
  settings_.disk_limit = 4 << 20;
  Recordings all{settings_};
  const auto one = all.upload(), other = all.upload();
  ASSERT_TRUE(one && other);
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE((*one)->write(piece));
    EXPECT_TRUE((*other)->write(piece));
  }
  const auto refused = (*one)->write(piece);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::kNoRoom);
  EXPECT_NE(refused.error().what.find("\"disk\""), std::string::npos);
  EXPECT_FALSE(all.begin({.kind = RecordingKind::kTrace, .title = "c"}));
}

TEST_F(RecordingsTest, WhatPassesTakesAtMostAQuarterFromWhatIsKept) {
  settings_.disk_limit = 8 << 20;
  Recordings all{settings_};
  std::vector<std::string> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(recorded(all, (1 << 20) - 10).id);
  Recordings::Share share{all, Recordings::Share::Kind::kPassing, ids[0]};
  EXPECT_TRUE(share.grow(2 << 20));
  EXPECT_FALSE(share.grow(1 << 20));
  EXPECT_TRUE(all.find(ids[0])) << "the one that is read stays";
  EXPECT_FALSE(all.find(ids[1]));
  EXPECT_TRUE(all.find(ids[3]));
}

TEST_F(RecordingsTest, WhatAKilledServeLeftIsRemoved) {
  namespace fs = std::filesystem;
  const auto folder = fs::path{settings_.folder} / "recordings";
  Recordings running{settings_};
  const auto under_way = running.upload();
  ASSERT_TRUE(under_way);
  const auto alive = fs::canonical((*under_way)->path);
  fs::create_directory(folder / "scratch.dead");
  for (const auto* name : {"a.upload", "b.part", "c.dmp", "scratch.dead/d.part", "kept.txt"})
    std::ofstream{folder / name} << "x";
  const Recordings next{settings_};
  for (const auto* name : {"a.upload", "b.part", "c.dmp", "scratch.dead"})
    EXPECT_FALSE(fs::exists(folder / name)) << name;
  EXPECT_TRUE(fs::exists(folder / "kept.txt"));
  EXPECT_TRUE(fs::exists(alive)) << "of another serve that lives";
}

TEST_F(RecordingsTest, StayInTheFolderThatWasCheckedWhateverItsNameLeadsTo) {
  namespace fs = std::filesystem;
  Recordings all{settings_};
  const auto first = recorded(all, 100);
  const auto moved = settings_.folder + "-moved", foreign = settings_.folder + "-foreign";
  fs::rename(settings_.folder, moved);
  fs::create_directories(foreign + "/recordings");
  fs::create_symlink(foreign, settings_.folder);
  const auto second = recorded(all, 100);
  EXPECT_EQ(all.find(second.id)->bytes, 100U);
  EXPECT_TRUE(fs::is_empty(foreign + "/recordings"));
  EXPECT_TRUE(fs::exists(moved + "/recordings/" + second.id + ".nettrace"));
  EXPECT_TRUE(all.discard(first.id));
  EXPECT_FALSE(fs::exists(moved + "/recordings/" + first.id + ".nettrace"));
  fs::remove_all(moved);
  fs::remove_all(foreign);
}

// Such as copies of profiles that run, which are made every ten seconds.
TEST_F(RecordingsTest, FilesBesideThemRemoveNoneOnADiskThatOthersHaveFilled) {
  Recordings all{settings_};
  const auto first = recorded(all, 1 << 20).id;
  const auto second = recorded(all, 1 << 20).id;
  settings_.least_free = 1ULL << 62;
  Recordings::Share beside{all, Recordings::Share::Kind::kBeside};
  Recordings::Share passing{all, Recordings::Share::Kind::kPassing};
  for (auto* share : {&beside, &passing}) {
    const auto refused = share->resize(1 << 20);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::kNoRoom);
  }
  EXPECT_TRUE(all.find(first));
  EXPECT_TRUE(all.find(second));
}

TEST_F(RecordingsTest, NoneGoesWhereAllOfThemWouldNotMakeRoom) {
  settings_.disk_limit = 4 << 20;
  Recordings all{settings_};
  const auto first = recorded(all, 1 << 20).id;
  EXPECT_FALSE(all.make_room(5 << 20)) << "more than the limit";
  EXPECT_TRUE(all.find(first));
  settings_.least_free = 1ULL << 62;
  EXPECT_FALSE(all.make_room()) << "the disk is full of other files";
  EXPECT_TRUE(all.find(first));
}

TEST_F(RecordingsTest, OldOnesGoForFilesBesideThem) {
  settings_.disk_limit = 3 << 20;
  Recordings all{settings_};
  const auto first = recorded(all, 1 << 20).id;
  const auto second = recorded(all, 1 << 20).id;
  Recordings::Share beside{all, Recordings::Share::Kind::kBeside};
  ASSERT_TRUE(beside.resize(1 << 20));
  EXPECT_TRUE(all.find(first));
  ASSERT_TRUE(beside.resize(3 << 19));
  EXPECT_FALSE(all.find(first));
  EXPECT_TRUE(all.find(second));
  EXPECT_FALSE(beside.resize(4 << 20));
  EXPECT_EQ(all.room(), 3 << 19);  // as before the refusal; ended recordings may go
  ASSERT_TRUE(beside.resize(0));
  EXPECT_EQ(all.room(), 3 << 20);
}

}  // namespace
}  // namespace clrscope::archive
