#include "collect/agent/requests.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/agent/request_records.h"
#include "wire/arena.h"

namespace clrscope::collect {
namespace {

// What a process passes.
struct RequestMemory {
  UniqueFd fd{::memfd_create("requests", MFD_ALLOW_SEALING | MFD_CLOEXEC)};
  wire::Requests* requests = nullptr;

  RequestMemory() {
    EXPECT_EQ(::ftruncate(fd.get(), wire::kRequestsBytes), 0);
    void* at =
        ::mmap(nullptr, wire::kRequestsBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    requests = static_cast<wire::Requests*>(at);
    requests->header.magic = wire::kRequestsMagic;
    requests->header.protocol = wire::kProtocol;
    requests->header.bytes = wire::kRequestsBytes;
  }
  ~RequestMemory() { ::munmap(requests, wire::kRequestsBytes); }
  RequestMemory(const RequestMemory&) = delete;
  RequestMemory& operator=(const RequestMemory&) = delete;

  void seal() const { EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0); }
  UniqueFd copy() const { return UniqueFd{::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)}; }
};

TEST(AgentRequests, RefusesMemoryThatIsNotTheirs) {
  const RequestMemory memory;
  EXPECT_FALSE(AgentRequests::map(memory.copy()));  // could shrink
  memory.seal();
  memory.requests->header.protocol = 99;
  EXPECT_FALSE(AgentRequests::map(memory.copy()));
  memory.requests->header.protocol = wire::kProtocol;
  EXPECT_TRUE(AgentRequests::map(memory.copy()));
}

TEST(AgentRequests, WritesAnOrder) {
  const RequestMemory memory;
  memory.seal();
  auto requests = AgentRequests::map(memory.copy());
  ASSERT_TRUE(requests);
  ASSERT_TRUE(requests->set_order(
      {.probability = 0.25, .budget_percent = 2, .floor_seconds = 7, .debug_key = "look"}));
  const auto& order = memory.requests->order;
  EXPECT_EQ(order.flags, std::uint32_t{wire::kSampleFixed});
  EXPECT_EQ(order.probability_ppm, 250'000U);
  EXPECT_EQ(order.budget_ppm, 20'000U);
  EXPECT_EQ(order.floor_seconds, 7U);
  EXPECT_EQ((std::string{reinterpret_cast<const char*>(order.key), order.key_bytes}), "look");
  ASSERT_TRUE(requests->set_order({}));
  EXPECT_EQ(order.flags, 0U);
  EXPECT_FALSE(requests->set_order({.debug_key = std::string(65, 'k')}));
}

TEST(AgentRequests, DrainsAllRingsAndCountsDamage) {
  const RequestMemory memory;
  memory.seal();
  auto requests = AgentRequests::map(memory.copy());
  ASSERT_TRUE(requests);
  for (const auto ring : {0U, wire::kRequestRings - 1}) {
    wire::RingWriter writer;
    writer.open(&memory.requests->rings[ring]);
    const auto record = flow_record(1, 2, ring);
    std::memcpy(writer.reserve(record.size()), record.bytes(), record.size());
    writer.commit(record.size());
  }
  memory.requests->rings[5].head = 3;
  std::vector<std::uint32_t> threads;
  requests->drain([&](const void* bytes, std::uint32_t size) {
    EXPECT_EQ(size, sizeof(wire::FlowRecord));
    threads.push_back(static_cast<const wire::RecordHeader*>(bytes)->thread);
  });
  EXPECT_EQ(threads, (std::vector<std::uint32_t>{0, wire::kRequestRings - 1}));
  EXPECT_EQ(requests->damaged(), 1U);
}

TEST(AgentRequests, BelievesNoCounter) {
  const RequestMemory memory;
  memory.seal();
  memory.requests->header.probability_ppm = 0xffff'ffff;
  memory.requests->header.cost_ns = ~std::uint64_t{0};
  memory.requests->header.seen = 7;
  const auto requests = AgentRequests::map(memory.copy());
  ASSERT_TRUE(requests);
  const auto counts = requests->counts();
  EXPECT_EQ(counts.probability, 1.0);
  EXPECT_GT(counts.cost.count(), 0);
  EXPECT_EQ(counts.seen, 7U);
}

}  // namespace
}  // namespace clrscope::collect
