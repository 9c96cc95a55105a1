#include "nettrace/payload_events.h"

#include <gtest/gtest.h>

namespace clrscope::nettrace {
namespace {

EventType runtime_event(std::uint32_t id, std::uint32_t version) {
  EventType type;
  type.provider = "Microsoft-Windows-DotNETRuntime";
  type.id = id;
  type.version = version;
  return type;
}

void put(ByteWriter& out, std::u16string_view text) {
  for (const auto c : text) out.write(c);
  out.write<char16_t>(0);
}

TEST(KnownEvents, AreKnownByProviderAndId) {
  EXPECT_EQ(known_event(runtime_event(1, 2)), Known::kGcStart);
  EXPECT_EQ(known_event(runtime_event(143, 2)), Known::kMethodLoad);
  EXPECT_EQ(known_event(runtime_event(9999, 0)), Known::kNone);
  auto type = runtime_event(144, 1);
  type.provider += "Rundown";
  EXPECT_EQ(known_event(type), Known::kMethodRundown);
  type.provider = "Somebody";
  EXPECT_EQ(known_event(type), Known::kNone);
}

TEST(KnownEvents, ReadsACollectionOfEachVersion) {
  ByteWriter out;
  for (const std::uint32_t number : {7U, 2U, 4U, 1U}) out.write(number);
  out.write<std::uint16_t>(0);
  out.write<std::uint64_t>(99);
  const auto newest = read_payload<GcStart>(out.bytes(), runtime_event(1, 2), 8);
  ASSERT_TRUE(newest.has_value());
  EXPECT_EQ(newest->number, 7U);
  EXPECT_EQ(newest->generation, 2U);
  EXPECT_EQ(newest->reason, 4U);
  EXPECT_EQ(newest->type, 1U);
  EXPECT_EQ(newest->client_sequence, 99U);
  const auto oldest = read_payload<GcStart>(out.bytes(), runtime_event(1, 0), 8);
  ASSERT_TRUE(oldest.has_value());
  EXPECT_EQ(oldest->reason, 2U);
  EXPECT_FALSE(read_payload<GcStart>(out.bytes().first(20), runtime_event(1, 2), 8).has_value());
}

TEST(KnownEvents, ReadsAMethodWithItsTier) {
  ByteWriter out;
  for (const std::uint64_t number : {1ULL, 2ULL, 0x7f0000001000ULL}) out.write(number);
  out.write<std::uint32_t>(64);
  out.write<std::uint32_t>(0x06000001);
  out.write<std::uint32_t>(8 | 4U << 7);
  put(out, u"Ns.Type");
  put(out, u"Method");
  put(out, u"void  ()");
  out.write<std::uint16_t>(0);
  out.write<std::uint64_t>(3);
  const auto method = read_payload<MethodEvent>(out.bytes(), runtime_event(143, 2), 8);
  ASSERT_TRUE(method.has_value());
  EXPECT_EQ(method->start, 0x7f0000001000U);
  EXPECT_EQ(method->size, 64U);
  EXPECT_EQ(utf8_of(method->name_space), "Ns.Type");
  EXPECT_EQ(utf8_of(method->name), "Method");
  EXPECT_EQ(method->tier(), 4U);
  EXPECT_EQ(method->rejit, 3U);
  for (std::size_t size = 0; size < out.size(); ++size)
    EXPECT_FALSE(
        read_payload<MethodEvent>(out.bytes().first(size), runtime_event(143, 2), 8).has_value());
}

TEST(KnownEvents, ReadsContentionOfA32BitProcess) {
  ByteWriter out;
  out.write<std::uint8_t>(1);
  out.write<std::uint16_t>(0);
  out.write<std::uint32_t>(0x10);
  out.write<std::uint32_t>(0x20);
  out.write<std::uint64_t>(4242);
  const auto start = read_payload<ContentionStart>(out.bytes(), runtime_event(81, 2), 4);
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->lock, 0x10U);
  EXPECT_EQ(start->object, 0x20U);
  EXPECT_EQ(start->owner_thread, 4242U);
  EXPECT_EQ(start->flags, 1);
}

TEST(KnownEvents, ReadsWhatTheCollectorCommitted) {
  ByteWriter out;
  put(out, u"CommittedUsage");
  out.write<std::uint32_t>(42);
  out.write<std::uint16_t>(1);
  for (const std::uint64_t number : {10ULL, 20ULL, 30ULL, 40ULL, 50ULL}) out.write(number);
  out.write<std::uint16_t>(0);
  const auto event = read_payload<GcDynamic>(out.bytes(), runtime_event(39, 0), 8);
  ASSERT_TRUE(event.has_value());
  const auto usage = committed_usage(*event);
  ASSERT_TRUE(usage.has_value());
  EXPECT_EQ(usage->in_use, 10U);
  EXPECT_EQ(usage->in_free, 30U);
  EXPECT_EQ(usage->bookkeeping, 50U);
  EXPECT_FALSE(committed_usage({}).has_value());
}

TEST(KnownEvents, ReadsTheTaskEventsByTheirIds) {
  EventType type;
  type.provider = "System.Threading.Tasks.TplEventSource";
  ByteWriter out;
  for (const std::int32_t number : {1, 2, 3, 2, 5}) out.write(number);
  type.id = 10;
  ASSERT_EQ(known_event(type), Known::kTaskWaitBegin);
  const auto wait = read_payload<TaskEvent>(out.bytes(), type, 8);
  ASSERT_TRUE(wait.has_value());
  EXPECT_EQ(wait->task, 3);
  EXPECT_EQ(wait->behavior, 2);
  EXPECT_EQ(wait->continuation, 5);
  type.id = 9;
  EXPECT_TRUE(read_payload<TaskEvent>(out.bytes(), type, 8)->exceptional);
}

}  // namespace
}  // namespace clrscope::nettrace
