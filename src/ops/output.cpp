#include "ops/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "base/private_folder.h"

namespace clrscope::ops {
namespace {

std::string local_time_stamp() {
  const auto now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &local);
  return text;
}

// A process may be named anything; a file may not.
std::string file_safe(std::string name) {
  for (auto& c : name)
    if (c == '/' || c == '\0' || static_cast<unsigned char>(c) < 0x20) c = '_';
  return name.empty() ? "trace" : name;
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool is_special(const std::string& path) {
  struct stat status {};
  return path == "-" || (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

}  // namespace

std::string compressed_name(std::string path) {
  if (!path.ends_with(".zst") && !is_special(path)) path += ".zst";
  return path;
}

std::string expand_output(const std::string& wanted, const Process& process,
                          const std::string& extension) {
  const auto standard =
      fmt::format("{}_{}{}", file_safe(process.name), local_time_stamp(), extension);
  if (wanted.empty()) return standard;
  if (is_folder(wanted)) return fmt::format("{}/{}", wanted, standard);
  std::string path;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const char next = wanted[i] == '%' && i + 1 < wanted.size() ? wanted[i + 1] : '\0';
    if (next == 'p')
      path += fmt::format("{}", process.pid), ++i;
    else if (next == 'n')
      path += file_safe(process.name), ++i;
    else if (next == 't')
      path += local_time_stamp(), ++i;
    else
      path += wanted[i];
  }
  return path;
}

Result<UniqueFd> open_output(const std::string& path) {
  if (path == "-") {
    if (::isatty(STDOUT_FILENO))
      return fail(Errc::kUsage, "a trace cannot be written to a terminal")
          .hint("use -o FILE, or redirect stdout to a file or a pipe");
    return UniqueFd{::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)};
  }
  UniqueFd fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode)};
  if (!fd)
    return fail(errc_of(errno), "cannot write {}: {}", path, errno_text())
        .hint("choose another place with -o FILE");
  return fd;
}

std::string folder_of(const std::string& path) {
  if (path == "-") {
    const char* tmp = std::getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
  }
  const auto folder = std::filesystem::path{path}.parent_path().string();
  return folder.empty() ? "." : folder;
}

}  // namespace clrscope::ops
