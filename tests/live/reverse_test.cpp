// Runtimes of all versions that connect to one port of ours.
#include <gmock/gmock.h>

#include <set>

#include "ipc/commands.h"
#include "live/recording.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

constexpr auto kRuntime = "Microsoft-Windows-DotNETRuntime";
constexpr std::uint64_t kLoader = 0x8;
constexpr std::uint32_t kAssemblyLoad = 154;

using ReverseTest = LiveTest;

TEST_P(ReverseTest, AnswersManyCommandsOneAfterTheOther) {
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  const auto target =
      start_ready({"idle"}, {{"DOTNET_DiagnosticPorts", (*port)->path() + ",nosuspend"}});
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  EXPECT_EQ(runtime->pid, static_cast<std::uint64_t>(target->pid()));
  const auto endpoint = (*port)->endpoint(*runtime);
  for (int round = 0; round < 20; ++round) {
    const auto info = ipc::process_info(*endpoint, kPatience);
    ASSERT_TRUE(info) << round << ": " << info.error().what;
    EXPECT_EQ(info->cookie, runtime->cookie);
  }
}

TEST_P(ReverseTest, RecordsFromTheVeryStart) {
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  const auto target = start({"idle"}, {{"DOTNET_DiagnosticPorts", (*port)->path()}});
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  const auto endpoint = (*port)->endpoint(*runtime);
  auto session = ipc::start_tracing(
      *endpoint, {.rundown_keyword = 0, .providers = {{.name = kRuntime, .keywords = kLoader}}},
      kPatience);
  ASSERT_TRUE(session) << session.error().what;
  Recording recording{std::move(session->stream)};
  ASSERT_TRUE(ipc::resume_runtime(*endpoint, kPatience));
  ASSERT_TRUE(target->ready());
  auto tally = recording.stop(*endpoint, session->id);
  ASSERT_TRUE(tally) << tally.error().what;
  EXPECT_TRUE(tally->ended);
  EXPECT_GE((tally->kinds[{kRuntime, kAssemblyLoad}].events), 2U)
      << "System.Private.CoreLib and the program";
}

INSTANTIATE_TEST_SUITE_P(Runtimes, ReverseTest, every_framework(), framework_name);

// The parameter is there for the skipping only.
using ManyRuntimesTest = LiveTest;

TEST_P(ManyRuntimesTest, AreServedBesideEachOther) {
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  std::map<std::uint64_t, std::unique_ptr<Target>> targets;
  for (const auto* framework : {"net8.0", "net9.0", "net10.0", "net8.0", "net10.0"}) {
    auto target = std::make_unique<Target>(framework, std::vector<std::string>{"idle"}, scratch_,
                                           Variables{{"DOTNET_DiagnosticPorts", (*port)->path()}});
    const auto pid = static_cast<std::uint64_t>(target->pid());
    targets[pid] = std::move(target);
  }
  std::vector<std::unique_ptr<ipc::Endpoint>> endpoints;
  std::set<std::uint64_t> advertised;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto runtime = (*port)->next_runtime(Deadline{kPatience});
    ASSERT_TRUE(runtime) << runtime.error().what;
    EXPECT_TRUE(targets.contains(runtime->pid));
    EXPECT_TRUE(advertised.insert(runtime->pid).second) << "each once";
    endpoints.push_back((*port)->endpoint(*runtime));
    const auto info = ipc::process_info(*endpoints.back(), kPatience);
    ASSERT_TRUE(info) << info.error().what;
    EXPECT_EQ(info->pid, runtime->pid);
  }
  for (const auto& endpoint : endpoints) ASSERT_TRUE(ipc::resume_runtime(*endpoint, kPatience));
  for (const auto& [pid, target] : targets) EXPECT_TRUE(target->ready()) << pid;
  for (const auto& endpoint : endpoints) EXPECT_TRUE(ipc::process_info(*endpoint, kPatience));
}

INSTANTIATE_TEST_SUITE_P(Runtimes, ManyRuntimesTest, testing::Values(std::string{"net10.0"}),
                         framework_name);

}  // namespace
}  // namespace clrscope::live
