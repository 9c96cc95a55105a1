// Objects are followed through collections of a runtime that this test plays.
#include "agent/survivors.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "agent/syscalls.h"
#include "wire/ring.h"

namespace clrscope::agent {
namespace {

// A handle is the address of the object + 1; an object that is not in the map is dead.
struct Heap {
  static inline std::map<Id, std::int32_t> generations{};
  static inline std::size_t handles = 0;
  static inline bool refuses = false;
};

struct Range {
  std::int32_t generation;
  Id start;
  std::size_t size;
  std::size_t reserved;
};

HResult create(ComObject*, Id object, std::uint32_t, Id* handle) {
  if (Heap::refuses) return kFail;
  ++Heap::handles;
  *handle = object + 1;
  return kOk;
}
HResult destroy(ComObject*, Id) {
  --Heap::handles;
  return kOk;
}
HResult object_of(ComObject*, Id handle, Id* object) {
  *object = Heap::generations.contains(handle - 1) ? handle - 1 : 0;
  return kOk;
}
HResult generation_of(ComObject*, Id object, Range* range) {
  const auto found = Heap::generations.find(object);
  if (found == Heap::generations.end()) return kFail;
  range->generation = found->second;
  return kOk;
}

class SurvivorsTest : public testing::Test {
 protected:
  SurvivorsTest() {
    Heap::generations.clear();
    Heap::handles = 0;
    Heap::refuses = false;
    table_[info::kCreateHandle] = reinterpret_cast<Slot>(&create);
    table_[info::kDestroyHandle] = reinterpret_cast<Slot>(&destroy);
    table_[info::kGetObjectIDFromHandle] = reinterpret_cast<Slot>(&object_of);
    table_[info::kGetObjectGeneration] = reinterpret_cast<Slot>(&generation_of);
    EXPECT_TRUE(recorder_.open());
    EXPECT_TRUE(survivors_.reset());
    for (auto& ring : recorder_.arena()->rings) readers_.emplace_back(ring);
  }
  ~SurvivorsTest() override { survivors_.release(&runtime_); }

  std::uint32_t make(Id object, std::int32_t generation = 0) {
    Heap::generations[object] = generation;
    return survivors_.follow(&runtime_, object);
  }
  void start(std::uint32_t oldest) {
    std::int32_t collected[5] = {};
    for (std::uint32_t i = 0; i <= oldest; ++i) collected[i] = 1;
    if (oldest == 2) collected[3] = collected[4] = 1;
    survivors_.collection_started(&runtime_, {collected, 5});
  }
  void finish() { survivors_.collection_finished(&runtime_, recorder_, events_); }

  // What was told since the last call: fates by number.
  std::map<std::uint32_t, wire::Fate> told() {
    std::map<std::uint32_t, wire::Fate> out;
    for (auto& reader : readers_)
      reader.drain([&](const void* bytes, std::uint32_t size) {
        const auto* seen =
            wire::parse_record<wire::ObjectsSeen>(wire::RecordKind::kObjectsSeen, bytes, size);
        if (!seen) return;
        for (std::uint32_t i = 0; i < seen->frames; ++i) out[wire::frames_of(seen)[i]] = seen->fate;
      });
    return out;
  }

  Slot table_[info::kEnd15]{};
  ComObject runtime_{table_};
  Recorder recorder_;
  Survivors survivors_;
  OwnEvents events_;
  std::vector<wire::RingReader> readers_;
};

TEST_F(SurvivorsTest, TellsWhoDiesAndWhoSurvivesTwice) {
  const auto dies = make(0x1000), lives = make(0x2000);
  start(0);
  Heap::generations.erase(0x1000);
  Heap::generations[0x2000] = 1;
  finish();
  EXPECT_EQ(told(), (std::map<std::uint32_t, wire::Fate>{{dies, wire::Fate::kDied},
                                                         {lives, wire::Fate::kSurvivedOne}}));
  EXPECT_EQ(Heap::handles, 1U);
  start(0);  // its generation is not collected
  finish();
  EXPECT_TRUE(told().empty());
  start(1);
  Heap::generations[0x2000] = 2;
  finish();
  EXPECT_EQ(told()[lives], wire::Fate::kSurvivedTwo);
  EXPECT_EQ(Heap::handles, 0U);
}

TEST_F(SurvivorsTest, ABackgroundCollectionSaysNothingOfYoungObjects) {
  const auto young = make(0x1000), large = make(0x2000, 3);
  start(2);
  const auto during = make(0x3000);
  start(0);  // one inside
  Heap::generations[0x3000] = 1;
  Heap::generations[0x1000] = 1;
  finish();
  EXPECT_EQ(told(), (std::map<std::uint32_t, wire::Fate>{{young, wire::Fate::kSurvivedOne},
                                                         {during, wire::Fate::kSurvivedOne}}));
  finish();
  EXPECT_EQ(told(), (std::map<std::uint32_t, wire::Fate>{{large, wire::Fate::kSurvivedOne}}));
}

TEST_F(SurvivorsTest, FollowsNoMoreThanItsTableHolds) {
  std::uint32_t followed = 0;
  for (Id i = 1; i <= 5000; ++i) followed += make(i * 0x100) != 0 ? 1 : 0;
  EXPECT_LE(followed, 4096U);
  EXPECT_GT(followed, 3000U);
  EXPECT_EQ(Heap::handles, followed);
  start(0);
  Heap::generations.clear();
  finish();
  EXPECT_EQ(told().size(), followed);
  EXPECT_EQ(Heap::handles, 0U);
  Heap::refuses = true;
  EXPECT_EQ(make(0x100), 0U);
  Heap::refuses = false;
  EXPECT_NE(make(0x100), 0U);
  survivors_.release(&runtime_);
  EXPECT_EQ(Heap::handles, 0U);
  finish();  // the end of a collection that began before it listened
  EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace clrscope::agent
