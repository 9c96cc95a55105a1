#include "inspect/assembly_file.h"

#include <gtest/gtest.h>

#include "base/io.h"
#include "base/test_data.h"

namespace clrscope::inspect {
namespace {

std::string file(const std::string& name) {
  return *read_file(test_data(std::string{"assemblies/"} + name));
}

// shop_debug.dll and shop_release.dll are one source, compiled by csc -optimize- and -optimize+.
TEST(AssemblyFile, TellsADebugBuildFromARelease) {
  const auto debug = file("shop_debug.dll");
  const auto release = file("shop_release.dll");
  EXPECT_EQ(is_debug_build(as_bytes(debug)).value(), true);
  EXPECT_EQ(is_debug_build(as_bytes(release)).value(), false);
}

TEST(AssemblyFile, SurvivesWhateverTheFileHolds) {
  const auto whole = file("shop_debug.dll");
  for (std::size_t size = 0; size < whole.size(); size += 7)
    (void)is_debug_build(as_bytes(std::string_view{whole}.substr(0, size)));
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    (void)is_debug_build(as_bytes(damaged));
  }
  EXPECT_FALSE(is_debug_build(as_bytes(std::string_view{"MZ"})));
}

}  // namespace
}  // namespace clrscope::inspect
