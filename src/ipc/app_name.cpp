#include "ipc/app_name.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"

namespace clrscope::ipc {
namespace {

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

bool is_managed_file(std::string_view path) {
  return path.size() > 4 && (equal_ignoring_case(path.substr(path.size() - 4), ".dll") ||
                             equal_ignoring_case(path.substr(path.size() - 4), ".exe"));
}

bool is_shared_host(std::string_view file) { return file == "dotnet" || file == "corerun"; }

// Options of the host that take a value of their own.
bool takes_value(std::string_view option) {
  static constexpr std::array<std::string_view, 9> kOptions{"--additionalprobingpath",
                                                            "--additional-deps",
                                                            "--depsfile",
                                                            "--runtimeconfig",
                                                            "--fx-version",
                                                            "--roll-forward",
                                                            "--roll-forward-on-no-candidate-fx",
                                                            "-c",
                                                            "-p"};
  return std::ranges::find(kOptions, option) != kOptions.end();
}

std::string name_under_host(const std::vector<std::string>& command_line) {
  for (std::size_t i = 1; i < command_line.size(); ++i) {
    const std::string_view argument = command_line[i];
    if (takes_value(argument)) {
      ++i;
      continue;
    }
    if (argument == "exec" || argument.starts_with('-')) continue;
    const auto file = file_name(argument);
    if (is_managed_file(file)) return std::string{file.substr(0, file.size() - 4)};
    return "dotnet " + std::string{file};  // a command of the SDK
  }
  return "dotnet host";
}

}  // namespace

std::string app_name(const std::string& executable, const std::vector<std::string>& command_line) {
  std::string_view host = file_name(executable);
  if (host.empty() && !command_line.empty()) host = file_name(command_line[0]);
  if (is_shared_host(host)) return name_under_host(command_line);
  if (is_managed_file(host)) host.remove_suffix(4);
  return std::string{host};
}

std::string runtime_version_of(std::string_view library_path) {
  const auto folder = library_path.substr(0, library_path.rfind('/'));
  const auto parent = folder.substr(0, folder.rfind('/'));
  if (file_name(parent) != "Microsoft.NETCore.App") return {};
  return std::string{file_name(folder)};
}

}  // namespace clrscope::ipc
