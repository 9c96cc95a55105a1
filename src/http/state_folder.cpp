#include "http/state_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/bytes.h"
#include "base/fd.h"
#include "base/io.h"

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
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path{path}.parent_path(), problem);
  if (::mkdir(path.c_str(), 0700) == 0) return {};
  const int number = errno;
  struct stat there {};
  if (number != EEXIST || ::stat(path.c_str(), &there) != 0 || !S_ISDIR(there.st_mode))
    return fail(errc_of(number), "cannot make the folder {}: {}", path, errno_text(number))
        .hint("--folder DIR chooses another place");
  if (there.st_uid != ::geteuid() && ::geteuid() != 0)
    return fail(Errc::kDenied, "the folder {} belongs to user {}", path, there.st_uid)
        .hint("--folder DIR chooses another place");
  if ((there.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(Errc::kDenied, "others may write to the folder {}", path)
        .hint("chmod 700 {}; or --folder DIR", path);
  return {};
}

Result<> make_folder_in_state(const std::string& path) {
  TRY(make_state_folder(path.substr(0, path.rfind('/'))));
  return make_state_folder(path);
}

Result<> replace_file(const std::string& path, std::string_view text) {
  auto fresh = path + ".XXXXXX";
  UniqueFd fd{::mkostemp(fresh.data(), O_CLOEXEC)};  // 0600
  if (!fd) return fail(errc_of(errno), "cannot write {}: {}", path, errno_text());
  const auto written = write_all(fd.get(), as_bytes(text));
  if (!written || ::fsync(fd.get()) != 0 || ::rename(fresh.c_str(), path.c_str()) != 0) {
    const auto why = written ? errno_text() : written.error().what;
    ::unlink(fresh.c_str());
    return fail(Errc::kSystem, "cannot write {}: {}", path, why);
  }
  return {};
}

}  // namespace clrscope::http
