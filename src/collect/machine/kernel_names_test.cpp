#include "collect/machine/kernel_names.h"

#include <gtest/gtest.h>

#include "base/io.h"
#include "base/text.h"

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
  EXPECT_FALSE(names.find(0x1000));
  EXPECT_EQ(names.find(0xffffffff81000123)->last, 0xffffffffbfffffff);
}

TEST(KernelNames, ReadsThoseOfThisKernelWhereItShowsThem) {
  const auto names = KernelNames::read();
  if (names.empty()) GTEST_SKIP() << "kernel symbols are unavailable";
  const auto text = read_file("/proc/kallsyms");
  ASSERT_TRUE(text);
  const auto whole = KernelNames::parse(*text);
  std::size_t compared = 0;
  for (const auto line : split(*text, '\n')) {
    const auto address = parse_number("0x" + std::string{line.substr(0, line.find(' '))});
    if (!address || whole.find(*address).has_value() != names.find(*address).has_value()) continue;
    if (!whole.find(*address)) continue;
    EXPECT_EQ(names.find(*address)->name, whole.find(*address)->name);
    if (++compared == 10'000) break;
  }
  EXPECT_GT(compared, 100U);
}

TEST(KernelNames, IsEmptyWhereTheKernelHidesItsAddresses) {
  EXPECT_TRUE(
      KernelNames::parse("0000000000000000 T _stext\n0000000000000000 t do_work\n").empty());
  EXPECT_TRUE(KernelNames::parse("nonsense\n\n \n").empty());
}

}  // namespace
}  // namespace clrscope::collect
