// The commands about the process itself: who it is, its environment, perf maps, startup hooks.
#include <gmock/gmock.h>

#include "base/io.h"
#include "ipc/commands.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using namespace std::chrono_literals;

class ProcessTest : public LiveTest {
 protected:
  Result<> apply_hook(ipc::Endpoint& runtime, const std::string& path = hook_assembly()) {
    return ipc::apply_startup_hook(runtime, path, kPatience);
  }

  // What the hook has seen; empty when it never ran.
  std::string hook_saw() {
    eventually([&] { return exists(scratch_ / "hook"); });
    return contents_of(scratch_ / "hook");
  }

  Variables hook_variables() { return {{"CLRSCOPE_LIVE_HOOK_FILE", scratch_ / "hook"}}; }
};

#define NEED_HOOK()            \
  if (hook_assembly().empty()) \
  GTEST_SKIP() << "CLRSCOPE_LIVE_HOOK is not set: CLRSCOPE_LIVE_HOOK=$(tests/live/publish_hook)"

TEST_P(ProcessTest, SaysWhoItIs) {
  const auto target = start_ready({"idle"});
  const auto info = ipc::process_info(*target->endpoint(), kPatience);
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->pid, static_cast<std::uint64_t>(target->pid()));
  EXPECT_THAT(info->runtime_version, StartsWith(std::to_string(major_version()) + ".0."));
  EXPECT_EQ(info->entry_assembly, "samples");
  EXPECT_THAT(info->command_line, HasSubstr("idle"));
  EXPECT_EQ(info->operating_system, "Linux");
  EXPECT_EQ(info->architecture, "x64");
  EXPECT_EQ(info->portable_rid, "linux-x64");
}

TEST_P(ProcessTest, ListsItsWholeEnvironment) {
  const std::string large(100'000, 'x');  // more than a frame could hold
  const auto target = start_ready({"idle"}, {{"CLRSCOPE_LIVE_LARGE", large},
                                             {"CLRSCOPE_LIVE_FOREIGN", "grün=日本 🙂"},
                                             {"CLRSCOPE_LIVE_EMPTY", ""}});
  const auto variables = ipc::environment(*target->endpoint(), kPatience);
  ASSERT_TRUE(variables) << variables.error().what;
  EXPECT_EQ(variables->at("CLRSCOPE_LIVE_LARGE"), large);
  EXPECT_EQ(variables->at("CLRSCOPE_LIVE_FOREIGN"), "grün=日本 🙂");
  EXPECT_EQ(variables->at("CLRSCOPE_LIVE_EMPTY"), "");
  EXPECT_EQ(variables->at("TMPDIR"), scratch_.path());
}

TEST_P(ProcessTest, ShowsAVariableThatWasSetAndNotOneThatWasRemoved) {
  const auto target = start_ready({"idle"}, {{"CLRSCOPE_LIVE_OLD", "1"}});
  const auto runtime = target->endpoint();
  ASSERT_TRUE(ipc::set_environment_variable(*runtime, "CLRSCOPE_LIVE_WORD", "naïve", kPatience));
  ASSERT_TRUE(ipc::set_environment_variable(*runtime, "CLRSCOPE_LIVE_OLD", "", kPatience));
  const auto variables = ipc::environment(*runtime, kPatience);
  ASSERT_TRUE(variables) << variables.error().what;
  EXPECT_EQ(variables->at("CLRSCOPE_LIVE_WORD"), "naïve");
  EXPECT_FALSE(variables->contains("CLRSCOPE_LIVE_OLD"));
}

TEST_P(ProcessTest, ShowsManagedCodeAVariableThatWasSetWhileItRan) {
  NEED_HOOK();
  const auto target = start_ready({"idle"}, hook_variables());
  const auto runtime = target->endpoint();
  ASSERT_TRUE(ipc::set_environment_variable(*runtime, "CLRSCOPE_LIVE_WORD", "late", kPatience));
  ASSERT_TRUE(apply_hook(*runtime));
  EXPECT_EQ(hook_saw(), "Initialize late");
}

TEST_P(ProcessTest, ShowsManagedCodeAVariableThatWasSetBeforeItRan) {
  NEED_HOOK();
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  auto variables = hook_variables();
  variables["DOTNET_DiagnosticPorts"] = (*port)->path();
  variables["DOTNET_STARTUP_HOOKS"] = hook_assembly();
  const auto target = start({"idle"}, variables);
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  const auto endpoint = (*port)->endpoint(*runtime);
  ASSERT_TRUE(ipc::set_environment_variable(*endpoint, "CLRSCOPE_LIVE_WORD", "early", kPatience));
  ASSERT_TRUE(ipc::resume_runtime(*endpoint, kPatience));
  ASSERT_TRUE(target->ready());
  EXPECT_EQ(hook_saw(), "Initialize early");
}

TEST_P(ProcessTest, RunsAStartupHookWhileItRuns) {
  NEED_HOOK();
  const auto target = start_ready({"deadlock-monitor"}, hook_variables());
  const auto applied = apply_hook(*target->endpoint());
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_THAT(hook_saw(), StartsWith("Initialize"));
  EXPECT_TRUE(target->runs());
}

TEST_P(ProcessTest, RunsAStartupHookThatWasAskedForWhileItWaited) {
  NEED_HOOK();
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  auto variables = hook_variables();
  variables["DOTNET_DiagnosticPorts"] = (*port)->path();
  const auto target = start({"idle"}, variables);
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  const auto endpoint = (*port)->endpoint(*runtime);
  const auto applied = apply_hook(*endpoint);
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_FALSE(exists(scratch_ / "hook")) << "it still waits";
  ASSERT_TRUE(ipc::resume_runtime(*endpoint, kPatience));
  ASSERT_TRUE(target->ready());
  EXPECT_THAT(hook_saw(), StartsWith("Initialize"));
}

TEST_P(ProcessTest, OutlivesARequestForAHookThatIsNotThere) {
  const auto target = start_ready({"idle"});
  const auto applied = apply_hook(*target->endpoint(), "/nowhere/hook.dll");
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Errc::kNotFound);
  EXPECT_TRUE(ipc::process_info(*target->endpoint(), kPatience));
}

INSTANTIATE_TEST_SUITE_P(Runtimes, ProcessTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
