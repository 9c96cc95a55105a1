#include "inspect/dac/names.h"

#include <gtest/gtest.h>

namespace clrscope::inspect::dac {
namespace {

TEST(DacNames, LoseTheAssembliesOfTypeArguments) {
  EXPECT_EQ(readable_type("Shop.Cart+Line"), "Shop.Cart+Line");
  EXPECT_EQ(readable_type("System.Byte[]"), "System.Byte[]");
  EXPECT_EQ(readable_type("System.Int32[,]"), "System.Int32[,]");
  EXPECT_EQ(readable_type("System.Collections.Generic.Dictionary`2[[System.String, "
                          "System.Private.CoreLib],[Shop.Cart, Shop.Core]]"),
            "System.Collections.Generic.Dictionary`2[System.String,Shop.Cart]");
  EXPECT_EQ(readable_type("A`1[[B`1[[C, lib]], lib]]"), "A`1[B`1[C]]");
  EXPECT_EQ(readable_type("A`1[[System.Byte[], lib]][]"), "A`1[System.Byte[]][]");
  EXPECT_EQ(readable_type("A`1[System.__Canon]"), "A`1[System.__Canon]");
}

TEST(DacNames, SurviveBrokenTypes) {
  EXPECT_EQ(readable_type("A`1[[B, lib"), "A`1[B");
  EXPECT_EQ(readable_type("]]]A"), "]]]A");
  EXPECT_EQ(readable_type(""), "");
}

TEST(DacNames, HaveCSharpWordsForArguments) {
  EXPECT_EQ(readable_full_name("Shop.Cart.Add(Int32, System.String ByRef, Boolean)"),
            "Shop.Cart.Add(int, string&, bool)");
  EXPECT_EQ(readable_full_name("A.B(System.Collections.Generic.List`1<Int32>, Byte*, Char[])"),
            "A.B(System.Collections.Generic.List`1<int>, byte*, char[])");
  EXPECT_EQ(readable_full_name("DynamicClass.IL_STUB_PInvoke(IntPtr)"),
            "dynamicClass.IL_STUB_PInvoke(nint)");
  EXPECT_EQ(readable_full_name("nothing"), "nothing");
}

TEST(DacNames, PreferMetadataToTheLibrarysText) {
  EXPECT_EQ(readable_method({.found = true,
                             .type = "L`1[[System.String, lib]]",
                             .name = "Add",
                             .arguments = "(!0)",
                             .full_name = "L`1[[System.String, lib]].Add(System.String)"}),
            "L`1[System.String].Add(!0)");
  EXPECT_EQ(readable_method({.found = true, .full_name = "Stub.Run(Int32)"}), "Stub.Run(int)");
}

}  // namespace
}  // namespace clrscope::inspect::dac
