#include "live/event_cpu.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace clrscope::live {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

class EventCpuTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void thread(int id, std::string_view name, std::uint64_t ns) const {
    const auto task = folder_ / std::to_string(id);
    std::filesystem::create_directories(task);
    std::ofstream{task / "comm"} << name << "\n";
    std::ofstream{task / "schedstat"} << ns << " 5 1\n";
  }

  const std::filesystem::path folder_ =
      std::filesystem::path{testing::TempDir()} /
      ("event_cpu_" + std::string{testing::UnitTest::GetInstance()->current_test_info()->name()});
};

TEST_F(EventCpuTest, CountsTheThreadsThatSendEventsSinceItBegan) {
  thread(1, "samples", 900);
  thread(2, ".NET EventPipe", 1000);
  EventCpu cpu{folder_.string()};
  EXPECT_EQ(cpu.total(), nanoseconds{0});
  thread(1, "samples", 99'000);
  thread(2, ".NET EventPipe", 1500);
  thread(3, ".NET EventPipe", 40);  // a session that was opened
  cpu.look(TraceTime{} + seconds{10});
  EXPECT_EQ(cpu.total(), nanoseconds{540});
  std::filesystem::remove_all(folder_ / "3");  // and closed
  thread(2, ".NET EventPipe", 1600);
  cpu.look(TraceTime{} + seconds{20});
  EXPECT_EQ(cpu.total(), nanoseconds{640});
}

TEST_F(EventCpuTest, KeepsTheTotalOfAProcessThatHasEnded) {
  thread(2, ".NET EventPipe", 1000);
  EventCpu cpu{folder_.string()};
  thread(2, ".NET EventPipe", 1700);
  cpu.look(TraceTime{} + seconds{10});
  std::filesystem::remove_all(folder_);
  cpu.look(TraceTime{} + seconds{20});
  EXPECT_EQ(cpu.total(), nanoseconds{700});
}

TEST_F(EventCpuTest, SaysWhyItIsUnknown) {
  EXPECT_FALSE(EventCpu{""}.total());
  EXPECT_FALSE(EventCpu{""}.unknown().empty());
  thread(1, "samples", 900);
  const EventCpu cpu{folder_.string()};
  EXPECT_FALSE(cpu.total());
  EXPECT_NE(cpu.unknown().find(".NET EventPipe"), std::string::npos);
}

}  // namespace
}  // namespace clrscope::live
