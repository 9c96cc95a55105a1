#include "ipc/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "fakes/fake_runtime.h"
#include "ipc/frame.h"

namespace clrscope::ipc {
namespace {

using fakes::FakeRuntime;
using fakes::Manners;
using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto kPatience = 5s;  // of exchanges that end at once

std::vector<std::uint8_t> u32(std::uint32_t value) {
  ByteWriter out;
  out.write(value);
  return std::move(out).take();
}

std::vector<std::uint8_t> u64(std::uint64_t value) {
  ByteWriter out;
  out.write(value);
  return std::move(out).take();
}

FakeRuntime::CommandId id_of(const Command& command) { return {command.set, command.id}; }

std::vector<std::uint8_t> process_info_payload(int form) {
  ByteWriter out;
  if (form == 3) out.write(std::uint32_t{1});
  out.write(std::uint64_t{4711});
  out.put(std::string_view{"0123456789abcdef"});
  write_string(out, "/app/Shop.Api --fast");
  write_string(out, "Linux");
  write_string(out, "x64");
  if (form >= 2) write_string(out, "Shop.Api");
  if (form >= 2) write_string(out, "10.0.12");
  if (form == 3) write_string(out, "linux-x64");
  return std::move(out).take();
}

std::vector<std::uint8_t> environment_block(const std::vector<std::string>& entries) {
  ByteWriter out;
  out.write(static_cast<std::uint32_t>(entries.size()));
  for (const auto& entry : entries) write_string(out, entry);
  return std::move(out).take();
}

std::vector<std::uint8_t> environment_head(std::size_t size) {
  auto head = u32(static_cast<std::uint32_t>(size));
  head.resize(6);  // two reserved bytes
  return head;
}

class Commands : public testing::Test {
 protected:
  std::vector<int> ids_asked() const {
    std::vector<int> ids;
    for (const auto& request : fake_.requests()) ids.push_back(request.command.second);
    return ids;
  }

  SessionConfig gc_session() const {
    return {.providers = {{.name = "Microsoft-Windows-DotNETRuntime", .keywords = 1}}};
  }

  FakeRuntime fake_;
  std::unique_ptr<Endpoint> runtime_ = connect_endpoint(fake_.path());
};

TEST_F(Commands, ReadTheNewestProcessInfo) {
  fake_.answer(id_of(kProcessInfo3), process_info_payload(3));
  const auto info = process_info(*runtime_, kPatience);
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->pid, 4711U);
  EXPECT_EQ(info->command_line, "/app/Shop.Api --fast");
  EXPECT_EQ(info->entry_assembly, "Shop.Api");
  EXPECT_EQ(info->runtime_version, "10.0.12");
  EXPECT_EQ(info->portable_rid, "linux-x64");
}

TEST_F(Commands, StepDownToTheProcessInfoThatARuntimeKnows) {
  fake_.answer(id_of(kProcessInfo), process_info_payload(1));
  const auto info = process_info(*runtime_, kPatience);
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->architecture, "x64");
  EXPECT_EQ(info->runtime_version, "");
  EXPECT_THAT(ids_asked(), ElementsAre(8, 4, 0));
}

TEST_F(Commands, ReadAnAnswerThatComesInOneBytePieces) {
  fake_.be(Manners::kOneBytePieces);
  fake_.answer(id_of(kProcessInfo3), process_info_payload(3));
  const auto info = process_info(*runtime_, kPatience);
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->operating_system, "Linux");
}

TEST_F(Commands, ReadTheEnvironmentThatFollowsItsFrame) {
  const auto block = environment_block({"HOME=/app", "EMPTY=", "URL=a=b"});
  fake_.answer(id_of(kProcessEnvironment), environment_head(block.size()), block);
  const auto variables = environment(*runtime_, kPatience);
  ASSERT_TRUE(variables) << variables.error().what;
  EXPECT_THAT(*variables, ElementsAre(testing::Pair("EMPTY", ""), testing::Pair("HOME", "/app"),
                                      testing::Pair("URL", "a=b")));
}

