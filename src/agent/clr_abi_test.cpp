// The numbers of the slots, against those that are known from the published interfaces.
#include "agent/clr_abi.h"

#include <gtest/gtest.h>

namespace clrscope::agent {
namespace {

TEST(ClrAbi, InfoInterfacesEndWhereTheRuntimeEndsThem) {
  const unsigned ends[] = {info::kEnd1,  info::kEnd2,  info::kEnd3,  info::kEnd4,  info::kEnd5,
                           info::kEnd6,  info::kEnd7,  info::kEnd8,  info::kEnd9,  info::kEnd10,
                           info::kEnd11, info::kEnd12, info::kEnd13, info::kEnd14, info::kEnd15};
  const unsigned known[] = {36, 57, 71, 81, 83, 84, 87, 90, 93, 99, 101, 108, 111, 114, 115};
  for (std::size_t i = 0; i < std::size(known); ++i) EXPECT_EQ(ends[i], known[i]) << i + 1;
}

TEST(ClrAbi, CallbackInterfacesEndWhereTheRuntimeEndsThem) {
  const unsigned ends[] = {callback::kEnd1, callback::kEnd2,  callback::kEnd3, callback::kEnd4,
                           callback::kEnd5, callback::kEnd6,  callback::kEnd7, callback::kEnd8,
                           callback::kEnd9, callback::kEnd10, callback::kEnd11};
  const unsigned known[] = {72, 80, 83, 89, 90, 91, 92, 94, 95, 97, 98};
  for (std::size_t i = 0; i < std::size(known); ++i) EXPECT_EQ(ends[i], known[i]) << i + 1;
}

TEST(ClrAbi, MethodsHaveTheirKnownSlots) {
  EXPECT_EQ(info::kDoStackSnapshot, 36U);
  EXPECT_EQ(info::kEnumThreads, 71U);
  EXPECT_EQ(info::kSuspendRuntime, 97U);
  EXPECT_EQ(info::kEventPipeStartSession, 101U);
  EXPECT_EQ(info::kEventPipeCreateProvider, 104U);
  EXPECT_EQ(info::kEnumerateGCHeapObjects, 114U);
  EXPECT_EQ(info::kRequestReJITWithInliners, 96U);
  EXPECT_EQ(info::kRequestRevert, 74U);
  EXPECT_EQ(callback::kInitialize, 3U);
  EXPECT_EQ(callback::kInitializeForAttach, 80U);
  EXPECT_EQ(callback::kGetReJITParameters, 84U);
  EXPECT_EQ(callback::kEventPipeEventDelivered, 95U);
  EXPECT_EQ(callback::kLoadAsNotificationOnly, 97U);
}

}  // namespace
}  // namespace clrscope::agent
