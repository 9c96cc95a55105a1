#include "base/target_root.h"

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
#include <functional>

#include "base/io.h"
#include "base/proc.h"

namespace clrscope {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOther = 65534;

// A process that does `prepare` and then waits to be ended.
class OtherProcess {
 public:
  explicit OtherProcess(const std::function<bool()>& prepare) {
    std::array<int, 2> ends{};
    CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      const char said = prepare() ? 'y' : 'n';
      (void)!::write(ends[1], &said, 1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    char said = 'n';
    ready_ = ::read(ends[0], &said, 1) == 1 && said == 'y';
    ::close(ends[0]);
  }
  ~OtherProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  OtherProcess(const OtherProcess&) = delete;
  OtherProcess& operator=(const OtherProcess&) = delete;

  pid_t pid() const { return pid_; }
  bool ready() const { return ready_; }

 private:
  pid_t pid_;
  bool ready_ = false;
};

bool become_other() {
  return ::setgroups(0, nullptr) == 0 && ::setgid(kOther) == 0 && ::setuid(kOther) == 0;
}

class TargetRootTest : public ::testing::TestWithParam<TargetRoot::Lookup> {
 protected:
  void SetUp() override {
    auto name = (fs::temp_directory_path() / "target-root-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    fs::permissions(folder_, fs::perms(0755));
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text, unsigned mode = 0644) {
    std::ofstream{folder_ / name} << text;
    fs::permissions(folder_ / name, fs::perms(mode));
  }
  Result<TargetRoot> root_of(pid_t pid) {
    auto root = TargetRoot::open(pid);
    if (root) root->look_up(GetParam());
    return root;
  }
  Result<std::string> read(pid_t pid, const std::string& path) {
    return TRY(root_of(pid)).read_file(path, 1000);
  }
  Result<std::string> read_own(const std::string& name) {
    return read(::getpid(), (folder_ / name).string());
  }

  fs::path folder_;
};

TEST_P(TargetRootTest, ReadsThroughLinksOfFilesAndFolders) {
  fs::create_directory(folder_ / "release-7");
  write("release-7/app.json", "seven");
  fs::create_symlink("release-7", folder_ / "current");
  fs::create_symlink("../current/./app.json", folder_ / "release-7/again");
  fs::create_symlink(folder_ / "current/again", folder_ / "absolute");
  EXPECT_EQ(read_own("current/app.json").value(), "seven");
  EXPECT_EQ(read_own("absolute").value(), "seven");
}

TEST_P(TargetRootTest, RefusesWhatIsNotARegularFileWithoutWaiting) {
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0666), 0);
  EXPECT_EQ(read_own("fifo").error().code, Errc::kUnsupported);
  EXPECT_EQ(read(::getpid(), "/dev/zero").error().code, Errc::kUnsupported);
  EXPECT_EQ(read_own("").error().code, Errc::kUnsupported);
  EXPECT_EQ(open_regular_file("/proc/self/root" + (folder_ / "fifo").string()).error().code,
            Errc::kUnsupported);
}

TEST_P(TargetRootTest, RefusesMoreThanTheLimit) {
  write("large", std::string(1001, 'x'));
  EXPECT_EQ(read_own("large").error().code, Errc::kCorrupt);
}

TEST_P(TargetRootTest, FollowsNoMagicLinkOfProc) {
  const UniqueFd open{::open("/etc/passwd", O_RDONLY | O_CLOEXEC)};
  ASSERT_TRUE(open);
  const auto link = "/proc/self/fd/" + std::to_string(open.get());
  fs::create_symlink(GetParam() == TargetRoot::Lookup::kKernel ? link : "/proc/self/ns/mnt",
                     folder_ / "magic");
  EXPECT_FALSE(read_own("magic"));
}

TEST_P(TargetRootTest, EndsALoopOfLinks) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_FALSE(read_own("a"));
}

TEST_P(TargetRootTest, OpensFoldersOnlyAsFolders) {
  write("file", "x");
  const auto root = root_of(::getpid());
  ASSERT_TRUE(root);
  EXPECT_TRUE(root->open_folder(folder_.string()));
  EXPECT_FALSE(root->open_folder((folder_ / "file").string()));
}

TEST_P(TargetRootTest, LinksLeadNowhereOutsideOfTheRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "chroot needs root";
  fs::create_directories(folder_ / "jail/etc");
  write("jail/etc/hostname", "inside");
  write("secret", "outside");
  fs::create_symlink("/etc/hostname", folder_ / "jail/absolute");
  fs::create_symlink("../../../../../../../etc/hostname", folder_ / "jail/etc/up");
  fs::create_symlink("../secret", folder_ / "jail/beside");
  fs::create_symlink((folder_ / "secret").string(), folder_ / "jail/named");
  const OtherProcess jailed{
      [&] { return ::chroot((folder_ / "jail").c_str()) == 0 && ::chdir("/") == 0; }};
  if (!jailed.ready()) GTEST_SKIP() << "needs CAP_SYS_CHROOT";
  EXPECT_EQ(read(jailed.pid(), "/absolute").value(), "inside");
  EXPECT_EQ(read(jailed.pid(), "/etc/up").value(), "inside");
  EXPECT_EQ(read(jailed.pid(), "/../etc/hostname").value(), "inside");
  EXPECT_EQ(read(jailed.pid(), "/beside").error().code, Errc::kNotFound);
  EXPECT_EQ(read(jailed.pid(), "/named").error().code, Errc::kNotFound);
  EXPECT_FALSE(open_regular_file(proc_root(jailed.pid()) + "/named"));
}

