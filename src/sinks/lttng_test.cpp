#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/lttng_events.h"
#include "sinks/test_events.h"

namespace clrscope::sinks {
namespace {

using testing::ElementsAre;

// A module that writes down what it is given. It is C: what it knows is global.
struct Heard {
  std::vector<std::string> lines{};
  bool wants = true;
  clrscope_lttng_common common{};
  std::vector<std::uint64_t> stack{};
};
Heard heard;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): as said

int wanted() { return heard.wants ? 1 : 0; }
void note(const clrscope_lttng_common* common) {
  heard.common = *common;
  heard.stack.assign(common->stack, common->stack + common->stack_length);
}

constexpr clrscope_lttng_field kFields[] = {{"Missing", CLRSCOPE_LTTNG_TEXT},
                                            {"what", CLRSCOPE_LTTNG_TEXT},
                                            {"n", CLRSCOPE_LTTNG_INTEGER},
                                            {"MissingToo", CLRSCOPE_LTTNG_REAL}};
constexpr clrscope_lttng_kind kKinds[] = {
    {"Shop", 7, kFields, 4, wanted,
     [](const clrscope_lttng_common* common, const clrscope_lttng_value* values) {
       note(common);
       heard.lines.push_back(std::string{"Sold "} + values[0].text + "|" + values[1].text + "|" +
                             std::to_string(values[2].i) + "|" + std::to_string(values[3].f));
     }}};

const clrscope_lttng_module kModule{
    .abi = CLRSCOPE_LTTNG_ABI,
    .kind_count = 1,
    .kinds = kKinds,
    .event_wanted = wanted,
    .event =
        [](const clrscope_lttng_common* common, const clrscope_lttng_event* event) {
          note(common);
          heard.lines.push_back(std::string{event->provider} + ":" + event->name + " " +
                                event->payload);
        },
    .counter_wanted = wanted,
    .counter =
        [](const clrscope_lttng_common* common, const clrscope_lttng_counter* counter) {
          note(common);
          heard.lines.push_back(std::string{counter->provider} + ":" + counter->name + " " +
                                counter->tags + " " + std::to_string(counter->value) + " " +
                                counter->quantiles);
        },
    .dropped =
        [](std::uint64_t events) { heard.lines.push_back("dropped " + std::to_string(events)); },
    .process =
        [](std::int32_t pid, const char* name, const char* runtime, const char* change) {
          heard.lines.push_back(std::to_string(pid) + " " + name + " " + runtime + " " + change);
        },
};

class Lttng : public testing::Test {
 protected:
  void SetUp() override { heard = {}; }
};

TEST_F(Lttng, FillsATypedTracepointByTheNamesOfItsFields) {
  const TestProcess one{7};
  LttngEvents events{kModule, LttngEvents::Typed::kYes};
  const auto batch = one.batch(41, 2, TraceClock::now());
  events.send(batch);
  EXPECT_THAT(heard.lines, ElementsAre("Sold |aé|41|0.000000", "Sold |aé|42|0.000000"));
  EXPECT_EQ(heard.common.pid, 7);
  EXPECT_EQ(heard.common.tid, 11U);
  EXPECT_EQ(heard.common.time,
            static_cast<std::uint64_t>(
                batch.block->wall_of(batch.block->events()[1]).time_since_epoch().count()));
  EXPECT_THAT(heard.stack, ElementsAre(0x1001, 0x2000));
  EXPECT_EQ(events.sent(), 2U);
}

TEST_F(Lttng, SendsWhatHasNoTracepointAsJson) {
  LttngEvents events{kModule, LttngEvents::Typed::kNo};
  events.send(TestProcess{7}.batch(41, 1, TraceClock::now()));
  EXPECT_THAT(heard.lines, ElementsAre(R"(Shop:Sold {"n":41,"what":"aé"})"));
}

TEST_F(Lttng, SendsCountersLossesAndProcesses) {
  LttngEvents events{kModule, LttngEvents::Typed::kYes};
  events.send(test_value());
  events.send_dropped(17);
  events.send_change(TestProcess{7}.info(), hub::SourceChange::kCame);
  EXPECT_THAT(heard.lines, ElementsAre("Shop.Meter:orders route=/a,status=200 12.500000 "
                                       "0.5=12.5,0.95=40",
                                       "dropped 17", "7 shop 10.0.1 came"));
}

TEST_F(Lttng, CountsWhatNoSessionWants) {
  LttngEvents events{kModule, LttngEvents::Typed::kYes};
  heard.wants = false;
  events.send(TestProcess{7}.batch(0, 10, TraceClock::now()));
  events.send(test_value());
  EXPECT_TRUE(heard.lines.empty());
  EXPECT_EQ(events.unwanted(), 11U);
  EXPECT_EQ(events.sent(), 0U);
}

}  // namespace
}  // namespace clrscope::sinks
