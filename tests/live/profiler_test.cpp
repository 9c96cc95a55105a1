// AttachProfiler and StartupProfiler with a profiler that leaves a file.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "ipc/commands.h"
#include "live/probe_profiler.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

const std::string kProbe{CLRSCOPE_PROBE_PROFILER};
constexpr std::uint32_t kOk = 0;
constexpr std::uint32_t kFail = 0x80004005;
constexpr std::uint32_t kCancel = 0x80131375;

class ProfilerTest : public LiveTest {
 protected:
  std::string order(std::uint32_t answer) const {
    return fmt::format("{:08x} {}", answer, scratch_ / "marker");
  }

  Result<> attach(Target& target, std::uint32_t answer, const std::string& library = kProbe,
                  std::array<std::uint8_t, 16> class_id = kProbeClass) {
    return ipc::attach_profiler(*target.endpoint(), class_id, library, as_bytes(order(answer)), 10s,
                                kPatience);
  }

  std::string marker() const { return contents_of(scratch_ / "marker"); }

  // Starts a runtime that waits, with the profiler set, and lets it go.
  void start_with_profiler(std::uint32_t answer, Variables variables = {}) {
    auto port = ipc::ReversePort::listen(scratch_ / "port");
    ASSERT_TRUE(port) << port.error().what;
    variables["DOTNET_DiagnosticPorts"] = (*port)->path();
    variables["CLRSCOPE_LIVE_PROFILER"] = order(answer);
    const auto target = start({"idle"}, std::move(variables));
    const auto runtime = (*port)->next_runtime(Deadline{kPatience});
    ASSERT_TRUE(runtime) << runtime.error().what;
    const auto endpoint = (*port)->endpoint(*runtime);
    const auto set = ipc::set_startup_profiler(*endpoint, kProbeClass, kProbe, kPatience);
    ASSERT_TRUE(set) << set.error().what;
    EXPECT_EQ(marker(), "") << "it still waits";
    const auto resumed = ipc::resume_runtime(*endpoint, kPatience);
    ASSERT_TRUE(resumed) << resumed.error().what;
    EXPECT_TRUE(target->ready()) << contents_of(scratch_ / "stderr");
  }
};

TEST_P(ProfilerTest, IsAttachedAndGetsItsClientData) {
  const auto target = start_ready({"idle"});
  const auto attached = attach(*target, kOk);
  ASSERT_TRUE(attached) << attached.error().what;
  EXPECT_EQ(marker(), "InitializeForAttach");
}

TEST_P(ProfilerTest, IsAttachedToARuntimeThatConnectsToUs) {
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  const auto target =
      start_ready({"idle"}, {{"DOTNET_DiagnosticPorts", (*port)->path() + ",nosuspend"}});
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  const auto endpoint = (*port)->endpoint(*runtime);
  const auto attached =
      ipc::attach_profiler(*endpoint, kProbeClass, kProbe, as_bytes(order(kOk)), 10s, kPatience);
  EXPECT_TRUE(attached) << attached.error().what;
  EXPECT_EQ(marker(), "InitializeForAttach");
}

TEST_P(ProfilerTest, IsRefusedWhileAnotherIsActive) {
  const auto target = start_ready({"idle"});
  ASSERT_TRUE(attach(*target, kOk));
  const auto second = attach(*target, kOk);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().what, HasSubstr("CORPROF_E_PROFILER_ALREADY_ACTIVE"));
  EXPECT_EQ(second.error().code, Errc::kDenied);
}

TEST_P(ProfilerTest, MayFailAndTheTargetLivesOn) {
  const auto target = start_ready({"idle"});
  const auto attached = attach(*target, kFail);
  ASSERT_FALSE(attached);
  EXPECT_THAT(attached.error().what, HasSubstr("E_FAIL"));
  EXPECT_EQ(marker(), "InitializeForAttach") << "it was asked";
  EXPECT_TRUE(ipc::process_info(*target->endpoint(), kPatience));
}

