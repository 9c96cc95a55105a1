// CollectTracing in all its forms, and what becomes of a session whose reader goes away.
#include <gmock/gmock.h>

#include <charconv>

#include "ipc/commands.h"
#include "ipc/exchange.h"
#include "live/recording.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

using testing::HasSubstr;
using testing::Key;
using testing::UnorderedElementsAre;
using namespace std::chrono_literals;

constexpr auto kSamples = "Clrscope-Samples";
constexpr auto kRundown = "Microsoft-Windows-DotNETRuntimeRundown";
constexpr auto kFlood = "Clrscope-Samples-Flood";

ipc::SessionConfig session_of(std::string provider) {
  return {.rundown_keyword = 0,
          .providers = {
              {.name = std::move(provider), .keywords = ~0ULL, .level = ipc::Level::kVerbose}}};
}

std::uint64_t number_after(const std::string& text, const std::string& name) {
  const auto at = text.find("\"" + name + "\":");
  std::uint64_t value = 0;
  if (at == std::string::npos) return value;
  const char* digits = text.data() + at + name.size() + 3;
  std::from_chars(digits, text.data() + text.size(), value);
  return value;
}

class TracingTest : public LiveTest {
 protected:
  int newest_form() const { return major_version() == 8 ? 2 : major_version() == 9 ? 4 : 5; }

  // Records until there are events of the samples.
  void record(const ipc::SessionConfig& config, Tally& tally) {
    const auto target = start_ready({"eventsource", "--rate", "50"});
    const auto runtime = target->endpoint();
    auto session = ipc::start_tracing(*runtime, config, kPatience);
    ASSERT_TRUE(session) << session.error().what;
    EXPECT_EQ(session->command, newest_form());
    Recording recording{std::move(session->stream)};
    EXPECT_TRUE(recording.has(kSamples, 20));
    auto stopped = recording.stop(*runtime, session->id);
    ASSERT_TRUE(stopped) << stopped.error().what;
    tally = std::move(*stopped);
    EXPECT_TRUE(tally.readable);
    EXPECT_TRUE(tally.ended);
  }

  void expect_unsupported(const ipc::SessionConfig& config, const std::string& words) {
    const auto target = start_ready({"idle"});
    const auto session = ipc::start_tracing(*target->endpoint(), config, kPatience);
    ASSERT_FALSE(session);
    EXPECT_EQ(session.error().code, Errc::kUnsupported);
    EXPECT_THAT(session.error().what, HasSubstr(words));
  }
};

TEST_P(TracingTest, KnowsEveryFormUpToItsNewest) {
  const auto target = start_ready({"eventsource", "--rate", "50"});
  const auto runtime = target->endpoint();
  auto config = session_of(kSamples);
  config.rundown_keyword = ipc::kDefaultRundown;
  static constexpr const ipc::Command* kForms[] = {&ipc::kCollectTracing, &ipc::kCollectTracing2,
                                                   &ipc::kCollectTracing3, &ipc::kCollectTracing4,
                                                   &ipc::kCollectTracing5};
  for (int form = 1; form <= 5; ++form) {
    const auto request = ipc::encode_collect_tracing(form, config);
    ASSERT_TRUE(request);
    auto reply = ipc::exchange(*runtime, *kForms[form - 1], *request, Deadline{kPatience});
    ASSERT_TRUE(reply) << form << ": " << reply.error().what;
    EXPECT_EQ(reply->unknown_command(), form > newest_form()) << form;
    if (reply->refusal) continue;
    const auto id = ipc::decode_session_id(reply->payload);
    ASSERT_TRUE(id);
    Recording recording{std::move(reply->connection)};
    EXPECT_TRUE(recording.has(kSamples, 5)) << form;
    const auto tally = recording.stop(*runtime, *id);
    ASSERT_TRUE(tally) << form << ": " << tally.error().what;
    EXPECT_TRUE(tally->readable && tally->ended) << form;
    EXPECT_GT(tally->of(kRundown).events, 0U) << form;
  }
}

TEST_P(TracingTest, WritesTheOldFormatToo) {
  auto config = session_of(kSamples);
  config.netperf = true;
  Tally tally;
  record(config, tally);
  EXPECT_EQ(tally.format, 3U);
}

TEST_P(TracingTest, HasStacksAndNoRundownUnlessAskedFor) {
  Tally tally;
  record(session_of(kSamples), tally);
  EXPECT_EQ(tally.of(kRundown).events, 0U);
  EXPECT_GT(tally.of(kSamples).with_stack, 0U);
}

TEST_P(TracingTest, HasARundownWhenAskedFor) {
  auto config = session_of(kSamples);
  config.rundown_keyword = ipc::kDefaultRundown;
  Tally tally;
  record(config, tally);
  EXPECT_GT(tally.of(kRundown).events, 0U);
}

TEST_P(TracingTest, HasTheRundownOfAKeywordFromNineOn) {
  auto config = session_of(kSamples);
  config.rundown_keyword = 0x8;  // loader
  if (major_version() == 8) return expect_unsupported(config, "rundown keyword");
  Tally tally;
  record(config, tally);
  EXPECT_GT((tally.kinds[{kRundown, 154}].events), 0U) << "modules";
  EXPECT_EQ((tally.kinds[{kRundown, 144}].events), 0U) << "no methods";
}

TEST_P(TracingTest, LeavesStacksOutFromNineOn) {
  auto config = session_of(kSamples);
  config.stacks = false;
  if (major_version() == 8) return expect_unsupported(config, "stacks");
  Tally tally;
  record(config, tally);
  EXPECT_EQ(tally.of(kSamples).with_stack, 0U);
}

TEST_P(TracingTest, FiltersByEventIdFromTenOn) {
  auto config = session_of(kSamples);
  config.providers[0].event_ids = {1, 10};
  if (major_version() < 10) return expect_unsupported(config, "by id");
  Tally tally;
  record(config, tally);
  EXPECT_GT((tally.kinds[{kSamples, 1}].events), 0U);
  EXPECT_GT((tally.kinds[{kSamples, 10}].events), 0U);
  const auto all = tally.of(kSamples).events;
  EXPECT_EQ(all, (tally.kinds[{kSamples, 1}].events + tally.kinds[{kSamples, 10}].events));
}

TEST_P(TracingTest, EndsTheSessionOfAReaderThatWentAway) {
  const auto target =
      start_ready({"flood", "--wait-enabled", "--rate", "10000", "--count", "30000"});
  const auto runtime = target->endpoint();
  const auto before = target->open_sockets();
  {
    auto session = ipc::start_tracing(*runtime, session_of(kFlood), kPatience);
    ASSERT_TRUE(session) << session.error().what;
    EXPECT_TRUE(eventually([&] { return target->open_sockets() == before + 1; }));
    Recording recording{std::move(session->stream)};
    EXPECT_TRUE(recording.has(kFlood, 100));
  }
  EXPECT_TRUE(eventually([&] { return target->open_sockets() == before; }, 5s));
  const auto done = target->next_line();
  EXPECT_EQ(number_after(done, "total"), 30000U) << done;
  EXPECT_GE(number_after(done, "totalWhileEnabled"), 100U);
  EXPECT_LT(number_after(done, "totalWhileEnabled"), 30000U) << "it listened on";
}

INSTANTIATE_TEST_SUITE_P(Runtimes, TracingTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
