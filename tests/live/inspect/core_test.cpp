// Cores of real runtimes against the processes they were taken of: what a core gives is what was in
// memory, also where it was left out of it.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "inspect/target.h"
#include "ipc/commands.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

using inspect::Mapping;
using ipc::DumpKind;

constexpr std::chrono::seconds kDumpPatience{60};

std::unique_ptr<inspect::Target> opened(Result<std::unique_ptr<inspect::Target>> target) {
  EXPECT_TRUE(target) << target.error().what;
  return target ? *std::move(target) : nullptr;
}

std::vector<Mapping> files_of(inspect::Target& target) {
  auto mappings = target.mappings().value_or(std::vector<Mapping>{});
  std::erase_if(mappings, [](const Mapping& m) {
    return !m.path.ends_with(".so") && !m.path.ends_with(".dll") && !m.path.ends_with("/samples");
  });
  return mappings;
}

std::vector<std::uint8_t> page_of(inspect::Target& target, std::uint64_t address) {
  std::vector<std::uint8_t> page(4096);
  page.resize(target.memory().read(address, page));
  return page;
}

// Those of the deadlock. After a dump they run for a moment before they wait again.
std::vector<inspect::OsThread> threads_that_wait(inspect::Target& live) {
  std::vector<inspect::OsThread> found;
  (void)eventually([&] {
    found = live.threads().value_or(std::vector<inspect::OsThread>{});
    std::erase_if(found, [](const auto& t) { return !t.name.starts_with("transfer-"); });
    return std::ranges::all_of(found,
                               [](const auto& t) { return t.registers.knows(unwind::kRip); });
  });
  return found;
}

class CoreTest : public LiveTest {
 protected:
  // The threads are the same, and where they were; those that dumping started or ended aside.
  static void expect_same_threads(inspect::Target& core, inspect::Target& live) {
    const auto then = core.threads().value_or(std::vector<inspect::OsThread>{});
    std::size_t waiting = 0;
    for (const auto& thread : threads_that_wait(live)) {
      ++waiting;
      const auto same = std::ranges::find(then, thread.tid, &inspect::OsThread::tid);
      ASSERT_NE(same, then.end()) << thread.tid;
      EXPECT_EQ(same->registers[unwind::kRip], thread.registers[unwind::kRip]);
      EXPECT_EQ(same->registers[unwind::kRsp], thread.registers[unwind::kRsp]);
      EXPECT_TRUE(same->registers.knows(unwind::kRbp));
      EXPECT_EQ(page_of(core, thread.registers[unwind::kRsp]),
                page_of(live, thread.registers[unwind::kRsp]));
    }
    EXPECT_EQ(waiting, 2U);
  }

  // Every page that the core gives of a file that could not be written is what is in memory.
  static void expect_same_files(inspect::Target& core, inspect::Target& live) {
    const auto then = core.mappings();
    ASSERT_TRUE(then);
    std::size_t code_pages = 0;
    std::vector<std::string> missing;
    for (const auto& now : files_of(live)) {
      const auto same = std::ranges::find(*then, now.start, &Mapping::start);
      if (same == then->end()) continue;  // gcore leaves some out
      EXPECT_EQ(same->path, now.path);
      EXPECT_EQ(same->file_offset, now.file_offset) << now.path;
      EXPECT_EQ(same->executable, now.executable) << now.path << ' ' << now.file_offset;
      if (now.writable) continue;
      for (auto at = now.start; at < now.end; at += 4096) {
        const auto page = page_of(core, at);
        if (now.executable) {
          ++code_pages;
          if (page.empty()) missing.push_back(now.path);
        }
        if (page.empty()) continue;
        auto truth = page_of(live, at);
        truth.resize(std::min(truth.size(), page.size()));  // the last page of a file
        ASSERT_EQ(page, truth) << now.path << " at " << at - now.start;
      }
    }
    EXPECT_GT(code_pages, 1000U);
    EXPECT_THAT(missing, testing::IsEmpty());
  }
};

TEST_P(CoreTest, OfEachKindIsWhatTheProcessWas) {
  const auto app = start_ready({"deadlock-monitor"});
  const auto live = opened(inspect::open_process(app->pid()));
  const auto runtime = app->endpoint();
  for (const auto kind : {DumpKind::kMini, DumpKind::kTriage, DumpKind::kHeap, DumpKind::kFull}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const auto path = scratch_ / "core";
    const auto written = ipc::write_dump(*runtime, kind, path, kDumpPatience);
    ASSERT_TRUE(written) << written.error().what;
    const auto core = opened(inspect::open_core(path));
    ASSERT_TRUE(core);
    EXPECT_EQ(core->pid(), app->pid());
    EXPECT_TRUE(core->remarks().empty());
    expect_same_threads(*core, *live);
    expect_same_files(*core, *live);
    ::unlink(path.c_str());
  }
}

TEST_P(CoreTest, IsTheSameCompressed) {
  const auto app = start_ready({"deadlock-monitor"});
  const auto live = opened(inspect::open_process(app->pid()));
  const auto path = scratch_ / "core";
  const auto written = ipc::write_dump(*app->endpoint(), DumpKind::kTriage, path, kDumpPatience);
  ASSERT_TRUE(written) << written.error().what;
  for (const auto* pack : {"gzip -1 -k ", "zstd -1 -q -k "})
    ASSERT_EQ(std::system((pack + path).c_str()), 0);
  for (const auto* end : {".gz", ".zst"}) {
    const auto core = opened(inspect::open_core(path + end));
    ASSERT_TRUE(core);
    expect_same_threads(*core, *live);
    expect_same_files(*core, *live);
  }
}

TEST_P(CoreTest, OfGcoreIsWhatTheProcessWas) {
  if (std::system("command -v gcore >/dev/null") != 0) GTEST_SKIP() << "there is no gcore";
  const auto app = start_ready({"deadlock-monitor"});
  const auto live = opened(inspect::open_process(app->pid()));
  const auto command =
      "gcore -o " + (scratch_ / "core") + " " + std::to_string(app->pid()) + " >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const auto core = opened(inspect::open_core(scratch_ / ("core." + std::to_string(app->pid()))));
  ASSERT_TRUE(core);
  expect_same_threads(*core, *live);
  expect_same_files(*core, *live);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, CoreTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
