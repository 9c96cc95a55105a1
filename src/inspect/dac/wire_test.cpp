#include "inspect/dac/wire.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/fd.h"

namespace clrscope::inspect::dac {
namespace {

using namespace std::chrono_literals;

struct Pair {
  UniqueFd one, other;
  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    one.reset(ends[0]);
    other.reset(ends[1]);
  }
};

RuntimeThread some_thread() {
  return {.address = 0x1000,
          .os_id = 42,
          .managed_id = 7,
          .name = "orders",
          .background = true,
          .pool = true,
          .exception_type = "System.Exception",
          .exception = 0x2000,
          .managed_object = 0x3000};
}

std::vector<std::uint8_t> threads_answer(std::size_t count) {
  ByteWriter out;
  out.write_varuint(count);
  for (std::size_t i = 0; i < count; ++i) put(out, some_thread());
  return std::move(out).take();
}

TEST(DacWire, CarriesThreadsAsTheyAre) {
  const auto threads = read_threads(threads_answer(3));
  ASSERT_TRUE(threads) << threads.error().what;
  ASSERT_EQ(threads->size(), 3U);
  const auto& thread = threads->at(2);
  EXPECT_EQ(thread.os_id, 42U);
  EXPECT_EQ(thread.managed_id, 7U);
  EXPECT_EQ(thread.name, "orders");
  EXPECT_TRUE(thread.background && thread.pool);
  EXPECT_FALSE(thread.dead || thread.unstarted || thread.cooperative);
  EXPECT_EQ(thread.exception_type, "System.Exception");
  EXPECT_EQ(thread.managed_object, 0x3000U);
}

TEST(DacWire, RefusesAnAnswerCutAnywhere) {
  const auto whole = threads_answer(2);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(read_threads(Bytes{whole}.first(size))) << size;
}

TEST(DacWire, RefusesMoreThanItClaimsToHave) {
  ByteWriter out;
  out.write_varuint(kMostThreads);
  EXPECT_FALSE(read_threads(out.bytes()));
  out.clear();
  out.write_varuint(~std::uint64_t{0});
  EXPECT_FALSE(read_frames(out.bytes()));
  auto longer = threads_answer(1);
  longer.push_back(0);
  EXPECT_FALSE(read_threads(longer));
}

TEST(DacWire, RefusesATextBeyondItsBound) {
  ByteWriter out;
  out.write(std::uint64_t{1});
  out.write_varuint(kMostText + 1);
  out.put(std::string(kMostText + 1, 'x'));
  EXPECT_FALSE(read_type(out.bytes()));
}

TEST(DacWire, CarriesTypesMethodsFramesAndLocks) {
  ByteWriter type;
  put(type, TypeInfo{.method_table = 9,
                     .name = "Shop.Cart",
                     .base_name = "System.Object",
                     .module = "/app/Shop.dll",
                     .base_size = 24,
                     .fields = {{.name = "_sum", .offset = 8, .element_type = 8}}});
  const auto read = read_type(type.bytes());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, "Shop.Cart");
  EXPECT_EQ(read->module, "/app/Shop.dll");
  ASSERT_NE(read->field("_sum"), nullptr);
  EXPECT_EQ(read->field("_sum")->offset, 8U);

  ByteWriter frames;
  frames.write_varuint(1);
  put(frames, RawFrame{.pc = 5,
                       .sp = 6,
                       .managed = true,
                       .method = {.found = true, .type = "T", .name = "M", .code_size = 99}});
  const auto walked = read_frames(frames.bytes());
  ASSERT_TRUE(walked);
  EXPECT_EQ(walked->at(0).method.name, "M");
  EXPECT_EQ(walked->at(0).method.code_size, 99U);

  ByteWriter statics;
  statics.write_varuint(1);
  put(statics, RawStatic{.type = "Shop.Cart", .field = "s_all", .address = 77});
  const auto fields = read_statics(statics.bytes());
  ASSERT_TRUE(fields);
  EXPECT_EQ(fields->at(0).field, "s_all");
  EXPECT_EQ(fields->at(0).address, 77U);

  ByteWriter locks;
  put(locks, SyncBlocks{.known = {{.object = 3, .held = true, .owner_os_id = 4, .waiters = 2}},
                        .unread = 7});
  const auto blocks = read_sync_blocks(locks.bytes());
  ASSERT_TRUE(blocks);
  EXPECT_TRUE(blocks->known.at(0).held);
  EXPECT_EQ(blocks->known.at(0).waiters, 2U);
  EXPECT_EQ(blocks->unread, 7U);
}

TEST(DacWire, SaysWhenThePeerSendsTooMuch) {
  const Pair pair;
  ASSERT_TRUE(send(pair.one.get(), Kind::kAnswer, std::vector<std::uint8_t>(100), Deadline{10s}));
  const auto got = receive(pair.other.get(), 99, Deadline{10s});
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Errc::kCorrupt);
}

TEST(DacWire, DoesNotWaitForAPeerThatNeverReads) {
  const Pair pair;
  const std::vector<std::uint8_t> much(8 << 20);
  const auto sent = send(pair.one.get(), Kind::kMemory, much, Deadline{1ms});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Errc::kTimeout);
}

TEST(DacWire, SaysWhenThePeerIsAway) {
  Pair pair;
  pair.other.reset();
  EXPECT_EQ(send(pair.one.get(), Kind::kThreads, {}, Deadline{10s}).error().code, Errc::kGone);
  EXPECT_EQ(receive(pair.one.get(), 99, Deadline{10s}).error().code, Errc::kGone);
}

TEST(DacWire, ShowsNoControlCharactersOfARefusal) {
  EXPECT_EQ(read_printable(as_bytes("a\x1b[31mb\n")), "a [31mb ");
  EXPECT_EQ(read_printable(as_bytes(std::string(9999, 'x'))).size(), 500U);
}

}  // namespace
}  // namespace clrscope::inspect::dac
