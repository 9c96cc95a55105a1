#include "base/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>

namespace clrscope {
namespace {

using testing::HasSubstr;

class SpoolTest : public testing::Test {
 protected:
  SpoolTest() {
    std::string name = testing::TempDir() + "spool.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~SpoolTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<Spool> open(std::uint64_t limit = 1 << 20) {
    auto spool = Spool::open(folder_, limit);
    EXPECT_TRUE(spool) << spool.error().what;
    return std::move(*spool);
  }
  std::vector<std::string> segments() const {
    std::vector<std::string> found;
    for (const auto& one : std::filesystem::directory_iterator{folder_})
      if (one.path().filename().string().starts_with("segment-")) found.push_back(one.path());
    std::sort(found.begin(), found.end());
    return found;
  }
  static std::vector<std::string> take_all(Spool& spool) {
    std::vector<std::string> texts;
    while (auto one = spool.take()) texts.push_back(one->text);
    return texts;
  }

  std::string folder_;
};

TEST_F(SpoolTest, GivesMessagesInOrderAndAgainUntilTheyAreForgotten) {
  const auto spool = open();
  for (const auto* text : {"a", "bb", "ccc"}) ASSERT_TRUE(spool->push(text, 2));
  EXPECT_EQ(take_all(*spool), (std::vector<std::string>{"a", "bb", "ccc"}));
  EXPECT_EQ(spool->taken(), 3U);
  EXPECT_EQ(spool->forget(1), 2U);
  spool->give_back();
  EXPECT_EQ(take_all(*spool), (std::vector<std::string>{"bb", "ccc"}));
  EXPECT_EQ(spool->forget(9), 4U);
  EXPECT_EQ(spool->bytes(), 0U);
}

TEST_F(SpoolTest, GoesOnAfterARestartWhereItStopped) {
  {
    const auto spool = open();
    for (const auto* text : {"a", "b", "c"}) ASSERT_TRUE(spool->push(text, 1));
    (void)take_all(*spool);
    spool->forget(1);
  }
  {
    const auto spool = open();
    ASSERT_TRUE(spool->push("d", 1));
    EXPECT_EQ(take_all(*spool), (std::vector<std::string>{"b", "c", "d"}));
    spool->forget(3);
  }
  EXPECT_EQ(take_all(*open()), std::vector<std::string>{});
}

TEST_F(SpoolTest, RemovesSegmentsThatWereDelivered) {
  const auto spool = open();
  const std::string text(10'000, 'x');
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(spool->push(text, 1));
  EXPECT_GT(segments().size(), 3U);
  EXPECT_EQ(take_all(*spool).size(), 50U);
  spool->forget(50);
  EXPECT_LE(segments().size(), 1U);
  ASSERT_TRUE(spool->push("last", 1));
  EXPECT_EQ(take_all(*spool), std::vector<std::string>{"last"});
}

TEST_F(SpoolTest, RefusesTheNewestAboveItsLimitAndTakesAgainWhenThereIsRoom) {
  const auto spool = open(200'000);
  const std::string text(60'000, 'x');
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(spool->push(text, 1));
  const auto refused = spool->push(text, 1);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("is full"));
  EXPECT_TRUE(spool->take());
  spool->forget(1);
  EXPECT_TRUE(spool->push(text, 1));
}

TEST_F(SpoolTest, SkipsATornLastRecordAndCountsIt) {
  {
    const auto spool = open();
    for (const auto* text : {"first", "second", "third"}) ASSERT_TRUE(spool->push(text, 1));
  }
  // As a kill in the middle of a write leaves it, at any byte.
  const auto path = segments().front();
  const auto size = std::filesystem::file_size(path);
  for (auto cut = size - 1; cut > size - 21; --cut) {
    std::filesystem::resize_file(path, cut);
    const auto spool = open();
    EXPECT_EQ(take_all(*spool), (std::vector<std::string>{"first", "second"})) << cut;
    EXPECT_EQ(spool->damaged(), 1U);
  }
  const auto spool = open();
  ASSERT_TRUE(spool->push("fourth", 1));
  EXPECT_EQ(take_all(*spool), (std::vector<std::string>{"first", "second", "fourth"}));
}

TEST_F(SpoolTest, SkipsADamagedRecordInTheMiddle) {
  {
    const auto spool = open();
    for (const auto* text : {"first", "second", "third"}) ASSERT_TRUE(spool->push(text, 1));
  }
  for (const std::streamoff at : {21, 22, 25, 29, 33, 38}) {  // the second record's bytes
    std::fstream file{segments().front(), std::ios::in | std::ios::out | std::ios::binary};
    file.seekg(at);
    const auto was = static_cast<char>(file.get());
    file.seekp(at);
    file.put(static_cast<char>(was ^ 0x41));
    file.flush();
    {
      const auto spool = open();
      EXPECT_EQ(take_all(*spool), (std::vector<std::string>{"first", "third"})) << at;
      EXPECT_EQ(spool->damaged(), 1U);
    }
    file.seekp(at);
    file.put(was);
  }
}

TEST_F(SpoolTest, BearsWithADamagedPositionAndSendsAgain) {
  {
    const auto spool = open();
    for (const auto* text : {"a", "b"}) ASSERT_TRUE(spool->push(text, 1));
    (void)spool->take();
    spool->forget(1);
  }
  std::ofstream{folder_ + "/position"} << std::string(64, '\x7f');
  EXPECT_EQ(take_all(*open()), (std::vector<std::string>{"a", "b"}));
}

TEST_F(SpoolTest, IsRefusedToASecondOne) {
  const auto spool = open();
  const auto second = Spool::open(folder_, 1 << 20);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr("is in use"));
  EXPECT_THAT(second.error().what, HasSubstr(std::to_string(::getpid())));
  EXPECT_FALSE(second.error().hint.empty());
}

TEST_F(SpoolTest, SaysWhatTheDiskRefused) {
  const auto spool = open();
  ASSERT_TRUE(spool->push("before", 1));
  // A limit on the size of files stands for a disk that is full: the write fails half way.
  rlimit was{};
  ::getrlimit(RLIMIT_FSIZE, &was);
  const rlimit small{.rlim_cur = 4096, .rlim_max = was.rlim_max};
  auto* handler = ::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto refused = spool->push(std::string(8000, 'x'), 1);
  ::setrlimit(RLIMIT_FSIZE, &was);
  ::signal(SIGXFSZ, handler);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, HasSubstr("File too large"));
  ASSERT_TRUE(spool->push("after", 1));
  EXPECT_EQ(take_all(*spool), (std::vector<std::string>{"before", "after"}));
  EXPECT_EQ(spool->damaged(), 0U);
}

// A child that writes and delivers as fast as it can is killed at some instant; again and again.
// What it had delivered or left must be every number, in order.
TEST_F(SpoolTest, GivesRoomBackToAFullDiskOnceAllIsDelivered) {
  const auto spool = open();
  const std::string text(1000, 'x');
  rlimit was{};
  ::getrlimit(RLIMIT_FSIZE, &was);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{20'000, was.rlim_max};
  ASSERT_TRUE(spool->push(text, 1));
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto too_large = spool->push(std::string(30'000, 'y'), 1);
  EXPECT_FALSE(too_large);
  EXPECT_EQ(take_all(*spool).size(), 1U);
  spool->forget(1);
  EXPECT_TRUE(segments().empty());  // not kept for more: there is no room for it
  const auto again = spool->push(text, 1);
  EXPECT_FALSE(spool->push(std::string(30'000, 'y'), 1));  // alone, and still too large
  ::setrlimit(RLIMIT_FSIZE, &was);
  EXPECT_TRUE(again);
  EXPECT_EQ(take_all(*spool).size(), 1U);
  EXPECT_EQ(spool->damaged(), 0U);
}

TEST_F(SpoolTest, LosesNothingToKillsAtAnyInstant) {
  const auto delivered_path =
      folder_ + "/../" + std::filesystem::path{folder_}.filename().string() + ".delivered";
  for (int round = 0; round < 20; ++round) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const auto child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      auto opened = Spool::open(folder_, 64 << 20);
      if (!opened) ::_exit(1);
      auto& spool = **opened;
      const int out = ::open(delivered_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      int number = 0;  // the last one that was pushed, in any round
      while (auto one = spool.take()) number = std::stoi(one->text);
      if (number == 0 && std::filesystem::exists(delivered_path)) {
        std::ifstream in{delivered_path};
        for (std::string line; std::getline(in, line);) number = std::stoi(line);
      }
      spool.give_back();
      for (int i = 0;; ++i) {
        if (!spool.push(std::to_string(++number), 1)) ::_exit(2);
        if (i % 3 == 2) {
          const auto one = spool.take();
          const auto line = one->text + "\n";
          if (::write(out, line.data(), line.size()) < 0) ::_exit(3);
          spool.forget(1);
        }
        if (i == 10) (void)::write(ready[1], "x", 1);
      }
    }
    ::close(ready[1]);
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1) << "the child ended by itself";
    ::close(ready[0]);
    ::usleep(static_cast<useconds_t>(997 * round));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended with " << WEXITSTATUS(status);
  }
  std::vector<int> numbers;
  {
    std::ifstream in{delivered_path};
    for (std::string line; std::getline(in, line);) numbers.push_back(std::stoi(line));
  }
  const auto delivered = numbers.size();
  const auto spool = open(64 << 20);
  for (const auto& text : take_all(*spool)) numbers.push_back(std::stoi(text));
  int last = 0;
  for (const int number : numbers) {
    ASSERT_LE(number, last + 1) << "a hole";
    last = std::max(last, number);
  }
  EXPECT_GT(delivered, 20U);
  EXPECT_GT(last, static_cast<int>(delivered));
  std::filesystem::remove(delivered_path);
}

TEST(SpoolFolder, IsForItsOwnerAlone) {
  auto folder = ::testing::TempDir() + "spoolXXXXXX";
  ASSERT_TRUE(::mkdtemp(folder.data()));
  const auto mode = [](const std::string& path) {
    return static_cast<unsigned>(std::filesystem::status(path).permissions());
  };
  std::filesystem::create_directory(folder + "/old");
  std::filesystem::permissions(folder + "/old", std::filesystem::perms{0755});
  ASSERT_TRUE(Spool::open(folder + "/old", 1 << 20));
  ASSERT_TRUE(Spool::open(folder + "/new", 1 << 20));
  EXPECT_EQ(mode(folder + "/old"), 0700U);
  EXPECT_EQ(mode(folder + "/new"), 0700U);
  std::filesystem::create_directory_symlink(folder + "/new", folder + "/link");
  EXPECT_FALSE(Spool::open(folder + "/link", 1 << 20));
  std::filesystem::remove_all(folder);
}

TEST(FolderName, KeepsPlainTextAndTellsOddOnesApart) {
  EXPECT_EQ(folder_name("graphite:h:2003").substr(0, 15), "graphite_h_2003");
  EXPECT_NE(folder_name("a/b"), folder_name("a_b"));
  EXPECT_EQ(folder_name("../x").find('/'), std::string::npos);
  EXPECT_NE(folder_name("..").front(), '.');
  EXPECT_LT(folder_name(std::string(4000, 'x')).size(), 120U);
}

}  // namespace
}  // namespace clrscope
