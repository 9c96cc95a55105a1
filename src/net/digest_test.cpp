#include "net/digest.h"

#include <gtest/gtest.h>

namespace clrscope::net {
namespace {

TEST(Digest, IsTheOneOfTheStandard) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Digest, ComparesWholeTexts) {
  EXPECT_TRUE(equal_in_constant_time("same", "same"));
  EXPECT_FALSE(equal_in_constant_time("same", "samE"));
  EXPECT_FALSE(equal_in_constant_time("same", "sam"));
  EXPECT_TRUE(equal_in_constant_time("", ""));
}

}  // namespace
}  // namespace clrscope::net
