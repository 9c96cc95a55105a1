// Libraries that misbehave: each is contained, ended, reaped and reported.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <csignal>
#include <map>

#include "base/io.h"
#include "inspect/dac/reader.h"
#include "inspect/dac/wire.h"
#include "inspect/dac/worker.h"

namespace clrscope::inspect::dac {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using namespace std::chrono_literals;

// This very test program is the worker: before anything else runs.
[[gnu::constructor]] void be_the_worker_when_asked(int argc, char** argv) {
  if (const auto code = dac_worker_main(argc, argv)) ::_exit(*code);
}

constexpr std::uint64_t kBase = 0x10000;

std::string folder_of_tests() {
  std::array<char, PATH_MAX> path{};
  const auto size = ::readlink("/proc/self/exe", path.data(), path.size());
  const std::string_view whole{path.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
  return std::string{whole.substr(0, whole.rfind('/'))};
}

// A "process" whose runtime is of the fake library's build; its first byte is the order.
class FakeTarget final : public Target, MemorySource {
 public:
  FakeTarget(char order, std::string library,
             std::string_view identity = "@(#)Version 9.9.999.1 @Commit: fake")
      : library_(std::move(library)) {
    bytes_.assign(4096, 0);
    bytes_[0] = static_cast<std::uint8_t>(order);
    std::copy(identity.begin(), identity.end(), bytes_.begin() + 64);
  }
  TargetKind kind() const override { return TargetKind::kLive; }
  pid_t pid() const override { return ::getpid(); }
  MemorySource& memory() override { return *this; }
  Result<std::vector<Mapping>> mappings() override {
    return std::vector<Mapping>{
        {.start = kBase, .end = kBase + bytes_.size(), .path = "/runtime/libcoreclr.so"}};
  }
  Result<std::vector<OsThread>> threads() override { return std::vector<OsThread>{}; }
  Result<UniqueFd> open_file(const std::string& path) override {
    EXPECT_EQ(path, "/runtime/libmscordaccore.so");
    return open_for_reading(folder_of_tests() + "/" + library_);
  }

 private:
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    if (address < kBase || address >= kBase + bytes_.size()) return 0;
    const auto offset = static_cast<std::size_t>(address - kBase);
    const auto size = std::min(out.size(), bytes_.size() - offset);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), size, out.begin());
    return size;
  }

  std::string library_;
  std::vector<std::uint8_t> bytes_;
};

bool no_child_is_left() { return ::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD; }

Error error_of(char order, std::chrono::nanoseconds patience = 60s,
               const std::string& library = "libfake_dac.so") {
  FakeTarget target{order, library};
  const auto reader = open_reader(target, patience);
  EXPECT_TRUE(no_child_is_left());
  EXPECT_FALSE(reader);
  return reader ? Error{} : reader.error();
}

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kCrashed = "it ended with code 1";  // the sanitizer takes the signal
#else
constexpr const char* kCrashed = "it crashed (SIG";
#endif

TEST(HostileDac, ThatCrashesIsReported) {
  const auto error = error_of('C');
  EXPECT_EQ(error.code, Errc::kGone);
  EXPECT_THAT(error.what, HasSubstr(std::string{"/runtime/libmscordaccore.so: "} + kCrashed));
  EXPECT_THAT(error_of('A').what, HasSubstr(kCrashed));
}

TEST(HostileDac, ThatEndsTheWorkerIsReported) {
  EXPECT_THAT(error_of('E').what, HasSubstr("it ended with code 7"));
}

TEST(HostileDac, ThatNeverAnswersIsEnded) {
  for (const char order : {'L', 'S', 'R', 'W'}) {
    const auto error = error_of(order, 300ms);
    EXPECT_EQ(error.code, Errc::kTimeout) << order;
    EXPECT_THAT(error.what, HasSubstr("it did not answer within 300 ms")) << order;
  }
}