TEST_F(Commands, RefuseAnEnvironmentOfUnbelievableSize) {
  fake_.answer(id_of(kProcessEnvironment), environment_head(0xffffffff));
  const auto variables = environment(*runtime_, kPatience);
  ASSERT_FALSE(variables);
  EXPECT_EQ(variables.error().code, Errc::kCorrupt);
}

TEST_F(Commands, NoticeAnEnvironmentThatEndsEarly) {
  fake_.answer(id_of(kProcessEnvironment), environment_head(60 << 20), {1, 2, 3});
  const auto variables = environment(*runtime_, kPatience);
  ASSERT_FALSE(variables);
  EXPECT_EQ(variables.error().code, Errc::kGone);
}

TEST_F(Commands, StartTracingWithTheNewestForm) {
  fake_.answer(id_of(kCollectTracing5), u64(0x1234), {'N', 'e', 't'});
  const auto session = start_tracing(*runtime_, gc_session(), kPatience);
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_EQ(session->id, 0x1234U);
  EXPECT_EQ(session->command, 5);
  std::array<char, 4> stream{};
  EXPECT_EQ(::read(session->stream.get(), stream.data(), stream.size()), 3);
  EXPECT_STREQ(stream.data(), "Net");
}

TEST_F(Commands, StepDownToTheOldestCollectTracing) {
  fake_.answer(id_of(kCollectTracing), u64(7));
  const auto session = start_tracing(*runtime_, gc_session(), kPatience);
  ASSERT_TRUE(session) << session.error().what;
  EXPECT_EQ(session->command, 1);
  EXPECT_THAT(ids_asked(), ElementsAre(6, 5, 4, 3, 2));
}

TEST_F(Commands, SayThatAnOldRuntimeCannotFilterByEventId) {
  fake_.answer(id_of(kCollectTracing4), u64(7));
  auto config = gc_session();
  config.providers[0].event_ids = {1, 2};
  const auto session = start_tracing(*runtime_, config, kPatience);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Errc::kUnsupported);
  EXPECT_THAT(session.error().what, HasSubstr("filter events by id"));
}

TEST_F(Commands, SayThatAnOldRuntimeCannotLeaveStacksOut) {
  fake_.answer(id_of(kCollectTracing2), u64(7));
  auto config = gc_session();
  config.stacks = false;
  const auto session = start_tracing(*runtime_, config, kPatience);
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().what, HasSubstr("stacks"));
}

TEST_F(Commands, DoNotStepDownOnARealRefusal) {
  fake_.refuse(id_of(kCollectTracing5), 0x80070057);
  const auto session = start_tracing(*runtime_, gc_session(), kPatience);
  ASSERT_FALSE(session);
  EXPECT_THAT(session.error().what, HasSubstr("E_INVALIDARG"));
  EXPECT_THAT(ids_asked(), ElementsAre(6));
}

TEST_F(Commands, RefuseASessionWithoutProviders) {
  const auto session = start_tracing(*runtime_, {}, kPatience);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().code, Errc::kUsage);
}

TEST_F(Commands, SendTheSessionIdToStop) {
  fake_.answer(id_of(kStopTracing), u64(99));
  ASSERT_TRUE(stop_tracing(*runtime_, 99, kPatience));
  EXPECT_EQ(fake_.requests().at(0).payload, u64(99));
}

TEST_F(Commands, AttachAProfilerWithItsClientData) {
  fake_.answer(id_of(kAttachProfiler), u32(0));
  const std::array<std::uint8_t, 3> data{7, 8, 9};
  ASSERT_TRUE(attach_profiler(*runtime_, {1, 2}, "/p.so", data, 1500ms, kPatience));
  const auto request = fake_.requests().at(0);
  ByteReader in{request.payload};
  EXPECT_EQ(in.read<std::uint32_t>(), 1500U);
  EXPECT_EQ(in.take(16)[1], 2);
  EXPECT_EQ(read_string(in), "/p.so");
  EXPECT_EQ(in.read<std::uint32_t>(), 3U);
  EXPECT_EQ(in.take(3)[2], 9);
  EXPECT_TRUE(in.ok() && in.at_end());
}

