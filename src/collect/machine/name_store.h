// The names of functions in files, native ones and those compiled ahead of time, file by file, made
// when first asked for.
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
  explicit NameStore(std::string symbol_folder) : symbol_folder_(std::move(symbol_folder)) {}

  // Of a file that a process has mapped under this path, open as `fd`: neither the process nor the
  // file's name needs to be there any more. "[vdso]" needs no descriptor.
  const NativeNames& of(pid_t process, const std::string& path, int fd);
  // Of an image with code compiled ahead of time, open as `fd`; null when it is none.
  ReadyToRunNames* of_image(int fd);
  // Forgets all when they take more than this; they are made again if need be.
  void trim(std::size_t most);

 private:
  std::string symbol_folder_;
  std::map<std::string, NativeNames> files_;  // by device and inode; empty: not readable
  std::map<std::string, std::optional<ReadyToRunNames>> images_;  // likewise
  NativeNames none_;
};

}  // namespace clrscope::collect
