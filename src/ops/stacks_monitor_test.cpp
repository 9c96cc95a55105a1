#include <gtest/gtest.h>

#include "base/json_reader.h"
#include "ops/stacks.h"

namespace clrscope::ops {
namespace {

using inspect::Frame;
using inspect::FrameKind;

inspect::Snapshot seen_with(std::vector<Frame> frames) {
  inspect::Snapshot seen{.pid = 7, .name = "shop"};
  inspect::ThreadView thread;
  thread.os.namespace_tid = 31;
  thread.os.name = "orders";
  thread.runtime.emplace();
  thread.frames = std::move(frames);
  seen.threads.push_back(thread);
  inspect::ThreadView native;
  native.os.namespace_tid = 32;
  seen.threads.push_back(native);
  return seen;
}

const JsonValue& frame_at(const JsonValue& json, std::size_t at) {
  return (*(*json.find("stacks")->array())[0].find("frames")->array())[at];
}

TEST(StacksMonitor, TakesMethodsApart) {
  const auto text = stacks_monitor_json(
      seen_with({{.method = "Shop.Cart.Add(int, System.Func`2[System.Int32,System.String])",
                  .module = "Shop",
                  .kind = FrameKind::kManaged},
                 {.method = "read", .module = "libc.so.6", .kind = FrameKind::kNative},
                 {.method = "System.Collections.Generic.List`1[System.__Canon]..ctor()",
                  .module = "System.Private.CoreLib",
                  .kind = FrameKind::kFramework}}));
  const auto json = read_json(text);
  ASSERT_TRUE(json);
  ASSERT_EQ(json->find("stacks")->array()->size(), 1U);  // no thread without managed code
  const auto& first = frame_at(*json, 0);
  EXPECT_EQ(*first.find("typeName")->text(), "Shop.Cart");
  EXPECT_EQ(*first.find("methodName")->text(), "Add");
  EXPECT_EQ(*first.find("moduleName")->text(), "Shop.dll");
  const auto& parameters = *first.find("parameterTypes")->array();
  ASSERT_EQ(parameters.size(), 2U);
  EXPECT_EQ(*parameters[1].text(), "System.Func`2[System.Int32,System.String]");
  const auto& second = frame_at(*json, 1);  // the native one is left out
  EXPECT_EQ(*second.find("typeName")->text(), "System.Collections.Generic.List`1[System.__Canon]");
  EXPECT_EQ(*second.find("methodName")->text(), ".ctor");
  EXPECT_TRUE(second.find("parameterTypes")->array()->empty());
  EXPECT_TRUE(json->find("threads"));  // ours beside
}

TEST(StacksMonitor, TakesOddNamesAsTheyAre) {
  const auto odd = {"", "(", "()", ".", "..ctor", "a(", "x]y.z(<)", "A.B(C"};
  std::vector<Frame> frames;
  for (const auto* name : odd) frames.push_back({.method = name, .kind = FrameKind::kManaged});
  EXPECT_TRUE(read_json(stacks_monitor_json(seen_with(frames))));
  const auto speedscope = read_json(stacks_speedscope(seen_with(frames)));
  ASSERT_TRUE(speedscope);
  EXPECT_EQ(speedscope->find("profiles")->array()->size(), 1U);
}

}  // namespace
}  // namespace clrscope::ops
