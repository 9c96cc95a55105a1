#include "archive/state_folder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/private_folder.h"

namespace clrscope::archive {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

Result<UniqueFd> checked(Result<UniqueFd> made) {
  if (made) return made;
  return fail(made.error().code, "{}", made.error().what)
      .hint("{}choose another folder with --folder DIR",
            made.error().hint.empty() ? "" : made.error().hint + "; ");
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
  (void)TRY(checked(make_private_folder(path)));
  return {};
}

Result<int> FolderInState::held(bool make) const {
  return held_.with([&](std::vector<UniqueFd>& all) -> Result<int> {
    struct stat there {};
    if (!all.empty() && ::fstat(all.back().get(), &there) == 0 && there.st_nlink > 0)
      return all.back().get();
    const auto state =
        TRY(make ? checked(make_private_folder(state_)) : open_private_folder(state_));
    if (make && ::mkdirat(state.get(), name_.c_str(), kFolderMode) != 0 && errno != EEXIST)
      return fail(errc_of(errno), "cannot create the folder {}: {}", text(), errno_text());
    // Through the descriptor: the name of the state folder may be another's by now.
    auto inner = open_private_folder(fmt::format("/proc/self/fd/{}/{}", state.get(), name_));
    if (!inner) return fail(inner.error().code, "{}: {}", text(), inner.error().what);
    all.push_back(*std::move(inner));
    return all.back().get();
  });
}

Result<int> FolderInState::make() const { return held(true); }
Result<int> FolderInState::open() const { return held(false); }

Result<std::string> FolderInState::path_of(std::string_view file) const {
  return fmt::format("/proc/self/fd/{}/{}", TRY(open()), file);
}

std::vector<std::string> FolderInState::names() const {
  std::vector<std::string> out;
  const auto folder = open();
  if (!folder) return out;
  std::error_code none;
  for (const auto& entry :
       std::filesystem::directory_iterator{fmt::format("/proc/self/fd/{}", *folder), none})
    out.push_back(entry.path().filename().string());
  return out;
}

}  // namespace clrscope::archive
