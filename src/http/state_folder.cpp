#include "http/state_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "base/private_folder.h"

namespace clrscope::http {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

std::string state_folder_path(const std::string& told) {
  if (!told.empty()) return told;
  if (const auto state = variable("XDG_STATE_HOME"); state.starts_with('/'))
    return state + "/clrscope";
  if (const auto home = variable("HOME");
      home.starts_with('/') && ::access(home.c_str(), W_OK) == 0)
    return home + "/.local/state/clrscope";
  const auto temporary = variable("TMPDIR");
  return fmt::format("{}/clrscope-{}", temporary.empty() ? "/tmp" : temporary, ::geteuid());
}

Result<> make_state_folder(const std::string& path) {
  const auto made = make_private_folder(path);
  if (made) return {};
  return fail(made.error().code, "{}", made.error().what)
      .hint("{}--folder DIR chooses another place",
            made.error().hint.empty() ? "" : made.error().hint + "; ");
}

Result<> make_folder_in_state(const std::string& path) {
  TRY(make_state_folder(path.substr(0, path.rfind('/'))));
  return make_state_folder(path);
}

Result<> replace_file(const std::string& path, std::string_view text) {
  const auto slash = path.rfind('/');
  const auto folder = TRY(open_private_folder(path.substr(0, slash)));
  return replace_private_file(folder.get(), path.substr(slash + 1), text);
}

}  // namespace clrscope::http