TEST_F(Commands, NameTheProfilerThatIsInTheWay) {
  fake_.refuse(id_of(kAttachProfiler), 0x8013136a);
  const auto attached = attach_profiler(*runtime_, {}, "/p.so", {}, 1s, kPatience);
  ASSERT_FALSE(attached);
  EXPECT_THAT(attached.error().what, HasSubstr("another profiler is loaded already"));
  EXPECT_THAT(attached.error().what, HasSubstr("CORPROF_E_PROFILER_ALREADY_ACTIVE"));
  EXPECT_NE(attached.error().hint, "");
}

TEST_F(Commands, RefuseClientDataThatFitsNoFrame) {
  const std::vector<std::uint8_t> data(70'000);
  const auto attached = attach_profiler(*runtime_, {}, "/p.so", data, 1s, kPatience);
  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().code, Errc::kUsage);
}

TEST_F(Commands, SurfaceTheWordsOfAFailedDump) {
  fake_.refuse(id_of(kCreateCoreDump3), 0x80004005,
               "[createdump] Could not create '/x': No space\n[createdump] Failure took 2ms\n");
  const auto dumped = write_dump(*runtime_, DumpKind::kHeap, "/x", kPatience);
  ASSERT_FALSE(dumped);
  EXPECT_THAT(dumped.error().what, HasSubstr("Could not create '/x': No space (E_FAIL"));
}

TEST_F(Commands, StepDownToTheOldestDump) {
  fake_.answer(id_of(kCreateCoreDump), u32(0));
  ASSERT_TRUE(write_dump(*runtime_, DumpKind::kHeap, "/x", kPatience));
  EXPECT_THAT(ids_asked(), ElementsAre(3, 2, 1));
}

TEST_F(Commands, NeverAskForAStartupHookThatIsNotThere) {
  fake_.answer(id_of(kApplyStartupHook), u32(0));
  const auto applied = apply_startup_hook(*runtime_, "/no/such/hook.dll", kPatience);
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, Errc::kNotFound);
  EXPECT_THAT(ids_asked(), ElementsAre());
}

TEST_F(Commands, ApplyAStartupHookThatIsThere) {
  fake_.answer(id_of(kApplyStartupHook), u32(0));
  const auto hook = fake_.path() + ".dll";
  std::ofstream{hook} << "hook";
  const auto applied = apply_startup_hook(*runtime_, hook, kPatience);
  ::unlink(hook.c_str());
  ASSERT_TRUE(applied) << applied.error().what;
}

TEST_F(Commands, RemoveAVariableByAnEmptyValue) {
  fake_.answer(id_of(kSetEnvironmentVariable), u32(0));
  ASSERT_TRUE(set_environment_variable(*runtime_, "A", "", kPatience));
  EXPECT_THAT(fake_.requests().at(0).payload, ElementsAre(2, 0, 0, 0, 'A', 0, 0, 0, 0, 0, 0, 0));
}

TEST_F(Commands, ExplainACommandThatIsNotKnown) {
  const auto result = disable_perf_map(*runtime_, kPatience);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kUnsupported);
  EXPECT_THAT(result.error().what, HasSubstr("DisablePerfMap"));
  EXPECT_THAT(result.error().hint, HasSubstr("newer .NET"));
}

TEST_F(Commands, ShowTheNumberOfACodeTheyDoNotKnow) {
  fake_.refuse(id_of(kResumeRuntime), 0x8badf00d);
  const auto result = resume_runtime(*runtime_, kPatience);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what, HasSubstr("0x8badf00d"));
}

TEST(CommandsWithoutARuntime, SayThatTheSocketIsGone) {
  const auto runtime = connect_endpoint("/tmp/no-such-folder/dotnet-diagnostic-1-1-socket");
  const auto result = resume_runtime(*runtime, kPatience);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Errc::kGone);
}

