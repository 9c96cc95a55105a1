// The heap and the counts of allocations, in a runtime that this test plays.
#include "agent/heap_walk.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "agent/objects.h"
#include "wire/ring.h"

namespace clrscope::agent {
namespace {

using wire::RecordKind;

// Objects are 1 … n; the type of object i is 0x2000 + 8 * (i % 3), its size 16 * i. Each refers to
// the next one.
constexpr Id kObjects = 9;
Id type_of(Id object) { return 0x2000 + 8 * (object % 3); }

HResult refuse() { return kFail; }
int g_busy = 0;  // so many times the runtime is suspended by somebody else
int g_suspended = 0;
std::vector<std::uint8_t> g_event;
HeapWalk* g_walk = nullptr;
std::uint64_t g_keywords = 0;

HResult enumerate(ComObject*, std::int32_t (*on_object)(Id, void*), void* data) {
  if (g_suspended != 1) return kFail;
  for (Id object = 1; object <= kObjects; ++object)
    if (on_object(object, data) == 0) return kFail;
  return kOk;
}
HResult references(ComObject*, Id object, std::int32_t (*on_reference)(Id, Id*, void*),
                   void* data) {
  Id next = object + 1;
  if (object < kObjects) on_reference(object, &next, data);
  return kOk;
}
HResult class_from_object(ComObject*, Id object, Id* type) { return *type = type_of(object), kOk; }
HResult object_size(ComObject*, Id object, std::size_t* bytes) { return *bytes = 16 * object, kOk; }
HResult suspend(ComObject*) {
  if (g_busy-- > 0) return hresult(0x80131388);
  return ++g_suspended, kOk;
}
HResult resume(ComObject*) { return --g_suspended, kOk; }
// Tells the whole heap before it returns, as the runtime does.
HResult start_session(ComObject*, std::uint32_t, const std::uint64_t* config, std::int32_t,
                      std::uint64_t* session) {
  g_keywords = config[1];
  *session = 5;
  g_walk->on_event({9, 1, nullptr, 0});
  g_walk->on_event({18, 0, g_event.data(), static_cast<std::uint32_t>(g_event.size())});
  g_walk->on_event({3, 1, nullptr, 0});
  return kOk;
}
HResult stop_session(ComObject*, std::uint64_t) { return kOk; }

class HeapWalkTest : public testing::Test {
 protected:
  HeapWalkTest() {
    g_busy = g_suspended = 0;
    g_walk = &walk_;
    for (auto& slot : table_) slot = reinterpret_cast<Slot>(&refuse);
    set(info::kEnumerateGCHeapObjects, &enumerate);
    set(info::kEnumerateObjectReferences, &references);
    set(info::kGetClassFromObject, &class_from_object);
    set(info::kGetObjectSize2, &object_size);
    set(info::kSuspendRuntime, &suspend);
    set(info::kResumeRuntime, &resume);
    set(info::kEventPipeStartSession, &start_session);
    set(info::kEventPipeStopSession, &stop_session);
    EXPECT_TRUE(recorder_.open());
    for (auto& ring : recorder_.arena()->rings) readers_.emplace_back(ring);
  }
  template <class Function>
  void set(unsigned slot, Function* function) {
    table_[slot] = reinterpret_cast<Slot>(function);
  }
  template <class Fixed>
  std::vector<Fixed> records(RecordKind kind) {
    std::vector<Fixed> out;
    for (const auto& bytes : drained())
      if (const auto* record = wire::parse_record<Fixed>(
              kind, bytes.data(), static_cast<std::uint32_t>(bytes.size() * 8)))
        out.push_back(*record);
    return out;
  }

  Slot table_[info::kEnd15]{};
  ComObject runtime_{table_};
  Recorder recorder_;
  HeapWalk walk_;
  Objects objects_;

