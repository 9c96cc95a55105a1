#include "base/io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <thread>

namespace clrscope {
namespace {

using namespace std::chrono_literals;

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) == 0) read = UniqueFd{ends[0]}, write = UniqueFd{ends[1]};
  }
  UniqueFd read;
  UniqueFd write;
};

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view content) {
    UniqueFd fd{::mkstemp(path_.data())};
    EXPECT_TRUE(write_all(fd.get(), as_bytes(content)));
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "io_test.XXXXXX").string();
};

TEST(ReadFile, ReadsAllOfIt) {
  const std::string content(10'000, 'x');
  EXPECT_EQ(*read_file(TemporaryFile{content}.path()), content);
  EXPECT_EQ(*read_file(TemporaryFile{""}.path()), "");
}

TEST(ReadFile, ReadsFilesThatDoNotKnowTheirSize) {
  EXPECT_NE(read_file("/proc/self/status")->find("Name:"), std::string::npos);
}

TEST(ReadFile, RefusesMoreThanItsLimit) {
  const TemporaryFile file{std::string(100, 'x')};
  EXPECT_TRUE(read_file(file.path(), 100));
  EXPECT_EQ(read_file(file.path(), 99).error().code, Errc::kCorrupt);
}

TEST(ReadFile, SaysWhichFileAndWhy) {
  const auto missing = read_file("/nowhere/at/all");
  EXPECT_EQ(missing.error().code, Errc::kNotFound);
  EXPECT_EQ(missing.error().what, "cannot open /nowhere/at/all: No such file or directory");
  EXPECT_FALSE(read_file("/"));
}

TEST(WriteAll, WritesMoreThanAPipeHolds) {
  Pipe pipe;
  const std::string content(1 << 20, 'x');
  std::string received(content.size(), ' ');
  {
    const std::jthread writer{[&] { EXPECT_TRUE(write_all(pipe.write.get(), as_bytes(content))); }};
    const std::span<std::uint8_t> space{reinterpret_cast<std::uint8_t*>(received.data()),
                                        received.size()};
    EXPECT_TRUE(read_exact(pipe.read.get(), space, Deadline{60s}));
  }
  EXPECT_EQ(received, content);
}

TEST(WriteAll, SaysWhyItFailed) {
  const UniqueFd full{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
  EXPECT_EQ(write_all(full.get(), as_bytes("x")).error().what,
            "cannot write: No space left on device");
}

TEST(WaitReadable, GivesUpAtTheDeadline) {
  const Pipe pipe;
  EXPECT_FALSE(*wait_readable(pipe.read.get(), Deadline{0ns}));
}

TEST(WaitReadable, SeesDataAndAClosedPeer) {
  Pipe pipe;
  ASSERT_TRUE(write_all(pipe.write.get(), as_bytes("x")));
  EXPECT_TRUE(*wait_readable(pipe.read.get(), Deadline{0ns}));
  Pipe closed;
  closed.write.reset();
  EXPECT_TRUE(*wait_readable(closed.read.get(), Deadline{0ns}));
}

TEST(ReadExact, ReportsHowMuchCameInTime) {
  Pipe pipe;
  ASSERT_TRUE(write_all(pipe.write.get(), as_bytes("abc")));
  std::array<std::uint8_t, 8> space{};
  const auto result = read_exact(pipe.read.get(), space, Deadline{1ms});
  EXPECT_EQ(result.error().code, Errc::kTimeout);
  EXPECT_EQ(result.error().what, "no answer in time (3 of 8 bytes came)");
}

TEST(ReadExact, ReportsAPeerThatClosed) {
  Pipe pipe;
  ASSERT_TRUE(write_all(pipe.write.get(), as_bytes("abc")));
  pipe.write.reset();
  std::array<std::uint8_t, 8> space{};
  const auto result = read_exact(pipe.read.get(), space, Deadline{10s});
  EXPECT_EQ(result.error().code, Errc::kGone);
  EXPECT_EQ(result.error().what, "the peer closed the connection (3 of 8 bytes came)");
}

TEST(ReadExact, LeavesTheNextBytesAlone) {
  Pipe pipe;
  ASSERT_TRUE(write_all(pipe.write.get(), as_bytes("abcdef")));
  std::array<std::uint8_t, 3> space{};
  ASSERT_TRUE(read_exact(pipe.read.get(), space, Deadline{10s}));
  EXPECT_EQ(as_text(space), "abc");
  ASSERT_TRUE(read_exact(pipe.read.get(), space, Deadline{10s}));
  EXPECT_EQ(as_text(space), "def");
}

}  // namespace
}  // namespace clrscope