TEST_P(ProfilerTest, MayDeclineAndAnotherMayCome) {
  const auto target = start_ready({"idle"});
  const auto declined = attach(*target, kCancel);
  ASSERT_FALSE(declined);
  EXPECT_THAT(declined.error().what, HasSubstr("CORPROF_E_PROFILER_CANCEL_ACTIVATION"));
  ASSERT_EQ(::unlink((scratch_ / "marker").c_str()), 0);
  const auto attached = attach(*target, kOk);
  EXPECT_TRUE(attached) << attached.error().what;
  EXPECT_EQ(marker(), "InitializeForAttach");
}

TEST_P(ProfilerTest, IsRefusedWhenTheLibraryIsMissing) {
  const auto target = start_ready({"idle"});
  const auto attached = attach(*target, kOk, "/nowhere/profiler.so");
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code, Errc::kNotFound) << attached.error().what;
  EXPECT_NE(attached.error().hint, "");
}

TEST_P(ProfilerTest, IsRefusedWhenTheLibraryIsNoProfiler) {
  const auto target = start_ready({"idle"});
  const auto attached = attach(*target, kOk, "libm.so.6");
  EXPECT_FALSE(attached) << "only absolute paths";
  const auto absolute = attach(*target, kOk, "/lib/x86_64-linux-gnu/libm.so.6");
  ASSERT_FALSE(absolute);
  EXPECT_THAT(absolute.error().what, HasSubstr("ERROR_PROC_NOT_FOUND"));
}

TEST_P(ProfilerTest, IsRefusedWhenTheLibraryDoesNotKnowTheClass) {
  const auto target = start_ready({"idle"});
  const auto attached = attach(*target, kOk, kProbe, {1, 2, 3});
  ASSERT_FALSE(attached);
  EXPECT_THAT(attached.error().what, HasSubstr("CLASS_E_CLASSNOTAVAILABLE"));
}

// The runtimes look at the switch when they load a profiler at start, not when one is attached.
TEST_P(ProfilerTest, IsAttachedEvenWhenProfilingIsSwitchedOff) {
  const auto target = start_ready({"idle"}, {{"DOTNET_EnableDiagnostics_Profiler", "0"}});
  const auto attached = attach(*target, kOk);
  EXPECT_TRUE(attached) << attached.error().what;
  EXPECT_EQ(marker(), "InitializeForAttach");
}

TEST_P(ProfilerTest, IsNotLoadedAtTheStartWhenProfilingIsSwitchedOff) {
  start_with_profiler(kOk, {{"DOTNET_EnableDiagnostics_Profiler", "0"}});
  EXPECT_EQ(marker(), "");
}

TEST_P(ProfilerTest, IsThereFromTheStart) {
  start_with_profiler(kOk);
  EXPECT_EQ(marker(), "Initialize");
}

TEST_P(ProfilerTest, MayFailAtTheStartAndTheTargetRunsWithoutIt) {
  start_with_profiler(kFail);
  EXPECT_EQ(marker(), "Initialize");
}

TEST_P(ProfilerTest, CannotBeSetOnceTheRuntimeWasResumed) {
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  const auto target = start({"idle"}, {{"DOTNET_DiagnosticPorts", (*port)->path()}});
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  const auto endpoint = (*port)->endpoint(*runtime);
  ASSERT_TRUE(ipc::set_startup_profiler(*endpoint, {1, 2, 3}, "/nowhere.so", kPatience));
  ASSERT_TRUE(ipc::resume_runtime(*endpoint, kPatience));
  ASSERT_TRUE(target->ready());
  const auto late = ipc::set_startup_profiler(*endpoint, kProbeClass, kProbe, 100ms);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().hint, HasSubstr("suspended at start"));
}

TEST_P(ProfilerTest, CannotBeAttachedToARuntimeThatWaits) {
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  const auto target = start({"idle"}, {{"DOTNET_DiagnosticPorts", (*port)->path()}});
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  const auto endpoint = (*port)->endpoint(*runtime);
  const auto attached =
      ipc::attach_profiler(*endpoint, kProbeClass, kProbe, as_bytes(order(kOk)), 10s, kPatience);
  ASSERT_FALSE(attached);
  EXPECT_THAT(attached.error().what, HasSubstr("0x8013135b"));
  EXPECT_EQ(marker(), "");
}

INSTANTIATE_TEST_SUITE_P(Runtimes, ProfilerTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