 private:
  // Kept: one drain gives records of all kinds.
  const std::vector<std::vector<std::uint64_t>>& drained() {
    for (auto& reader : readers_)
      reader.drain([&](const void* bytes, std::uint32_t size) {
        auto& copy = kept_.emplace_back(size / 8);
        std::memcpy(copy.data(), bytes, size);
      });
    return kept_;
  }
  std::vector<wire::RingReader> readers_;
  std::vector<std::vector<std::uint64_t>> kept_;
};

TEST_F(HeapWalkTest, CountsObjectsAndBytesByTypeAfterTheCollectionThatIsInTheWay) {
  g_busy = 2;
  ASSERT_EQ(walk_.walk(&runtime_, recorder_, false), kOk);
  std::uint64_t count = 0, bytes = 0;
  const auto types = records<wire::HeapType>(RecordKind::kHeapType);
  for (const auto& type : types) {
    EXPECT_EQ(type.count, 3U);
    count += type.count;
    bytes += type.bytes;
  }
  EXPECT_EQ(types.size(), 3U);
  EXPECT_EQ(count, kObjects);
  EXPECT_EQ(bytes, 16U * 45);
  const auto end = records<wire::HeapEnd>(RecordKind::kHeapEnd);
  ASSERT_EQ(end.size(), 1U);
  EXPECT_EQ(end[0].objects, kObjects);
  EXPECT_EQ(end[0].types, 3U);
  EXPECT_EQ(end[0].source, wire::HeapSource::kWalk);
  EXPECT_TRUE(records<wire::HeapEdge>(RecordKind::kHeapEdge).empty());
}

TEST_F(HeapWalkTest, CountsReferencesFromTypeToType) {
  ASSERT_EQ(walk_.walk(&runtime_, recorder_, true), kOk);
  std::uint64_t count = 0;
  const auto edges = records<wire::HeapEdge>(RecordKind::kHeapEdge);
  for (const auto& edge : edges) {
    EXPECT_NE(edge.from, edge.to);
    count += edge.count;
  }
  EXPECT_EQ(edges.size(), 3U);
  EXPECT_EQ(count, kObjects - 1);
  // The next walk begins anew.
  ASSERT_EQ(walk_.walk(&runtime_, recorder_, false), kOk);
  EXPECT_EQ(records<wire::HeapEdge>(RecordKind::kHeapEdge).size(), 3U);
  EXPECT_EQ(records<wire::HeapEnd>(RecordKind::kHeapEnd).back().objects, kObjects);
}

TEST_F(HeapWalkTest, ARefusedWalkTellsNothing) {
  set(info::kEnumerateGCHeapObjects, &refuse);
  EXPECT_EQ(walk_.walk(&runtime_, recorder_, false), kFail);
  EXPECT_EQ(g_suspended, 0);
  EXPECT_TRUE(records<wire::HeapEnd>(RecordKind::kHeapEnd).empty());
}

TEST_F(HeapWalkTest, TakesTheObjectsOfEventsAndNoMoreThanTheyHold) {
  const auto put = [](std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      g_event.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  };
  g_event.clear();
  put(0, 4);
  put(1000, 4);  // more than follow
  put(0, 2);
  for (const auto type : {0x2000, 0x2008, 0x2000}) {
    put(0x7000, 8);
    put(40, 8);
    put(static_cast<std::uint64_t>(type), 8);
    put(0, 8);
  }
  put(7, 5);  // cut
  ASSERT_EQ(walk_.walk_by_events(&runtime_), kOk);
  walk_.write(&runtime_, recorder_);
  EXPECT_EQ(g_keywords, 0x1980001U);
  EXPECT_FALSE(walk_.listens());
  const auto end = records<wire::HeapEnd>(RecordKind::kHeapEnd);
  ASSERT_EQ(end.size(), 1U);
  EXPECT_EQ(end[0].objects, 3U);
  EXPECT_EQ(end[0].bytes, 120U);
  EXPECT_EQ(end[0].types, 2U);
  EXPECT_EQ(end[0].source, wire::HeapSource::kEvents);
  EXPECT_GT(end[0].pause_ticks, 0U);
}

TEST_F(HeapWalkTest, EventsWithoutObjectsAreAFailure) {
  g_event.clear();
  EXPECT_LT(walk_.walk_by_events(&runtime_), 0);
}

TEST_F(HeapWalkTest, CountsEveryAllocationAndWhatIsMovedAndCalled) {
  ASSERT_TRUE(objects_.start(wire::kStartObjects | wire::kStartMoved | wire::kStartTransitions));
  EXPECT_EQ(objects_.mask(), mask::kObjectAllocated | mask::kEnableObjectAllocated |
                                 mask::kMonitorGc | mask::kCodeTransitions);
  for (Id object = 1; object <= kObjects; ++object)
    objects_.allocated(&runtime_, object, type_of(object));
  const Id from[] = {1, 2, 3}, to[] = {1, 20, 30};
  const std::size_t sizes[] = {5, 7, 9};
  objects_.moved(3, from, to, sizes);  // the first stays where it is
  objects_.called_native(0x100);
  objects_.called_native(0x100);
  objects_.called_managed(0x200);
  objects_.write(&runtime_, recorder_, Objects::When::kNow);
  const auto types = records<wire::HeapType>(RecordKind::kObjectsAllocated);
  ASSERT_EQ(types.size(), 3U);
  for (const auto& type : types) EXPECT_EQ(type.count, 3U);
  const auto moved = records<wire::HeapType>(RecordKind::kObjectsMoved);
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_EQ(moved[0].count, 2U);
  EXPECT_EQ(moved[0].bytes, 16U);
  const auto native = records<wire::HeapType>(RecordKind::kCallsToNative);
  ASSERT_EQ(native.size(), 1U);
  EXPECT_EQ(native[0].count, 2U);
  EXPECT_EQ(records<wire::HeapType>(RecordKind::kCallsToManaged).size(), 1U);
  // A tick within the same second is not written again.
  objects_.write(&runtime_, recorder_, Objects::When::kTick);
  EXPECT_EQ(records<wire::HeapType>(RecordKind::kObjectsMoved).size(), 1U);
}

TEST_F(HeapWalkTest, WithoutFeaturesNothingIsAskedForOrWritten) {
  ASSERT_TRUE(objects_.start(0));
  EXPECT_EQ(objects_.mask(), 0U);
  objects_.write(&runtime_, recorder_, Objects::When::kNow);
  EXPECT_TRUE(records<wire::HeapType>(RecordKind::kObjectsAllocated).empty());
}

}  // namespace
}  // namespace clrscope::agent
