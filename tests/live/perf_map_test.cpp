// EnablePerfMap and DisablePerfMap, and where the files are.
#include <gmock/gmock.h>
#include <unistd.h>

#include "ipc/commands.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

using ipc::PerfMapKind;
using testing::StartsWith;
using namespace std::chrono_literals;

// Removes what a runtime leaves outside its temporary folder.
struct Leftover {
  explicit Leftover(std::string file) : path(std::move(file)) {}
  ~Leftover() { ::unlink(path.c_str()); }
  Leftover(const Leftover&) = delete;
  Leftover& operator=(const Leftover&) = delete;
  std::string path;
};

std::string perf_map_name(const Target& target) {
  return "perf-" + std::to_string(target.pid()) + ".map";
}
std::string jit_dump_name(const Target& target) {
  return "jit-" + std::to_string(target.pid()) + ".dump";
}

class PerfMapTest : public LiveTest {
 protected:
  static bool comes_to_name(const std::string& path, const std::string& method) {
    return eventually([&] { return contents_of(path).find(method) != std::string::npos; });
  }
  Variables here() const { return {{"DOTNET_PerfMapJitDumpPath", scratch_.path()}}; }
};

TEST_P(PerfMapTest, LiesInTmpWhateverTmpdirSays) {
  const auto target = start_ready({"cpu"});
  const Leftover map{"/tmp/" + perf_map_name(*target)};
  const auto runtime = target->endpoint();
  const auto enabled = ipc::enable_perf_map(*runtime, PerfMapKind::kPerfMap, kPatience);
  ASSERT_TRUE(enabled) << enabled.error().what;
  EXPECT_TRUE(target->has_open(map.path));
  EXPECT_FALSE(exists(scratch_ / perf_map_name(*target)));
}

TEST_P(PerfMapTest, NamesMethodsCompiledBeforeAndIsClosedWhenSwitchedOff) {
  const auto target = start_ready({"cpu"}, here());
  const auto map = scratch_ / perf_map_name(*target);
  const auto runtime = target->endpoint();
  const auto enabled = ipc::enable_perf_map(*runtime, PerfMapKind::kPerfMap, kPatience);
  ASSERT_TRUE(enabled) << enabled.error().what;
  EXPECT_TRUE(target->has_open(map));
  EXPECT_TRUE(comes_to_name(map, "BurnSixty"));
  EXPECT_FALSE(exists(scratch_ / jit_dump_name(*target)));

  const auto disabled = ipc::disable_perf_map(*runtime, kPatience);
  ASSERT_TRUE(disabled) << disabled.error().what;
  EXPECT_FALSE(target->has_open(map));
}

TEST_P(PerfMapTest, MayBeAJitDump) {
  const auto target = start_ready({"cpu"}, here());
  const auto dump = scratch_ / jit_dump_name(*target);
  const auto runtime = target->endpoint();
  const auto enabled = ipc::enable_perf_map(*runtime, PerfMapKind::kJitDump, kPatience);
  ASSERT_TRUE(enabled) << enabled.error().what;
  EXPECT_TRUE(comes_to_name(dump, "BurnSixty"));
  EXPECT_THAT(contents_of(dump), StartsWith("DTiJ"));
  EXPECT_FALSE(exists(scratch_ / perf_map_name(*target)));

  const auto disabled = ipc::disable_perf_map(*runtime, kPatience);
  ASSERT_TRUE(disabled) << disabled.error().what;
  // .NET 8 keeps the file open.
  const auto closed = eventually([&] { return !target->has_open(dump); }, 1s);
  EXPECT_EQ(closed, major_version() > 8);
}

TEST_P(PerfMapTest, ComesAgainAfterItWasSwitchedOff) {
  const auto target = start_ready({"cpu"}, here());
  const auto map = scratch_ / perf_map_name(*target);
  const auto runtime = target->endpoint();
  ASSERT_TRUE(ipc::enable_perf_map(*runtime, PerfMapKind::kAll, kPatience));
  EXPECT_TRUE(target->has_open(map));
  EXPECT_TRUE(comes_to_name(scratch_ / jit_dump_name(*target), "BurnSixty"));
  ASSERT_TRUE(ipc::disable_perf_map(*runtime, kPatience));
  ASSERT_EQ(::unlink(map.c_str()), 0);
  ASSERT_TRUE(ipc::enable_perf_map(*runtime, PerfMapKind::kAll, kPatience));
  EXPECT_TRUE(comes_to_name(map, "BurnSixty"));
}

TEST_P(PerfMapTest, GoesWhereAVariableSetByUsSays) {
  const auto target = start_ready({"cpu"});
  const auto runtime = target->endpoint();
  const Leftover outside{"/tmp/" + perf_map_name(*target)};
  ASSERT_TRUE(ipc::set_environment_variable(*runtime, "DOTNET_PerfMapJitDumpPath", scratch_.path(),
                                            kPatience));
  ASSERT_TRUE(ipc::enable_perf_map(*runtime, PerfMapKind::kPerfMap, kPatience));
  EXPECT_TRUE(comes_to_name(scratch_ / perf_map_name(*target), "BurnSixty"));
  EXPECT_FALSE(exists(outside.path));
}

// .NET 8 and 9 would crash.
TEST_P(PerfMapTest, IsNotAskedOfARuntimeThatWaits) {
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  auto variables = here();
  variables["DOTNET_DiagnosticPorts"] = (*port)->path();
  const auto target = start({"cpu"}, variables);
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  const auto endpoint = (*port)->endpoint(*runtime);
  const auto early = ipc::enable_perf_map(*endpoint, PerfMapKind::kPerfMap, kPatience);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Errc::kUnsupported) << early.error().what;
  ASSERT_TRUE(ipc::resume_runtime(*endpoint, kPatience));
  ASSERT_TRUE(target->ready()) << contents_of(scratch_ / "stderr");
  const auto enabled = ipc::enable_perf_map(*endpoint, PerfMapKind::kPerfMap, kPatience);
  EXPECT_TRUE(enabled) << enabled.error().what;
  EXPECT_TRUE(comes_to_name(scratch_ / perf_map_name(*target), "BurnSixty"));
}

INSTANTIATE_TEST_SUITE_P(Runtimes, PerfMapTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
