// The name people know an application by, from how it was started.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace clrscope::ipc {

// "Shop.Api" from `dotnet Shop.Api.dll` or /app/Shop.Api; "dotnet build" for a command of the SDK.
// `executable` may be empty when it is hidden from us.
std::string app_name(const std::string& executable, const std::vector<std::string>& command_line);

// "10.0.12" from ".../shared/Microsoft.NETCore.App/10.0.12/libcoreclr.so"; empty for a runtime that
// lies beside its application.
std::string runtime_version_of(std::string_view library_path);

}  // namespace clrscope::ipc
