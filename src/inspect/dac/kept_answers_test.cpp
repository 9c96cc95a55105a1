#include "inspect/dac/kept_answers.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace clrscope::inspect::dac {
namespace {

constexpr std::uint64_t kStart = 0x10000, kSize = 0x4000;
constexpr std::uint64_t kTable = kStart + 0x100, kClass = kStart + 0x300;
constexpr std::uint64_t kMethodDesc = kStart + 0x1100, kCode = kStart + 0x2108;

// Two pages and more of a made-up process.
class FakeMemory final : public MemorySource {
 public:
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    if (address < kStart || address >= kStart + bytes_.size()) return 0;
    const auto offset = static_cast<std::size_t>(address - kStart);
    const auto size = std::min(out.size(), bytes_.size() - offset);
    std::memcpy(out.data(), bytes_.data() + offset, size);
    return size;
  }
  void put(std::uint64_t address, std::uint64_t word) {
    std::memcpy(bytes_.data() + (address - kStart), &word, sizeof word);
  }

 private:
  std::vector<std::uint8_t> bytes_ = std::vector<std::uint8_t>(kSize);
};

struct DacKeptAnswers : testing::Test {
  DacKeptAnswers() {
    memory.put(kTable + kClassAt, kClass);
    memory.put(kClass + kTableOfClassAt, kTable);
    kept.keep(TypeInfo{.method_table = kTable, .name = "Shop.Cart"});
    kept.keep(method());
    kept.keep_il_offset(kCode + 5, 17);
  }
  static MethodInfo method() {
    return {.name = "Shop.Cart.Add()",
            .module = "/app/shop.dll",
            .token = 0x06000001,
            .method_desc = kMethodDesc,
            .code_start = kCode,
            .code_size = 64};
  }

  FakeMemory memory;
  KeptAnswers kept{memory};
};

TEST_F(DacKeptAnswers, StayWhileTheirBytesAreTheSame) {
  memory.put(kStart + 0x3000, 42);  // elsewhere
  kept.look_again();
  ASSERT_NE(kept.type(kTable), nullptr);
  EXPECT_EQ(kept.type(kTable)->name, "Shop.Cart");
  ASSERT_NE(kept.method(kCode + 63), nullptr);
  EXPECT_EQ(kept.method(kCode + 63)->name, "Shop.Cart.Add()");
  EXPECT_EQ(kept.il_offset(kCode + 5), std::optional{std::optional{17U}});
  EXPECT_EQ(kept.method(kCode + 64), nullptr);
}

TEST_F(DacKeptAnswers, ATypeWhosePlaceHasAnotherIsForgotten) {
  memory.put(kTable + 24, 0x7777);  // another module
  kept.look_again();
  EXPECT_EQ(kept.type(kTable), nullptr);
}

TEST_F(DacKeptAnswers, AMethodWhoseCodeWasReplacedIsForgotten) {
  memory.put(kCode - 8, 0x7777);  // another header
  kept.look_again();
  EXPECT_EQ(kept.method(kCode), nullptr);
  EXPECT_EQ(kept.il_offset(kCode + 5), std::nullopt);
}

TEST_F(DacKeptAnswers, AMethodWhoseHandleIsAnotherMethodsIsForgotten) {
  memory.put(kMethodDesc, 0x7777);
  kept.look_again();
  EXPECT_EQ(kept.method(kCode), nullptr);
}

TEST_F(DacKeptAnswers, AMethodMadeAtRunTimeIsKeptForOneLook) {
  auto dynamic = method();
  dynamic.module.clear();
  kept.keep(dynamic);
  EXPECT_NE(kept.method(kCode), nullptr);
  kept.look_again();
  EXPECT_EQ(kept.method(kCode), nullptr);
}

TEST_F(DacKeptAnswers, WhatCannotBeReadIsNotKept) {
  kept.keep(TypeInfo{.method_table = kStart + kSize + 8, .name = "Shop.Gone"});
  EXPECT_NE(kept.type(kStart + kSize + 8), nullptr);
  kept.look_again();
  EXPECT_EQ(kept.type(kStart + kSize + 8), nullptr);
}

TEST_F(DacKeptAnswers, ATableIsRecognizedByItsClass) {
  EXPECT_TRUE(kept.may_be_table(kTable));
  EXPECT_FALSE(kept.may_be_table(kTable + 8));
  EXPECT_FALSE(kept.may_be_table(kTable + 4));
  EXPECT_FALSE(kept.may_be_table(kStart + kSize));
  const auto shared = kStart + 0x500;  // of an instance of a generic type
  memory.put(shared + kClassAt, kTable | 1);
  kept.look_again();
  EXPECT_TRUE(kept.may_be_table(shared));
}

}  // namespace
}  // namespace clrscope::inspect::dac
