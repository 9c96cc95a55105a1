#include "ops/target_folder.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;

// In the temporary folder of this very process.
class TargetFolderTest : public ::testing::Test {
 protected:
  Result<TargetFolder> open(bool make) { return TargetFolder::open(::getpid(), name_, make); }
  void TearDown() override { fs::remove_all(path_); }

  std::string name_ = "clrscope-folder-test-" + std::to_string(::getpid());
  fs::path path_ = fs::temp_directory_path() / name_;
};

TEST_F(TargetFolderTest, IsMadeForItsUserOnly) {
  EXPECT_EQ(open(false).error().code, Errc::kNotFound);
  const auto folder = open(true);
  ASSERT_TRUE(folder) << folder.error().what;
  EXPECT_TRUE(folder->made());
  EXPECT_TRUE(folder->same_files());
  EXPECT_TRUE(folder->same_user());
  struct stat found {};
  ASSERT_EQ(::stat(folder->path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700U);
  EXPECT_FALSE(open(true)->made());
}

TEST_F(TargetFolderTest, GivesBackWhatWasWritten) {
  const auto folder = open(true);
  ASSERT_TRUE(folder);
  ASSERT_TRUE(folder->write("a", as_bytes("first")));
  ASSERT_TRUE(folder->write("a", as_bytes("second")));
  EXPECT_EQ(*folder->read("a", 100), "second");
  EXPECT_EQ(*folder->read("a", 3), "sec");
  EXPECT_EQ(folder->read("b", 100).error().code, Errc::kNotFound);
  folder->remove("a");
  folder->remove_folder();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(TargetFolderTest, RenamesOverWhatIsThere) {
  const auto folder = open(true);
  ASSERT_TRUE(folder);
  ASSERT_TRUE(folder->write("a", as_bytes("old")));
  ASSERT_TRUE(folder->write("b", as_bytes("new")));
  ASSERT_TRUE(folder->rename("b", "a"));
  EXPECT_EQ(*folder->read("a", 100), "new");
  EXPECT_EQ(folder->rename("b", "a").error().code, Errc::kNotFound);
}

TEST_F(TargetFolderTest, RefusesOneThatOthersCanEnter) {
  fs::create_directory(path_);
  fs::permissions(path_, fs::perms::all);
  EXPECT_EQ(open(true).error().code, Errc::kDenied);
}

TEST_F(TargetFolderTest, FollowsNoLinkInItsPlace) {
  fs::create_directory_symlink("/", path_);
  EXPECT_FALSE(open(true));
}

TEST_F(TargetFolderTest, WritesBesideALinkAndNotThroughIt) {
  const auto folder = open(true);
  ASSERT_TRUE(folder);
  const auto other = path_.string() + "-other";
  std::ofstream{other} << "mine";
  fs::create_symlink(other, path_ / "request");
  EXPECT_FALSE(folder->read("request", 100));
  ASSERT_TRUE(folder->write("request", as_bytes("ours")));
  std::string kept;
  std::ifstream{other} >> kept;
  EXPECT_EQ(kept, "mine");
  EXPECT_EQ(*folder->read("request", 100), "ours");
  fs::remove(other);
}

TEST_F(TargetFolderTest, RemovesAFolderInPlaceOfAFile) {
  const auto folder = open(true);
  ASSERT_TRUE(folder);
  fs::create_directory(path_ / "dump");
  folder->remove("dump");
  folder->remove_folder();
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(TargetFolderTest, MakesANewFolderEachTime) {
  const auto one = TargetFolder::make_new(::getpid());
  const auto other = TargetFolder::make_new(::getpid());
  ASSERT_TRUE(one && other);
  EXPECT_NE(one->path(), other->path());
  one->remove_folder();
  other->remove_folder();
  EXPECT_FALSE(fs::exists(one->path()));
}

TEST_F(TargetFolderTest, OpensOnlyRegularFilesAndSocketsOfItsUser) {
  const auto folder = open(true);
  ASSERT_TRUE(folder);
  ASSERT_TRUE(folder->write("file", as_bytes("x")));
  ASSERT_EQ(::mkfifo((path_ / "fifo").c_str(), 0600), 0);
  fs::create_symlink("file", path_ / "link");
  EXPECT_TRUE(folder->open_file("file"));
  EXPECT_EQ(folder->size_of("file"), 1U);
  EXPECT_EQ(folder->open_file("fifo").error().code, Errc::kDenied);
  EXPECT_EQ(folder->open_file("link").error().code, Errc::kDenied);
  EXPECT_EQ(folder->size_of("link"), 0U);
  EXPECT_EQ(folder->find_socket("file").error().code, Errc::kDenied);
}

// A process of another user whose TMPDIR is `folder`.
class OtherUser {
 public:
  static constexpr uid_t kUid = 65534;

  explicit OtherUser(const std::string& folder) {
    std::array<int, 2> ends{};
    CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const auto variable = "TMPDIR=" + folder;
    pid_ = ::fork();
    if (pid_ == 0) {
      const std::array<const char*, 2> environment{variable.c_str(), nullptr};
      if (::setgroups(0, nullptr) == 0 && ::setgid(kUid) == 0 && ::setuid(kUid) == 0)
        ::execle("/bin/sh", "sh", "-c", "kill -STOP $$", nullptr, environment.data());
      ::_exit(1);
    }
    ::close(ends[1]);
    char none = 0;
    (void)!::read(ends[0], &none, 1);  // ends when the program has been replaced
    ::close(ends[0]);
  }
  ~OtherUser() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

class TargetFolderOfOthers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "another user needs root";
    auto name = (fs::temp_directory_path() / "others-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::permissions(folder_, fs::perms(0755));
  }
  void TearDown() override {
    if (!folder_.empty()) fs::remove_all(folder_);
  }
  std::string make(const char* name, uid_t owner, unsigned mode) {
    fs::create_directory(folder_ / name);
    fs::permissions(folder_ / name, fs::perms(mode));
    CHECK(::chown((folder_ / name).c_str(), owner, owner) == 0);
    return (folder_ / name).string();
  }
  static uid_t owner_of(const std::string& path) {
    struct stat found {};
    return ::lstat(path.c_str(), &found) == 0 ? found.st_uid : static_cast<uid_t>(-1);
  }

  fs::path folder_;
};

TEST_F(TargetFolderOfOthers, BelongsToTheUserOfTheProcess) {
  const OtherUser other{make("tmp", OtherUser::kUid, 0700)};
  const auto folder = TargetFolder::open(other.pid(), "x", true);
  ASSERT_TRUE(folder) << folder.error().what;
  ASSERT_TRUE(folder->write("file", as_bytes("text")));
  EXPECT_EQ(owner_of(folder->path()), OtherUser::kUid);
  EXPECT_EQ(owner_of(folder->path() + "/file"), OtherUser::kUid);
  EXPECT_EQ(*folder->read("file", 100), "text");
  folder->remove("file");
  folder->remove_folder();
  EXPECT_FALSE(fs::exists(folder->path()));
}

TEST_F(TargetFolderOfOthers, IsNotMadeWhereTheUserOfTheProcessMayNotWrite) {
  const auto closed = make("closed", 0, 0755);
  const OtherUser direct{closed};
  EXPECT_EQ(TargetFolder::open(direct.pid(), "x", true).error().code, Errc::kDenied);
  const auto own = make("tmp", OtherUser::kUid, 0700);
  fs::create_directory_symlink(closed, fs::path{own} / "link");
  const OtherUser linked{own + "/link"};
  EXPECT_EQ(TargetFolder::open(linked.pid(), "x", true).error().code, Errc::kDenied);
  EXPECT_EQ(TargetFolder::make_new(linked.pid()).error().code, Errc::kDenied);
  EXPECT_TRUE(fs::is_empty(closed));
}

TEST_F(TargetFolderOfOthers, RemovesNothingThatTheUserOfTheProcessMayNotRemove) {
  const OtherUser other{make("tmp", OtherUser::kUid, 0700)};
  const auto folder = TargetFolder::open(other.pid(), "x", true);
  ASSERT_TRUE(folder);
  // The folder's name now leads elsewhere; what we hold is still the old one.
  const auto closed = make("closed", 0, 0755);
  std::ofstream{fs::path{closed} / "request"} << "of root";
  fs::rename(folder->path(), folder->path() + "-old");
  fs::create_directory_symlink(closed, folder->path());
  folder->remove("request");
  ASSERT_TRUE(folder->write("answer", as_bytes("x")));
  EXPECT_TRUE(fs::exists(fs::path{closed} / "request"));
  EXPECT_FALSE(fs::exists(fs::path{closed} / "answer"));
}

TEST_F(TargetFolderOfOthers, ReadsNoFileOfSomebodyElse) {
  const OtherUser other{make("tmp", OtherUser::kUid, 0700)};
  const auto folder = TargetFolder::open(other.pid(), "x", true);
  ASSERT_TRUE(folder);
  std::ofstream{folder->path() + "/dump"} << "of root";  // as a hard link would be
  EXPECT_EQ(folder->open_file("dump").error().code, Errc::kDenied);
}

}  // namespace
}  // namespace clrscope::ops
