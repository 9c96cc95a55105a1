#include "collect/machine/name_store.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/proc.h"
#include "unwind/code_map.h"

namespace clrscope::collect {
namespace {

constexpr std::size_t kMostFiles = 4096;  // those without names count too

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
  auto& file = slot->second;
  file.asked = ++asked_;
  if (!added) return file.names;
  ++made_;
  if (auto names = load(process, path, fd))
    file.names = std::move(*names);
  else
    log(LogLevel::kDebug, "{}", names.error().what);
  make_room(file);
  return file.names;
}

Result<NativeNames> NameStore::load(pid_t process, const std::string& path, int fd) const {
  if (path == kVdso) return names_of_vdso();
  const auto root = proc_root(process);
  const bool visible = ::access((root + "/").c_str(), F_OK) == 0;
  return load_native_names(
      fmt::format("/proc/self/fd/{}", fd),
      {.root = visible ? root : "", .known_as = path, .symbol_folder = symbol_folder_});
}

ReadyToRunNames* NameStore::of_image(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return nullptr;
  const auto [slot, added] = files_.try_emplace(key_of(status));
  auto& file = slot->second;
  file.asked = ++asked_;
  if (added) {
    ++made_;
    if (auto names = ReadyToRunNames::open(fmt::format("/proc/self/fd/{}", fd)))
      file.image.emplace(std::move(*names));
    else
      log(LogLevel::kDebug, "{}", names.error().what);
    make_room(file);
  }
  return file.image ? &*file.image : nullptr;
}

// Those that were not asked for the longest go first.
void NameStore::make_room(const File& kept) {
  for (auto bytes = memory_bytes(); bytes > most_bytes_ || files_.size() > kMostFiles;) {
    const bool any = files_.size() > kMostFiles;
    auto oldest = files_.end();
    for (auto it = files_.begin(); it != files_.end(); ++it) {
      if (&it->second == &kept || (!any && it->second.memory_bytes() == 0)) continue;
      if (oldest == files_.end() || it->second.asked < oldest->second.asked) oldest = it;
    }
    if (oldest == files_.end()) return;
    bytes -= oldest->second.memory_bytes();
    files_.erase(oldest);
  }
}

void NameStore::rest() const {
  for (const auto& [key, file] : files_)
    if (file.image) file.image->rest();
}

std::size_t NameStore::memory_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, file] : files_) bytes += file.memory_bytes();
  return bytes;
}

}  // namespace clrscope::collect
