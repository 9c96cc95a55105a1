#include "symbols/method_map.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TraceTime at(std::int64_t ns) { return TraceTime{std::chrono::nanoseconds{ns}}; }

class MethodMapTest : public testing::Test {
 protected:
  // Texts of the code live in texts_.
  MethodCode code(std::uint64_t start, std::uint32_t size, const char* name, std::uint64_t id = 1) {
    texts_.push_back(utf16_of(name));
    const auto& text = texts_.back();
    return {.start = start,
            .size = size,
            .method_id = id,
            .module_id = 7,
            .name = {reinterpret_cast<const std::uint8_t*>(text.data()), text.size() * 2}};
  }
  std::string name_at(std::uint64_t address, std::int64_t time) {
    const auto* method = map_.find(address, at(time)).method;
    return method ? map_.name(*method) : "";
  }

  MethodMap map_;
  std::deque<std::u16string> texts_;
};

TEST_F(MethodMapTest, NamesEveryByteOfAMethodAndNoOther) {
  map_.known(code(0x1000, 0x10, "A"));
  EXPECT_EQ(name_at(0x0fff, 5), "");
  EXPECT_EQ(name_at(0x1000, 5), "A");
  EXPECT_EQ(name_at(0x100f, 5), "A");
  EXPECT_EQ(name_at(0x1010, 5), "");
}

TEST_F(MethodMapTest, TellsApartWhatTookTheSamePlaceLater) {
  map_.loaded(code(0x1000, 0x40, "First", 1), at(10));
  map_.unloaded(code(0x1000, 0x40, "First", 1), at(20));
  map_.loaded(code(0x1010, 0x10, "Second", 2), at(30));
  map_.known(code(0x1010, 0x10, "Second", 2));
  EXPECT_EQ(name_at(0x1018, 15), "First");
  EXPECT_EQ(name_at(0x1018, 35), "Second");
  EXPECT_EQ(name_at(0x1030, 35), "First") << "the nearest in time when none was there";
}

TEST_F(MethodMapTest, TakesEventsInAnyOrder) {
  map_.known(code(0x1000, 0x10, "Second", 2));
  map_.loaded(code(0x1000, 0x10, "Second", 2), at(30));
  map_.unloaded(code(0x1000, 0x10, "First", 1), at(20));
  EXPECT_EQ(name_at(0x1000, 1), "First");
  EXPECT_EQ(name_at(0x1000, 31), "Second");
}

TEST_F(MethodMapTest, CountsALoadAndItsRundownOnce) {
  map_.loaded(code(0x1000, 0x10, "A"), at(30));
  map_.known(code(0x1000, 0x10, "A"));
  EXPECT_TRUE(map_.find(0x1000, at(1)).always);
  EXPECT_EQ(map_.size(), 1U);
}

TEST_F(MethodMapTest, GrowsAfterItWasAsked) {
  map_.loaded(code(0x1000, 0x10, "A", 1), at(10));
  EXPECT_EQ(name_at(0x1000, 15), "A");
  map_.unloaded(code(0x1000, 0x10, "A", 1), at(20));
  map_.loaded(code(0x1000, 0x10, "B", 2), at(25));
  EXPECT_EQ(name_at(0x1000, 15), "A");
  EXPECT_EQ(name_at(0x1000, 26), "B");
}

TEST_F(MethodMapTest, IgnoresRangesThatWrapAround) {
  map_.known(code(~0ULL - 4, 0x10, "A"));
  EXPECT_EQ(name_at(~0ULL, 1), "");
  EXPECT_EQ(name_at(3, 1), "");
}

}  // namespace
}  // namespace clrscope
