#include "ipc/app_name.h"

#include <gtest/gtest.h>

namespace clrscope::ipc {
namespace {

using Line = std::vector<std::string>;

TEST(AppName, IsTheEntryAssemblyUnderTheSharedHost) {
  EXPECT_EQ(app_name("/usr/share/dotnet/dotnet", Line{"dotnet", "/app/Shop.Api.dll", "x.dll"}),
            "Shop.Api");
}

TEST(AppName, SkipsTheOptionsOfTheHost) {
  EXPECT_EQ(
      app_name("/usr/share/dotnet/dotnet", Line{"dotnet", "exec", "--runtimeconfig", "/c/A.dll",
                                                "--fx-version", "8.0.1", "/app/Worker.dll"}),
      "Worker");
}

TEST(AppName, IsTheFileNameOfAnAppHost) {
  EXPECT_EQ(app_name("/app/Shop.Api", Line{"./Shop.Api", "--urls", "Other.dll"}), "Shop.Api");
}

TEST(AppName, NamesTheSdkCommandInsteadOfTheHost) {
  EXPECT_EQ(app_name("/usr/bin/dotnet", Line{"dotnet", "build", "-c", "Release"}), "dotnet build");
}

TEST(AppName, TakesTheFirstArgumentWhenTheExecutableIsHidden) {
  EXPECT_EQ(app_name("", Line{"/srv/Legacy", "-v"}), "Legacy");
  EXPECT_EQ(app_name("", Line{"dotnet", "Legacy.dll"}), "Legacy");
}

TEST(AppName, IsEmptyWhenNothingIsKnown) { EXPECT_EQ(app_name("", Line{}), ""); }

TEST(RuntimeVersion, IsTheFolderOfTheSharedFramework) {
  EXPECT_EQ(
      runtime_version_of("/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so"),
      "10.0.12");
}

TEST(RuntimeVersion, IsUnknownForARuntimeBesideItsApplication) {
  EXPECT_EQ(runtime_version_of("/app/libcoreclr.so"), "");
}

}  // namespace
}  // namespace clrscope::ipc
