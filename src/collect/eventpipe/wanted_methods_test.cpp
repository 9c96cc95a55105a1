#include "collect/eventpipe/wanted_methods.h"

#include <gtest/gtest.h>

#include "base/io.h"
#include "base/test_data.h"
#include "collect/eventpipe/hit_addresses.h"

namespace clrscope::collect {
namespace {

constexpr const char* kRuntime = "Microsoft-Windows-DotNETRuntime";
constexpr const char* kRundown = "Microsoft-Windows-DotNETRuntimeRundown";

class Names : public ::testing::Test {
 protected:
  void method(const char* provider, std::uint32_t id, std::uint64_t start, std::uint32_t size) {
    ByteWriter payload;
    payload.write(std::uint64_t{1});
    payload.write(std::uint64_t{77});  // module
    payload.write(start);
    payload.write(size);
    look_at(provider, id, payload.bytes());
  }

  void module(const char* provider, std::uint32_t id, std::uint64_t number) {
    ByteWriter payload;
    payload.write(number);
    look_at(provider, id, payload.bytes());
  }

  // All that was named so far, by event ids.
  std::vector<std::uint32_t> named() const {
    std::vector<std::uint32_t> ids;
    for (const auto& name : names_) {
      EXPECT_EQ(name.type.provider, kRundown);
      ids.push_back(name.type.id);
    }
    return ids;
  }

  using Ids = std::vector<std::uint32_t>;
  WantedMethods wanted_;
  std::vector<NameEvent> names_;

 private:
  void look_at(const char* provider, std::uint32_t id, Bytes payload) {
    const EventType type{.provider = provider, .name = "", .id = id, .version = 2};
    Event event;
    event.type = &type;
    event.payload = payload;
    wanted_.look_at(event, names_);
  }
};

TEST_F(Names, AreThoseOfMethodsThatWereHit) {
  wanted_.want(std::vector<std::uint64_t>{0x1010, 0x1020, 0x3000});
  method(kRundown, 144, 0x1000, 0x100);
  method(kRundown, 144, 0x2000, 0x100);
  EXPECT_EQ(named(), Ids{143});
  EXPECT_TRUE(wanted_.any());
  method(kRuntime, 143, 0x3000, 0x10);
  EXPECT_EQ(named(), (Ids{143, 143}));
  EXPECT_FALSE(wanted_.any());
}

TEST_F(Names, AreWrittenOnce) {
  wanted_.want(std::vector<std::uint64_t>{0x1010});
  method(kRundown, 144, 0x1000, 0x100);
  wanted_.want(std::vector<std::uint64_t>{0x10ff, 0x1010});
  EXPECT_FALSE(wanted_.any());
  method(kRundown, 144, 0x1000, 0x100);
  EXPECT_EQ(named(), Ids{143});
  wanted_.want(std::vector<std::uint64_t>{0x1100});
  EXPECT_TRUE(wanted_.any());
}

TEST_F(Names, BringTheirModules) {
  module(kRuntime, 152, 78);
  wanted_.want(std::vector<std::uint64_t>{0x1010});
  method(kRundown, 144, 0x1000, 0x100);
  wanted_.add_modules(names_);
  EXPECT_EQ(named(), Ids{143});
  module(kRundown, 154, 77);
  module(kRuntime, 152, 77);
  wanted_.add_modules(names_);
  wanted_.add_modules(names_);
  EXPECT_EQ(named(), (Ids{143, 153}));
}

TEST_F(Names, OfAnEventThatIsCutShortAreNone) {
  wanted_.want(std::vector<std::uint64_t>{0});
  module(kRundown, 144, 1);
  EXPECT_TRUE(names_.empty());
}

TEST(HitAddresses, AreThoseOfAllStacksEachOnce) {
  const auto trace = read_file(test_data("nettrace/net10-v4.nettrace")).value();
  nettrace::Reader reader;
  HitAddresses hit;
  std::set<std::uint64_t> expected;
  const auto on_batch = [&](const nettrace::Batch& batch) {
    hit.add(batch, reader);
    for (const auto& event : batch.events) {
      const auto stack = reader.stack(event.stack);
      for (std::size_t i = 0; i < stack.size(); ++i) expected.insert(stack[i] - (i > 0 ? 1 : 0));
    }
  };
  EXPECT_TRUE(reader.feed(as_bytes(trace), on_batch));
  auto all = hit.take_new();
  EXPECT_GT(all.size(), 10U);
  EXPECT_EQ(all.size(), expected.size());
  EXPECT_EQ((std::set<std::uint64_t>{all.begin(), all.end()}), expected);
  EXPECT_TRUE(hit.take_new().empty());
}

}  // namespace
}  // namespace clrscope::collect
