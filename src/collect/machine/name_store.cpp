#include "collect/machine/name_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/proc.h"
#include "unwind/code_map.h"

namespace clrscope::collect {
namespace {

constexpr const char* kVdso = "[vdso]";

Result<NativeNames> names_of_vdso() {
  const auto file = TRY(ElfFile::parse(unwind::own_vdso()));
  return NativeNames::of(file);
}

std::string key_of(const struct stat& status) {
  return fmt::format("{}:{}", status.st_dev, status.st_ino);
}

}  // namespace

const NativeNames& NameStore::of(pid_t process, const std::string& path, int fd) {
  const bool vdso = path == kVdso;
  struct stat status {};
  if (!vdso && ::fstat(fd, &status) != 0) return none_;
  const auto [slot, added] = files_.try_emplace(vdso ? path : key_of(status));
  if (!added) return slot->second;
  const auto root = proc_root(process);
  const bool visible = ::access((root + "/").c_str(), F_OK) == 0;
  auto names =
      vdso ? names_of_vdso()
           : load_native_names(
                 fmt::format("/proc/self/fd/{}", fd),
                 {.root = visible ? root : "", .known_as = path, .symbol_folder = symbol_folder_});
  if (names)
    slot->second = std::move(*names);
  else
    log(LogLevel::kDebug, "{}", names.error().what);
  return slot->second;
}

ReadyToRunNames* NameStore::of_image(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return nullptr;
  const auto [slot, added] = images_.try_emplace(key_of(status));
  if (added) {
    if (auto names = ReadyToRunNames::open(fmt::format("/proc/self/fd/{}", fd)))
      slot->second.emplace(std::move(*names));
    else
      log(LogLevel::kDebug, "{}", names.error().what);
  }
  return slot->second ? &*slot->second : nullptr;
}

void NameStore::trim(std::size_t most) {
  std::size_t bytes = 0;
  for (const auto& [file, names] : files_) bytes += names.memory_bytes();
  for (const auto& [file, names] : images_) bytes += names ? names->memory_bytes() : 0;
  if (bytes <= most) return;
  files_.clear();
  images_.clear();
}

}  // namespace clrscope::collect
