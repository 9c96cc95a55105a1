// What the runtime does by itself, told by a runtime that this test plays.
#include "agent/happenings.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/syscalls.h"
#include "wire/ring.h"

namespace clrscope::agent {
namespace {

using wire::Happening;
using wire::RecordKind;

HResult refuse() { return kFail; }

class HappeningsTest : public testing::Test {
 protected:
  HappeningsTest() {
    for (auto& slot : table_) slot = reinterpret_cast<Slot>(&refuse);
    EXPECT_TRUE(recorder_.open());
    for (auto& ring : recorder_.arena()->rings) readers_.emplace_back(ring);
  }
  std::uint64_t counted(Happening what) {
    return recorder_.arena()->header.happenings[static_cast<unsigned>(what)].load();
  }
  // The records of one kind that have come since the last call.
  template <class Fixed>
  std::vector<std::pair<Fixed, std::string>> records(RecordKind kind) {
    std::vector<std::pair<Fixed, std::string>> out;
    for (auto& reader : readers_)
      reader.drain([&](const void* bytes, std::uint32_t size) {
        const auto* record = wire::parse_record<Fixed>(kind, bytes, size);
        if (!record) return;
        std::string text;
        if constexpr (requires { record->frames; })
          text.assign(reinterpret_cast<const char*>(wire::frames_of(record)), record->frames * 4);
        out.emplace_back(*record, text);
      });
    return out;
  }

  Slot table_[info::kEnd15]{};
  ComObject runtime_{table_};
  Recorder recorder_;
  Happenings happenings_;
  HappeningContext in_{&runtime_, recorder_};
  std::vector<wire::RingReader> readers_;
};

TEST_F(HappeningsTest, ACollectionHasItsOldestGeneration) {
  const std::int32_t young[] = {1, 0, 0, 0, 0}, full[] = {1, 1, 1, 1, 1};
  happenings_.collection_started(in_, {young, 5}, 0);
  happenings_.collection_started(in_, {full, 5}, 1);
  const auto seen = records<wire::GcStarted>(RecordKind::kGcStarted);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].first.generation, 0U);
  EXPECT_EQ(seen[0].first.induced, 0U);
  EXPECT_EQ(seen[1].first.generation, 2U);
  EXPECT_EQ(seen[1].first.induced, 1U);
  EXPECT_EQ(counted(Happening::kCollections), 2U);
}

TEST_F(HappeningsTest, ASuspensionNeedsItsBeginning) {
  happenings_.suspend_finished();
  happenings_.resume_finished(in_);  // it began before anybody listened
  happenings_.suspend_started(1);
  happenings_.suspend_aborted();
  happenings_.resume_finished(in_);
  EXPECT_TRUE(records<wire::Suspension>(RecordKind::kSuspension).empty());
  happenings_.suspend_started(1);
  happenings_.suspend_finished();
  happenings_.resume_finished(in_);
  const auto seen = records<wire::Suspension>(RecordKind::kSuspension);
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].first.reason, 1U);
  EXPECT_GE(seen[0].first.ticks, seen[0].first.stop_ticks);
  EXPECT_EQ(counted(Happening::kSuspensions), 1U);
}

TEST_F(HappeningsTest, ALongThreadNameIsCut) {
  const std::u16string name(3000, u'n');
  happenings_.thread_named(in_, 7, name.data(), 3000);
  happenings_.thread_named(in_, 8, nullptr, 0);
  happenings_.thread_named(in_, 9, u"job-1", 5);
  const auto seen = records<wire::ThreadChange>(RecordKind::kThreadNamed);
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_GT(seen[0].first.name_bytes, 1000U);
  EXPECT_LE(seen[0].first.name_bytes, wire::kLongestText);
  EXPECT_EQ(seen[1].first.name_bytes, 0U);
  EXPECT_EQ(seen[2].second.substr(0, seen[2].first.name_bytes), "job-1");
}

TEST_F(HappeningsTest, CompilationsMayNest) {
  happenings_.compile_finished(in_, 1, kOk);  // it began before anybody listened
  happenings_.compile_started(1);
  happenings_.compile_started(2);
  happenings_.compile_finished(in_, 2, kFail);
  happenings_.compile_finished(in_, 1, kOk);
  const auto seen = records<wire::MethodCompiled>(RecordKind::kMethodCompiled);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].first.failed, 1U);
  EXPECT_EQ(seen[1].first.failed, 0U);
  EXPECT_GE(seen[1].first.ticks, seen[0].first.ticks);
  EXPECT_EQ(counted(Happening::kMethodsCompiled), 2U);
  for (Id id = 10; id < 100; ++id) happenings_.compile_started(id);  // none of them ends
  happenings_.compile_started(200);
  happenings_.compile_finished(in_, 200, kOk);
  EXPECT_EQ(counted(Happening::kMethodsCompiled), 3U);
}

}  // namespace
}  // namespace clrscope::agent
