#include "analyze/cpu_kinds.h"

#include <gtest/gtest.h>

namespace clrscope::analyze {
namespace {

TEST(CpuKinds, KnowsTheFilesOfTheRuntime) {
  EXPECT_EQ(
      kind_of_native("/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.0/libcoreclr.so", ""),
      FrameKind::kRuntime);
  EXPECT_EQ(kind_of_native("/app/libclrjit.so", ""), FrameKind::kJit);
  EXPECT_EQ(kind_of_native("/app/libclrgc.so", ""), FrameKind::kGc);
  EXPECT_EQ(kind_of_native("/app/libcoreclr.so", "WKS::gc_heap::mark_object"), FrameKind::kGc);
  EXPECT_EQ(kind_of_native("/app/libSystem.Native.so", "SystemNative_Read"), FrameKind::kRuntime);
  EXPECT_EQ(kind_of_native("/usr/lib/libssl.so.3", "SSL_read"), FrameKind::kNative);
}

TEST(CpuKinds, TakesManagedImagesForManagedCode) {
  EXPECT_EQ(kind_of_native("/app/Shop.dll", ""), FrameKind::kManaged);
  EXPECT_EQ(kind_of_native("/app/System.Private.CoreLib.dll", ""), FrameKind::kFramework);
}

TEST(CpuKinds, KnowsThreadsThatCollect) {
  EXPECT_TRUE(is_gc_thread(".NET Server GC"));
  EXPECT_TRUE(is_gc_thread(".NET BGC"));
  EXPECT_FALSE(is_gc_thread(".NET TP Worker"));
  EXPECT_FALSE(is_gc_thread("my GC"));
}

TEST(CpuKinds, ReadsMethodsAsPerfMapsWriteThem) {
  const auto frame = frame_of_jit_symbol("instance void [Shop] Shop.Cart::Add(int32)[Tier0]");
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->method, "Shop.Cart.Add(int)");
  EXPECT_EQ(frame->module, "Shop");
  EXPECT_EQ(frame->kind, FrameKind::kManaged);
  EXPECT_EQ(frame_of_jit_symbol("? [Shop] Shop.Cart::Add(int, nint)")->method,
            "Shop.Cart.Add(int, nint)");
  EXPECT_FALSE(frame_of_jit_symbol("std::vector<int>::push_back(int&&)"));
  EXPECT_FALSE(frame_of_jit_symbol("operator new[](unsigned long)"));
}

}  // namespace
}  // namespace clrscope::analyze