TEST(HostileDac, ThatSaysTooMuchIsEnded) {
  const auto huge = error_of('H');
  EXPECT_EQ(huge.code, Errc::kCorrupt);
  EXPECT_THAT(huge.what, HasSubstr("a message of 4294967295 bytes"));
  EXPECT_THAT(error_of('G').what, HasSubstr("unknown kind 200"));
}

TEST(HostileDac, ThatTriesToBreakOutIsNamed) {
  const std::map<char, std::string> tries{
      {'O', "it tried to open a file /etc/passwd"}, {'F', "it tried to start a process"},
      {'X', "it tried to start a program"},         {'N', "it tried to use the network"},
      {'K', "it tried to signal a process"},
  };
  for (const auto& [order, what] : tries) {
    const auto error = error_of(order);
    EXPECT_EQ(error.code, Errc::kDenied) << order;
    EXPECT_THAT(error.what, HasSubstr(what)) << order;
  }
}

TEST(HostileDac, IsCagedBeforeItsFirstInstruction) {
  const auto error = error_of('-', 60s, "libfake_dac_early.so");
  EXPECT_EQ(error.code, Errc::kDenied);
  EXPECT_THAT(error.what, HasSubstr("it tried to open a file /etc/shadow"));
}

TEST(HostileDac, FindsNoHoleInTheWalls) {
  EXPECT_THAT(error_of('P').what, HasSubstr("(error 0x80f00000)"));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(HostileDac, ThatTakesAllMemoryFailsAlone) {
  EXPECT_THAT(error_of('M').what, AnyOf(HasSubstr("it crashed"), HasSubstr("it was ended")));
}
#endif

TEST(HostileDac, WithThreadsInACircleIsNotBelieved) {
  FakeTarget target{'T', "libfake_dac.so"};
  const auto reader = open_reader(target, 60s);
  ASSERT_TRUE(reader) << reader.error().what;
  const auto threads = (*reader)->threads();
  ASSERT_FALSE(threads);
  EXPECT_THAT(threads.error().what, HasSubstr("the list of threads has no end"));
}

TEST(HostileDac, WithThreadsWithoutEndIsNotBelieved) {
  FakeTarget target{'B', "libfake_dac.so"};
  const auto reader = open_reader(target, 60s);
  ASSERT_TRUE(reader) << reader.error().what;
  EXPECT_FALSE((*reader)->threads());
  const auto blocks = (*reader)->sync_blocks();
  EXPECT_LE(blocks ? blocks->known.size() : 0, kMostSyncBlocks);
}

TEST(HostileDac, WithNamesWithoutEndGivesShortOnes) {
  FakeTarget target{'Y', "libfake_dac.so"};
  const auto reader = open_reader(target, 60s);
  ASSERT_TRUE(reader) << reader.error().what;
  const auto method = (*reader)->method_at(0x1234);
  ASSERT_TRUE(method) << method.error().what;
  EXPECT_LE(method->name.size(), kMostText);
}

TEST(HostileDac, OfAnotherBuildIsNotLoaded) {
  FakeTarget target{'C', "libfake_dac.so", "@(#)Version 9.9.999.1 @Commit: other"};
  const auto reader = open_reader(target, 60s);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, Errc::kUnsupported);
  EXPECT_THAT(reader.error().what, HasSubstr("no data access library for .NET 9.9.9"));
}

TEST(HostileDac, WhoseWorkerIsKilledIsAnErrorAndStartsAgain) {
  FakeTarget target{'Y', "libfake_dac.so"};
  const auto reader = open_reader(target, 60s);
  ASSERT_TRUE(reader) << reader.error().what;
  siginfo_t none{};
  // Find our one child without reaping it.
  std::string children = *read_file(fmt::format("/proc/self/task/{}/children", ::getpid()));
  const auto child = static_cast<pid_t>(std::atoi(children.c_str()));
  ASSERT_GT(child, 0);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &none, WEXITED | WNOWAIT), 0);
  const auto failed = (*reader)->method_at(0x1234);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Errc::kGone);
  const auto again = (*reader)->method_at(0x1234);
  EXPECT_TRUE(again) << again.error().what;
}

}  // namespace
}  // namespace clrscope::inspect::dac
