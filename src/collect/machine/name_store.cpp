#include "collect/machine/name_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/proc.h"

namespace clrscope::collect {

const NativeNames& NameStore::of(pid_t process, const std::string& path) {
  struct stat status {};
  const auto root = proc_root(process);
  auto file = root + path;
  const bool alive = ::stat(file.c_str(), &status) == 0;
  if (!alive && ::stat((file = path).c_str(), &status) != 0) return none_;
  const auto [slot, added] = files_.try_emplace(fmt::format("{}:{}", status.st_dev, status.st_ino));
  if (!added) return slot->second;
  auto names =
      load_native_names(file, {.root = alive ? root : "", .symbol_folder = symbol_folder_});
  if (names)
    slot->second = std::move(*names);
  else
    log(LogLevel::kDebug, "{}", names.error().what);
  return slot->second;
}

}  // namespace clrscope::collect
