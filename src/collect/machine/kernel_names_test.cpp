#include "collect/machine/kernel_names.h"

#include <gtest/gtest.h>

namespace clrscope::collect {
namespace {

TEST(KernelNames, FindsTheFunctionAroundAnAddress) {
  const auto names = KernelNames::parse(
      "ffffffff81000000 T _stext\n"
      "ffffffff81000000 T startup_64\n"
      "ffffffff81000100 t do_work\n"
      "ffffffff81000180 D some_data\n"
      "ffffffffc0000000 t module_fn\t[mod]\n");
  ASSERT_TRUE(names.find(0xffffffff81000123));
  EXPECT_EQ(names.find(0xffffffff81000123)->name, "do_work");
  EXPECT_EQ(names.find(0xffffffff81000000)->name, "_stext");
  EXPECT_EQ(names.find(0xffffffffc0000010)->name, "module_fn");
  EXPECT_EQ(names.find(0x1000), nullptr);
}

TEST(KernelNames, IsEmptyWhereTheKernelHidesItsAddresses) {
  EXPECT_TRUE(
      KernelNames::parse("0000000000000000 T _stext\n0000000000000000 t do_work\n").empty());
  EXPECT_TRUE(KernelNames::parse("nonsense\n\n \n").empty());
}

}  // namespace
}  // namespace clrscope::collect
