// The names of functions in files, native ones and those compiled ahead of time, file by file, made
// when first asked for. Those asked for last are kept, up to a limit; others are made again if need
// be.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>

#include "symbols/native_names.h"
#include "symbols/ready_to_run_names.h"

namespace clrscope::collect {

class NameStore {
 public:
  NameStore(std::string symbol_folder, std::size_t most_bytes)
      : symbol_folder_(std::move(symbol_folder)), most_bytes_(most_bytes) {}

  // Of a file that a process has mapped under this path, open as `fd`: neither the process nor the
  // file's name needs to be there any more. "[vdso]" needs no descriptor. Lives until the next
  // call.
  const NativeNames& of(pid_t process, const std::string& path, int fd);
  // Of an image with code compiled ahead of time, open as `fd`; null when it is none. Likewise.
  ReadyToRunNames* of_image(int fd);

  // Nothing is asked for a while: gives back what can be had again at no price.
  void rest() const;

  std::size_t memory_bytes() const;
  std::size_t made() const { return made_; }  // how often names of a file were made

 private:
  struct File {
    NativeNames names{};                     // empty: not readable, or an image
    std::optional<ReadyToRunNames> image{};  // nothing: not readable, or no image
    std::uint64_t asked = 0;

    std::size_t memory_bytes() const {
      return names.memory_bytes() + (image ? image->memory_bytes() : 0);
    }
  };
  Result<NativeNames> load(pid_t process, const std::string& path, int fd) const;
  void make_room(const File& kept);

  std::string symbol_folder_;
  std::size_t most_bytes_;
  std::map<std::string, File> files_;  // by device and inode
  std::uint64_t asked_ = 0;            // so often
  std::size_t made_ = 0;
  NativeNames none_;
};

}  // namespace clrscope::collect
