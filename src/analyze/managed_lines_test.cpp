#include "analyze/managed_lines.h"

#include <gtest/gtest.h>

#include "analyze/cpu_times.h"
#include "analyze/test_trace.h"
#include "base/test_data.h"
#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

// What tests/data/pdb/ made.
const std::string kModule = test_data("fuzz/pdb/shop.dll");
constexpr std::uint64_t kModuleId = 7;
constexpr std::uint64_t kMethodId = 0x5000;

class ManagedLinesTest : public testing::Test {
 protected:
  // Cart.Total: its IL from 0 is line 12, that of the loop's body line 15.
  ManagedLinesTest() {
    const auto file = PdbFile::open(test_data("fuzz/pdb/shop.pdb"));
    CHECK(file);
    id_ = file->pdb().id();
    for (std::uint32_t row = 1; row <= file->pdb().method_count(); ++row)
      for (const auto& point : file->pdb().points(0x06000000 | row))
        if (point.line == 15) {
          token_ = 0x06000000 | row;
          body_il_ = point.il_offset;
        }
  }

  static constexpr std::uint32_t kJitted = 8;
  void code(std::string_view provider, std::uint32_t id, TestTrace::At at, std::uint64_t start,
            std::uint64_t method_id = kMethodId, std::uint32_t flags = kJitted) {
    trace_.event(provider, id, 1, at,
                 Payload{}
                     .add(method_id)
                     .add(kModuleId)
                     .add(start)
                     .add(0x100U)
                     .add(token_)
                     .add(flags)
                     .text("Shop.Cart")
                     .text("Total")
                     .text("int32  (int32)")
                     .add(std::uint16_t{0}));
  }
  // Machine code from 0 on is line 12, from `body` on line 15.
  void map(std::string_view provider, std::uint32_t id, TestTrace::At at, std::uint32_t body,
           std::uint64_t method_id = kMethodId) {
    trace_.event(provider, id, 1, at,
                 Payload{}
                     .add(method_id)
                     .add(std::uint64_t{0})
                     .add(std::uint8_t{0})
                     .add(std::uint16_t{2})
                     .add(0U)
                     .add(body_il_)
                     .add(0U)
                     .add(body)
                     .add(std::uint16_t{0}));
  }
  void module(TestTrace::At at) {
    Payload payload;
    payload.add(kModuleId).add(std::uint64_t{0}).add(0U).add(0U).text(kModule).text("");
    payload.add(std::uint16_t{0});
    for (std::size_t i = 0; i < 16; ++i) payload.add(id_[i]);
    trace_.event(kRundownName, 154, 2, at, payload.add(1U).text("/build/Shop.pdb"));
  }
  std::vector<std::string> places() {
    trace_.read_into(times_);
    std::vector<std::string> all;
    for (const auto id : times_.ranked(false)) all.push_back(place_text(times_.frames().frame(id)));
    std::sort(all.begin(), all.end());
    return all;
  }

  PdbId id_{};
  std::uint32_t token_ = 0;
  std::uint32_t body_il_ = 0;
  TestTrace trace_;
  SourceLines lines_;
  CpuTimes times_{&lines_};
};

using Places = std::vector<std::string>;

TEST_F(ManagedLinesTest, TakesTheMapThatComesBeforeItsCodeInARundown) {
  trace_.universal("cpu", {.time = 1}, 1, {0x1005});
  trace_.universal("cpu", {.time = 2}, 1, {0x1045});
  map(kRundownName, 150, {.time = 10}, 0x40);
  code(kRundownName, 144, {.time = 11}, 0x1000);
  module({.time = 12});
  EXPECT_EQ(places(), (Places{"Shop.cs:12", "Shop.cs:15"}));
}

TEST_F(ManagedLinesTest, TakesTheMapThatFollowsALoad) {
  code(kRuntimeName, 143, {.time = 1}, 0x1000);
  map(kRuntimeName, 190, {.time = 2}, 0x40);
  trace_.universal("cpu", {.time = 3}, 1, {0x1045});
  module({.time = 12});
  EXPECT_EQ(places(), Places{"Shop.cs:15"});
}