TEST_P(TargetRootTest, ShowsNothingThatTheTargetMayNotRead) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user needs root";
  write("secret", "of root", 0600);
  fs::create_directory(folder_ / "closed");
  write("closed/readable", "of root");
  fs::permissions(folder_ / "closed", fs::perms(0700));
  write("own", "of the other", 0600);
  ASSERT_EQ(::chown((folder_ / "own").c_str(), kOther, kOther), 0);
  fs::create_symlink("secret", folder_ / "link");
  const OtherProcess other{become_other};
  if (!other.ready()) GTEST_SKIP() << "needs CAP_SETUID";
  const auto read_at = [&](const char* name) {
    return read(other.pid(), (folder_ / name).string());
  };
  EXPECT_EQ(read_at("own").value(), "of the other");
  EXPECT_EQ(read_at("secret").error().code, Errc::kDenied);
  EXPECT_EQ(read_at("link").error().code, Errc::kDenied);
  EXPECT_EQ(read_at("closed/readable").error().code, Errc::kDenied);
  // And this thread is root again.
  EXPECT_EQ(read_own("secret").value(), "of root");
  EXPECT_EQ(read_own("own").value(), "of the other");
  std::ofstream{folder_ / "made"} << "x";
  struct stat made {};
  ASSERT_EQ(::stat((folder_ / "made").c_str(), &made), 0);
  EXPECT_EQ(made.st_uid, 0U);
}

// Root of a container that has taken CAP_SETUID away: nobody else can be impersonated.
TEST_P(TargetRootTest, ChecksModesWhereItCannotTakeTheRightsOfTheTarget) {
  if (::geteuid() != 0) GTEST_SKIP() << "another user needs root";
  write("secret", "of root", 0600);
  write("public", "for all");
  fs::create_directory(folder_ / "closed");
  write("closed/readable", "of root");
  fs::permissions(folder_ / "closed", fs::perms(0700));
  const OtherProcess other{become_other};
  if (!other.ready()) GTEST_SKIP() << "needs CAP_SETUID";
  const auto root = root_of(other.pid());
  ASSERT_TRUE(root);
  const OtherProcess looker{[&] {
    // Not root: setfsuid() to a third user is refused.
    if (::setgroups(0, nullptr) != 0 || ::setgid(0) != 0 || ::setuid(kOther - 1) != 0) return false;
    return root->read_file((folder_ / "public").string(), 100).has_value() &&
           !root->read_file((folder_ / "secret").string(), 100).has_value() &&
           !root->read_file((folder_ / "closed/readable").string(), 100).has_value();
  }};
  EXPECT_TRUE(looker.ready());
}

INSTANTIATE_TEST_SUITE_P(Lookups, TargetRootTest,
                         ::testing::Values(TargetRoot::Lookup::kKernel,
                                           TargetRoot::Lookup::kByName),
                         [](const auto& test) {
                           return test.param == TargetRoot::Lookup::kKernel ? "Kernel" : "ByName";
                         });

TEST_P(TargetRootTest, OpensFoldersOfOurRootWithTheRightsOfTheTarget) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  fs::create_directories(folder_ / "closed" / "inner");
  fs::create_directory(folder_ / "open");
  fs::permissions(folder_ / "closed", fs::perms(0700));
  const OtherProcess other{become_other};
  ASSERT_TRUE(other.ready());
  auto root = TargetRoot::open_ours(other.pid());
  ASSERT_TRUE(root) << root.error().what;
  root->look_up(GetParam());
  EXPECT_TRUE(root->open_folder((folder_ / "open").string()));
  EXPECT_FALSE(root->open_folder((folder_ / "closed" / "inner").string()));
}

TEST(TargetRights, AreThoseOfTheFileSystem) {
  const auto rights = parse_target_rights(
      "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t30 20 \nCapEff:\t0000000000000102\n",
      true);
  ASSERT_TRUE(rights);
  EXPECT_EQ(rights->uid, 4U);
  EXPECT_EQ(rights->gid, 8U);
  EXPECT_EQ(rights->groups, (std::vector<gid_t>{20, 30}));
  EXPECT_EQ(rights->capabilities, 0x102U);
}

TEST(TargetRights, CapabilitiesOfAnotherUserNamespaceDoNotCount) {
  EXPECT_EQ(
      parse_target_rights("Uid:\t1 1 1 1\nGid:\t1 1 1 1\nCapEff:\tffffffff\n", false)->capabilities,
      0U);
}

TEST(TargetRights, NeedUserAndGroup) {
  EXPECT_FALSE(parse_target_rights("Name:\tx\n", true));
  EXPECT_FALSE(parse_target_rights("Uid:\t1 1\nGid:\t1 1 1 1\n", true));
}

TEST(TargetRights, FollowTheFirstClassOfModeBitsThatApplies) {
  const TargetRights rights{.uid = 10, .gid = 20, .groups = {30}};
  EXPECT_TRUE(rights.allow(10, 1, 0400, 4));
  EXPECT_FALSE(rights.allow(10, 1, 0044, 4));
  EXPECT_TRUE(rights.allow(1, 20, 0040, 4));
  EXPECT_TRUE(rights.allow(1, 30, 0010, 1));
  EXPECT_FALSE(rights.allow(1, 30, 0404, 4));
  EXPECT_TRUE(rights.allow(1, 1, 0004, 4));
  EXPECT_FALSE(rights.allow(1, 1, 0770, 4));
}

}  // namespace
}  // namespace clrscope
