#include "symbols/method_name.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

TEST(MethodName, HasCSharpWordsForBuiltInTypes) {
  EXPECT_EQ(readable_arguments("instance void  (int32,class System.String)"), "(int, string)");
  EXPECT_EQ(readable_arguments("unsigned int  (unsigned int8*,unsigned int,int)"),
            "(byte*, nuint, nint)");
  EXPECT_EQ(readable_arguments("void  (wchar&,class System.Object[],float64)"),
            "(char&, object[], double)");
}

TEST(MethodName, KeepsGenericsAndDropsTheirNoise) {
  EXPECT_EQ(readable_arguments("instance generic bool  (!0,!!1&,value class "
                               "System.ValueTuple`2<class System.String,int32>)"),
            "(!0, !!1&, System.ValueTuple`2<string,int>)");
}

TEST(MethodName, DropsModifiersOfArguments) {
  EXPECT_EQ(
      readable_arguments("void  (required_modifier System.Runtime.InteropServices.InAttribute "
                         "value class System.Guid&,bool)"),
      "(System.Guid&, bool)");
}

TEST(MethodName, ShowsNoAddresses) {
  EXPECT_EQ(readable_arguments("class System.Object  (pMT: 0x7f4ee254abb8<class System.Object>)"),
            "(?<object>)");
}

TEST(MethodName, HasCSharpWordsInPointersToFunctions) {
  EXPECT_EQ(readable_arguments("void  (fnptr class System.Object(void*)&,fnptr int32(int64))"),
            "(fnptr object(void*)&, fnptr int(long))");
}

TEST(MethodName, TakesTheLastListOfASignature) {
  EXPECT_EQ(readable_arguments("method void *(int32)  (method void *(int32),bool)"),
            "(method void*(int), bool)");
  EXPECT_EQ(readable_arguments(""), "");
  EXPECT_EQ(readable_arguments("no list)"), "");
}

TEST(MethodName, JoinsTypeNameAndArguments) {
  EXPECT_EQ(method_name("Shop.Cart+Line", "Add", "instance void  (int32)"),
            "Shop.Cart+Line.Add(int)");
  EXPECT_EQ(method_name("", "Main", "void  ()"), "Main()");
}

TEST(MethodName, TellsWhatACompiledExpressionCalls) {
  EXPECT_TRUE(is_lambda_name("dynamicClass.lambda_method94(?, object, ?)"));
  EXPECT_FALSE(is_lambda_name("dynamicClass.IL_STUB_PInvoke(int)"));
  EXPECT_FALSE(is_lambda_name("Shop.Cart.lambda_method1()"));
  EXPECT_EQ(lambda_name("dynamicClass.lambda_method94(?, object, ?)", "Shop.Cart.Add(int)"),
            "lambda_method94 → Shop.Cart.Add(int)");
}

TEST(ModuleName, LosesFolderAndExtension) {
  EXPECT_EQ(module_name("/app/Shop.Core.dll"), "Shop.Core");
  EXPECT_EQ(module_name("C:\\app\\Shop.ni.exe"), "Shop");
  EXPECT_EQ(module_name("/usr/lib/libc.so.6"), "libc.so.6");
}

TEST(ModuleName, TellsTheFrameworkFromTheApp) {
  EXPECT_TRUE(is_framework_module(
      "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.0/System.Private.CoreLib.dll"));
  EXPECT_TRUE(is_framework_module("/app/System.Text.Json.dll"));
  EXPECT_FALSE(is_framework_module("/app/Shop.dll"));
}

TEST(AsyncTitle, NamesMethodsLambdasAndLocalFunctions) {
  EXPECT_EQ(async_title("X+AsyncStateMachineBox`1[System.Int32,Shop.Cart+<Load>d__3]"),
            "Shop.Cart.Load");
  EXPECT_EQ(async_title("Shop.Cart+<>c+<<Load>b__3_0>d"), "Shop.Cart.Load (lambda)");
  EXPECT_EQ(async_title("Shop.Cart+<>c__DisplayClass3_0+<<Load>b__1>d"), "Shop.Cart.Load (lambda)");
  EXPECT_EQ(async_title("Program+<<<Main>$>g__Ask|0_1>d"), "Program.Main.Ask (local function)");
  EXPECT_EQ(async_title("Program+<<Main>$>d__0"), "Program.Main");
  EXPECT_EQ(async_title("Shop.Cart"), "Shop.Cart");
}

TEST(MethodTitle, NamesAsyncMethodsLambdasAndLocalFunctionsByTheirOwnName) {
  EXPECT_EQ(method_title("Shop.Orders+<PlaceAsync>d__3.MoveNext"), "Shop.Orders.PlaceAsync");
  EXPECT_EQ(method_title("Program+<>c+<<<Main>$>b__0_1>d.MoveNext"), "Program.Main (lambda)");
  EXPECT_EQ(method_title("Shop.Cart+<>c__DisplayClass3_0.<Load>b__1"), "Shop.Cart.Load (lambda)");
  EXPECT_EQ(method_title("Program.<<Main>$>g__Ask|0_1"), "Program.Main.Ask (local function)");
  EXPECT_EQ(method_title("Shop.Orders.Place"), "Shop.Orders.Place");
  EXPECT_EQ(method_title("Shop.Reader.MoveNext"), "Shop.Reader.MoveNext");
  for (const auto* odd :
       {"", ".<", ".<>b__", "+<>d.MoveNext", ".<x>g__|", ">b__.<", "<>g__.MoveNext"})
    (void)method_title(odd);  // whatever a process says
}

}  // namespace
}  // namespace clrscope
