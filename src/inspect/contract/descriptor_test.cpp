#include "inspect/contract/descriptor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace clrscope::inspect {
namespace {

constexpr std::string_view kSmall =
    R"({"version":0,"baseline":"empty","types":{"Thread":{"!":600,"Id":16,"LinkNext":[112,"pointer"]},)"
    R"("UnwindInfo":{}},"globals":{"ThreadStore":[[1],"pointer"],"Mask":["0x7","uint8"],)"
    R"("OperatingSystem":["linux","string"]},"contracts":{"Thread":1,"ExecutionManager":2}})";
constexpr std::array<std::uint64_t, 2> kPointers{0, 0x7f0012345678};

TEST(Descriptor, TellsOffsetsVariablesNumbersAndContracts) {
  const auto made = Descriptor::parse(kSmall, kPointers);
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->offset("Thread", "Id"), 16u);
  EXPECT_EQ(made->offset("Thread", "LinkNext"), 112u);
  EXPECT_EQ(made->size("Thread"), 600u);
  EXPECT_EQ(made->offset("Thread", "Name"), std::nullopt);
  EXPECT_EQ(made->address("ThreadStore"), 0x7f0012345678u);
  EXPECT_EQ(made->value("Mask"), 7u);
  EXPECT_EQ(made->value("OperatingSystem"), std::nullopt);
  EXPECT_EQ(made->contract("ExecutionManager"), 2u);
  EXPECT_EQ(made->contract("GC"), std::nullopt);
}

TEST(Descriptor, NamesAContractOfAnotherVersion) {
  const auto made = Descriptor::parse(kSmall, kPointers);
  ASSERT_TRUE(made);
  EXPECT_TRUE(made->require("Thread", 1));
  const auto other = made->require("ExecutionManager", 1);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().what, "unknown contract ExecutionManager version 2");
  EXPECT_FALSE(made->require("GC", 1));
}

TEST(Descriptor, RefusesWhatMakesNoSense) {
  const auto refused = [](std::string_view json) { return !Descriptor::parse(json, kPointers); };
  EXPECT_TRUE(refused("{}"));
  EXPECT_TRUE(refused(R"({"version":1,"types":{},"globals":{},"contracts":{}})"));
  EXPECT_TRUE(refused(R"({"version":0,"baseline":"v9","types":{},"globals":{},"contracts":{}})"));
  EXPECT_TRUE(refused(R"({"version":0,"types":{"A":{"b":-1}},"globals":{},"contracts":{}})"));
  EXPECT_TRUE(refused(R"({"version":0,"types":{"A":{"b":99999999}},"globals":{},"contracts":{}})"));
  EXPECT_TRUE(
      refused(R"({"version":0,"types":{},"globals":{"A":[[2],"pointer"]},"contracts":{}})"));
  EXPECT_TRUE(refused(R"({"version":0,"types":{},"globals":{},"contracts":{"A":"x"}})"));
}

TEST(Needs, NamesTheFirstThatIsMissing) {
  const auto made = Descriptor::parse(kSmall, kPointers);
  ASSERT_TRUE(made);
  Needs needs{*made};
  EXPECT_EQ(needs.field("Thread", "Id"), 16u);
  EXPECT_TRUE(needs.met());
  needs.field("Thread", "Frame");
  needs.variable("AppDomain");
  const auto met = needs.met();
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().what, "the runtime's data descriptor has no Thread.Frame");
}

TEST(Descriptor, IsReadFromMemoryAndCheckedBeforeUse) {
  struct Header {
    char magic[8] = {'D', 'N', 'C', 'C', 'D', 'A', 'C', 0};
    std::uint32_t flags = 1;
    std::uint32_t json_size = kSmall.size();
    const char* json = kSmall.data();
    std::uint32_t pointer_count = 2;
    std::uint32_t padding = 0;
    const std::uint64_t* pointers = kPointers.data();
  } header;
  auto source = open_live_memory(getpid());
  ASSERT_TRUE(source) << source.error().what;
  const auto at = reinterpret_cast<std::uint64_t>(&header);
  const auto read = [&] { return Descriptor::read(*std::make_unique<Memory>(**source), at); };
  const auto made = read();
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(made->types(), 2u);
  header.json_size = 0xffffffff;
  EXPECT_FALSE(read());
  header.json_size = kSmall.size();
  header.pointer_count = 1;
  EXPECT_FALSE(read());
  header.magic[0] = 'X';
  EXPECT_FALSE(read());
}

}  // namespace
}  // namespace clrscope::inspect
