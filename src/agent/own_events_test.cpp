// The agent's own events, written to a runtime that this test plays.
#include "agent/own_events.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

using OnEnable = void (*)(const std::uint8_t*, std::uint32_t, std::uint8_t, std::uint64_t,
                          std::uint64_t, void*, void*);

struct Parameter {
  std::uint32_t type, element;
  const char16_t* name;
};
struct Data {
  const void* at;
  std::uint32_t size, reserved;
};

// What the runtime was told.
struct Told {
  std::u16string provider;
  OnEnable on_enable = nullptr;
  std::map<std::uint32_t, std::u16string> names;                    // by id of the event
  std::map<std::uint32_t, std::vector<std::u16string>> parameters;  // likewise
  std::vector<std::pair<std::uintptr_t, std::vector<std::string>>> written;
  std::uint32_t created = 0;
};
Told g_told;
HResult g_create_answer = kOk;

HResult refuse() { return kFail; }
HResult create_provider(ComObject*, const char16_t* name, OnEnable on_enable,
                        std::uintptr_t* provider) {
  ++g_told.created;
  if (g_create_answer < 0) return g_create_answer;
  g_told.provider = name;
  g_told.on_enable = on_enable;
  *provider = 7;
  return kOk;
}
HResult define_event(ComObject*, std::uintptr_t provider, const char16_t* name, std::uint32_t id,
                     std::uint64_t, std::uint32_t, std::uint32_t, std::uint8_t, std::int32_t,
                     std::uint32_t count, const Parameter* parameters, std::uintptr_t* event) {
  if (provider != 7) return kFail;
  g_told.names[id] = name;
  for (std::uint32_t i = 0; i < count; ++i) g_told.parameters[id].emplace_back(parameters[i].name);
  *event = 100 + id;
  return kOk;
}
HResult write_event(ComObject*, std::uintptr_t event, std::uint32_t count, const Data* data,
                    const Guid*, const Guid*) {
  auto& [id, values] = g_told.written.emplace_back();
  id = event;
  for (std::uint32_t i = 0; i < count; ++i)
    values.emplace_back(static_cast<const char*>(data[i].at), data[i].size);
  return kOk;
}

