// The names of native functions, file by file, made when first asked for.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>

#include "symbols/native_names.h"

namespace clrscope::collect {

class NameStore {
 public:
  explicit NameStore(std::string symbol_folder) : symbol_folder_(std::move(symbol_folder)) {}

  // Of a file that a process has mapped under this path, open as `fd`: neither the process nor the
  // file's name needs to be there any more. "[vdso]" needs no descriptor.
  const NativeNames& of(pid_t process, const std::string& path, int fd);
  // Forgets all when they take more than this; they are made again if need be.
  void trim(std::size_t most);

 private:
  std::string symbol_folder_;
  std::map<std::string, NativeNames> files_;  // by device and inode; empty: not readable
  NativeNames none_;
};

}  // namespace clrscope::collect
