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

}  // namespace

const NativeNames& NameStore::of(pid_t process, const std::string& path, int fd) {
  const bool vdso = path == kVdso;
  struct stat status {};
  if (!vdso && ::fstat(fd, &status) != 0) return none_;
  const auto [slot, added] =
      files_.try_emplace(vdso ? path : fmt::format("{}:{}", status.st_dev, status.st_ino));
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

void NameStore::trim(std::size_t most) {
  std::size_t bytes = 0;
  for (const auto& [file, names] : files_) bytes += names.memory_bytes();
  if (bytes > most) files_.clear();
}

}  // namespace clrscope::collect