TEST_F(ManagedLinesTest, KeepsTheMapsOfAMethodsBodiesApart) {
  code(kRuntimeName, 143, {.time = 1}, 0x1000);
  map(kRuntimeName, 190, {.time = 2}, 0x40);
  code(kRuntimeName, 143, {.time = 3}, 0x2000);
  map(kRuntimeName, 190, {.time = 4}, 0x80);
  trace_.universal("cpu", {.time = 5}, 1, {0x1045});
  trace_.universal("cpu", {.time = 6}, 1, {0x2045});
  module({.time = 12});
  EXPECT_EQ(places(), (Places{"Shop.cs:12", "Shop.cs:15"}));
}

TEST_F(ManagedLinesTest, DoesNotGiveAMapToTheCodeOfAnotherThreadOrMethod) {
  trace_.universal("cpu", {.time = 1}, 1, {0x1045});
  trace_.universal("cpu", {.time = 2}, 1, {0x2045});
  map(kRundownName, 150, {.time = 10, .thread = 1}, 0x40);
  code(kRundownName, 144, {.time = 11, .thread = 2}, 0x1000);
  code(kRundownName, 144, {.time = 12, .thread = 1}, 0x2000, kMethodId + 8);
  module({.time = 13});
  EXPECT_EQ(places(), Places{""});
}

TEST_F(ManagedLinesTest, FindsTheLineOfACallByTheByteBeforeItsReturn) {
  map(kRundownName, 150, {.time = 10}, 0x40);
  code(kRundownName, 144, {.time = 11}, 0x1000);
  code(kRundownName, 144, {.time = 12}, 0x9000, kMethodId + 8);
  module({.time = 13});
  trace_.universal("cpu", {.time = 14}, 1, {0x9000, 0x1040});
  EXPECT_EQ(places(), (Places{"", "Shop.cs:12"}));
}

// A sample at 0x45 of a method whose map the recording itself tells.
class RecordedMapTest : public ManagedLinesTest {
 protected:
  void record(std::uint32_t flags, std::uint16_t natives) {
    trace_.universal("cpu", {.time = 1}, 1, {0x1045});
    code(kRundownName, 144, {.time = 10}, 0x1000, kMethodId, flags);
    module({.time = 12});
    Payload payload;
    payload.varuint(0x1000).add(std::uint16_t{2}).add(0U).add(body_il_);
    trace_.event(kSymbolsProvider, 1, 0, {.time = 13}, payload.add(natives).add(0U).add(0x40U));
  }
};

TEST_F(RecordedMapTest, TellsTheLinesOfPrecompiledCode) {
  record(0, 2);
  EXPECT_EQ(places(), Places{"Shop.cs:15"});
  EXPECT_TRUE(lines_.missing().empty());  // nobody asked for the image
}

TEST_F(RecordedMapTest, IsNotBelievedOfJittedCode) {
  record(kJitted, 2);
  EXPECT_EQ(places(), Places{""});
}

TEST_F(RecordedMapTest, IsNotBelievedWhenItIsCutShort) {
  record(0, 3);
  EXPECT_EQ(places(), Places{""});
}

TEST_F(ManagedLinesTest, DoesNotBelieveAModuleThatWasBuiltAnew) {
  id_[3] ^= 1;
  map(kRundownName, 150, {.time = 10}, 0x40);
  code(kRundownName, 144, {.time = 11}, 0x1000);
  module({.time = 12});
  trace_.universal("cpu", {.time = 14}, 1, {0x1045});
  EXPECT_EQ(places(), Places{""});
  ASSERT_EQ(lines_.missing().size(), 1u);
  EXPECT_EQ(lines_.missing()[0].module, kModule);
}

}  // namespace
}  // namespace clrscope::analyze