std::uint64_t number_of(const std::string& bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());
  return value;
}
std::u16string text_of(const std::string& bytes) {
  std::u16string text(bytes.size() / 2, u' ');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

class OwnEventsTest : public testing::Test {
 protected:
  OwnEventsTest() {
    g_told = {};
    g_create_answer = kOk;
    for (auto& slot : table_) slot = reinterpret_cast<Slot>(&refuse);
    table_[info::kEventPipeCreateProvider2] = reinterpret_cast<Slot>(&create_provider);
    table_[info::kEventPipeDefineEvent] = reinterpret_cast<Slot>(&define_event);
    table_[info::kEventPipeWriteEvent] = reinterpret_cast<Slot>(&write_event);
    EXPECT_TRUE(recorder_.open());
  }
  ~OwnEventsTest() override { enable(0, false); }

  static void enable(std::uint64_t keywords, bool on = true, std::uint8_t level = 4) {
    if (g_told.on_enable)
      g_told.on_enable(nullptr, on ? 1 : 0, level, keywords, 0, nullptr, nullptr);
  }
  std::uint32_t name(Id id, const char* text) {
    bool is_new = false;
    const auto slot = recorder_.slot_of(id, is_new);
    recorder_.set_name(slot, 1, text, static_cast<std::uint32_t>(std::strlen(text)));
    return slot;
  }
  CaughtException caught() {
    return {.number = 5,
            .type = name(0x10, "Shop.Überfüllt"),
            .method = name(0x20, "Shop.Orders.𝒮ave"),
            .ticks = 1000};
  }

  Slot table_[info::kEnd15]{};
  ComObject runtime_{table_};
  Recorder recorder_;
  OwnEvents events_;
};

TEST_F(OwnEventsTest, DefinesEachEventWithTheNamesOfItsFields) {
  EXPECT_EQ(events_.create(&runtime_), kOk);
  EXPECT_EQ(g_told.provider, u"Clrscope-Agent");
  EXPECT_EQ(g_told.names[1], u"ExceptionCaught");
  EXPECT_EQ(g_told.parameters[1],
            (std::vector<std::u16string>{u"Number", u"Type", u"Method", u"DurationNs"}));
  EXPECT_EQ(g_told.names[2], u"ObjectsSurvived");
  EXPECT_EQ(g_told.names[3], u"SnapshotTaken");
}

TEST_F(OwnEventsTest, WritesOnlyWhatASessionWants) {
  ASSERT_EQ(events_.create(&runtime_), kOk);
  events_.write(&runtime_, recorder_, caught());
  EXPECT_TRUE(g_told.written.empty());
  enable(OwnEvents::kSnapshots);
  events_.write(&runtime_, recorder_, caught());
  EXPECT_TRUE(g_told.written.empty());
  events_.write(&runtime_, TakenSnapshot{.number = 3, .threads = 4, .failed = 1, .pause_ticks = 9});
  ASSERT_EQ(g_told.written.size(), 1U);
  EXPECT_EQ(g_told.written[0].first, 103U);
  enable(OwnEvents::kSnapshots, true, 2);  // errors only
  EXPECT_FALSE(events_.wants(OwnEvents::kSnapshots));
  enable(0);  // no keywords: all
  EXPECT_TRUE(events_.wants(OwnEvents::kSurvivors));
  enable(0, false);
  EXPECT_FALSE(events_.wants(OwnEvents::kSurvivors));
}

TEST_F(OwnEventsTest, TurnsNamesIntoUtf16AndTicksIntoTime) {
  ASSERT_EQ(events_.create(&runtime_), kOk);
  enable(OwnEvents::kExceptions);
  const auto begin = read_tsc(), began = monotonic_ns();
  while (monotonic_ns() - began < 2'000'000) {
  }
  auto one = caught();
  one.ticks = read_tsc() - begin;
  const auto passed = monotonic_ns() - began;
  events_.write(&runtime_, recorder_, one);
  ASSERT_EQ(g_told.written.size(), 1U);
  const auto& values = g_told.written[0].second;
  EXPECT_EQ(number_of(values[0]), 5U);
  EXPECT_EQ(text_of(values[1]), std::u16string(u"Shop.Überfüllt\0", 15));
  EXPECT_EQ(text_of(values[2]), std::u16string(u"Shop.Orders.𝒮ave\0", 18));
  const auto ns = number_of(values[3]);
  EXPECT_GT(ns, passed / 2);
  EXPECT_LT(ns, passed * 2);
}

TEST_F(OwnEventsTest, LongNamesAreCutAndUnknownOnesAreEmpty) {
  ASSERT_EQ(events_.create(&runtime_), kOk);
  enable(OwnEvents::kExceptions);
  auto one = caught();
  const std::string text = std::string(510, 'a') + "ü";  // the cut is inside of a letter
  one.type = name(0x30, text.c_str());
  one.method = wire::kNoName;
  events_.write(&runtime_, recorder_, one);
  ASSERT_EQ(g_told.written.size(), 1U);
  const auto& values = g_told.written[0].second;
  EXPECT_EQ(text_of(values[1]), std::u16string(510, u'a') + u'?' + u'\0');
  EXPECT_EQ(text_of(values[2]), std::u16string(1, u'\0'));
}

TEST_F(OwnEventsTest, ARefusedProviderIsNotAskedForAgain) {
  g_create_answer = kFail;
  EXPECT_EQ(events_.create(&runtime_), kFail);
  EXPECT_TRUE(events_.tried());
  EXPECT_EQ(events_.create(&runtime_), kFalse);
  EXPECT_EQ(g_told.created, 1U);
  events_.write(&runtime_, SurvivorCounts{});
  EXPECT_TRUE(g_told.written.empty());
}

}  // namespace
}  // namespace clrscope::agent