struct Nonsense {
  Manners manners;
  Errc error;
};

class CommandsWithNonsense : public testing::TestWithParam<Nonsense> {};

TEST_P(CommandsWithNonsense, EndInAnErrorInTime) {
  FakeRuntime fake;
  fake.answer(id_of(kProcessInfo3), process_info_payload(3));
  fake.be(GetParam().manners);
  const auto runtime = connect_endpoint(fake.path());
  const auto waits = GetParam().error == Errc::kTimeout;
  const auto info = process_info(*runtime, waits ? 30ms : 5s);
  ASSERT_FALSE(info);
  EXPECT_EQ(info.error().code, GetParam().error) << info.error().what;
  EXPECT_THAT(info.error().what, HasSubstr(fake.path()));
}

INSTANTIATE_TEST_SUITE_P(AllKinds, CommandsWithNonsense,
                         testing::Values(Nonsense{Manners::kGarbage, Errc::kCorrupt},
                                         Nonsense{Manners::kHalfHeader, Errc::kGone},
                                         Nonsense{Manners::kHalfPayload, Errc::kGone},
                                         Nonsense{Manners::kStalls, Errc::kTimeout},
                                         Nonsense{Manners::kNeverAnswers, Errc::kTimeout},
                                         Nonsense{Manners::kClosesAtOnce, Errc::kGone},
                                         Nonsense{Manners::kHugeSize, Errc::kGone},
                                         Nonsense{Manners::kTinySize, Errc::kCorrupt},
                                         Nonsense{Manners::kWrongMagic, Errc::kCorrupt},
                                         Nonsense{Manners::kStrangeKind, Errc::kCorrupt}));

TEST_F(Commands, SetTheStartupProfilerOfARuntimeThatIsNotYetSuspended) {
  fake_.refuse(id_of(kStartupProfiler), 0x80070057);
  std::jthread suspending{[&] {
    while (fake_.requests().size() < 2) std::this_thread::yield();
    fake_.answer(id_of(kStartupProfiler), u32(0));
  }};
  const auto set = set_startup_profiler(*runtime_, {}, "/opt/profiler.so", kPatience);
  EXPECT_TRUE(set) << set.error().what;
}

TEST_F(Commands, SayThatAStartupProfilerNeedsASuspendedRuntime) {
  fake_.refuse(id_of(kStartupProfiler), 0x80070057);
  const auto set = set_startup_profiler(*runtime_, {}, "/opt/profiler.so", 200ms);
  ASSERT_FALSE(set);
  EXPECT_THAT(set.error().what, HasSubstr("E_INVALIDARG"));
  EXPECT_THAT(set.error().hint, HasSubstr("suspended at start"));
}

TEST_F(Commands, AskForAPerfMapOfARuntimeThatRuns) {
  fake_.refuse(id_of(kAttachProfiler), 0x80131384);
  fake_.answer(id_of(kEnablePerfMap), u32(0));
  EXPECT_TRUE(enable_perf_map(*runtime_, PerfMapKind::kPerfMap, kPatience));
  ASSERT_EQ(fake_.requests().size(), 2U);
  EXPECT_EQ(fake_.requests()[0].payload, u32(0)) << "without a payload runtimes crash";
  EXPECT_EQ(fake_.requests()[1].payload, u32(3));
}

TEST_F(Commands, DoNotAskForAPerfMapOfARuntimeThatStillStarts) {
  fake_.refuse(id_of(kAttachProfiler), 0x8013135b);
  fake_.answer(id_of(kEnablePerfMap), u32(0));
  const auto enabled = enable_perf_map(*runtime_, PerfMapKind::kPerfMap, kPatience);
  ASSERT_FALSE(enabled);
  EXPECT_EQ(enabled.error().code, Errc::kUnsupported);
  EXPECT_EQ(fake_.requests().size(), 1U);
}

}  // namespace
}  // namespace clrscope::ipc
