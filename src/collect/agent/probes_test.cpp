#include "collect/agent/probes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "wire/arena.h"

namespace clrscope::collect {
namespace {

// What a process passes: with the layout of probes unless a test says otherwise.
struct Memory {
  UniqueFd fd{::memfd_create("probes", MFD_ALLOW_SEALING | MFD_CLOEXEC)};
  wire::Probes* probes = nullptr;

  explicit Memory(std::uint32_t bytes = wire::kProbesBytes) {
    EXPECT_EQ(::ftruncate(fd.get(), bytes), 0);
    void* at = ::mmap(nullptr, wire::kProbesBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    probes = static_cast<wire::Probes*>(at);
    if (bytes != wire::kProbesBytes) return;
    probes->header.magic = wire::kProbesMagic;
    probes->header.protocol = wire::kProtocol;
    probes->header.bytes = wire::kProbesBytes;
  }
  ~Memory() { ::munmap(probes, wire::kProbesBytes); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  void seal() const { EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0); }
  UniqueFd copy() const { return UniqueFd{::fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)}; }
};

TEST(AgentProbes, RefusesMemoryThatIsNotTheirs) {
  {
    const Memory memory;
    EXPECT_FALSE(AgentProbes::map(memory.copy()));  // could shrink
  }
  {
    const Memory memory{4096};
    memory.seal();
    EXPECT_FALSE(AgentProbes::map(memory.copy()));
  }
  const Memory memory;
  memory.seal();
  memory.probes->header.magic = 1;
  EXPECT_FALSE(AgentProbes::map(memory.copy()));
  memory.probes->header.magic = wire::kProbesMagic;
  EXPECT_TRUE(AgentProbes::map(memory.copy()));
}

TEST(AgentProbes, WritesAnOrder) {
  const Memory memory;
  memory.seal();
  auto probes = AgentProbes::map(memory.copy());
  ASSERT_TRUE(probes);
  ASSERT_TRUE(probes->set_order({.include = {"Shop", "*.Save"},
                                 .exclude = {"Shop.Logging"},
                                 .smallest_il = 20,
                                 .share_ppm = 7,
                                 .with_accessors = true}));
  const auto& order = memory.probes->order;
  EXPECT_EQ((std::string{order.patterns, order.pattern_bytes}), "+Shop\n+*.Save\n-Shop.Logging\n");
  EXPECT_EQ(order.smallest_il, 20U);
  EXPECT_EQ(order.flags, std::uint32_t{wire::kWithAccessors});
  EXPECT_FALSE(probes->set_order({.include = {""}}));
  EXPECT_FALSE(probes->set_order({.include = {"a\n+b"}}));
  EXPECT_FALSE(probes->set_order({.include = {std::string(9000, 'a')}}));
}

TEST(AgentProbes, AddsUpThreadsAndBelievesNoNumber) {
  const Memory memory;
  memory.seal();
  auto probes = AgentProbes::map(memory.copy());
  ASSERT_TRUE(probes);
  auto& shared = *memory.probes;
  std::memcpy(shared.text, "Shop.Buy", 8);
  shared.methods[0].name_size = 8;
  shared.methods[0].state = static_cast<std::uint32_t>(wire::ProbeState::kReverted);
  for (int thread = 0; thread < 2; ++thread) {
    auto& counter = shared.counters[thread][0];
    counter.enters = counter.leaves = 5;
    counter.total = 100;
    counter.longest = 40 + static_cast<unsigned>(thread);
    counter.shortest = ~std::uint64_t{7};
  }
  shared.methods[1].state = 77;
  shared.methods[1].name_offset = 0xffff'ffff;
  shared.methods[1].name_size = 0xffff'ffff;
  shared.methods[1].counter = 0xffff'fff0;
  shared.header.methods = 0xffff'ffff;
  shared.header.threads = 0xffff'ffff;
  const auto methods = probes->methods();
  ASSERT_EQ(methods.size(), 2U);
  EXPECT_EQ(methods[0].name, "Shop.Buy");
  EXPECT_EQ(methods[0].leaves, 10U);
  EXPECT_EQ(methods[0].total, 200U);
  EXPECT_EQ(methods[0].longest, 41U);
  EXPECT_EQ(methods[0].shortest, 7U);
  EXPECT_EQ(methods[1].name, "");
  EXPECT_EQ(methods[1].leaves, 0U);
}

}  // namespace
}  // namespace clrscope::collect
