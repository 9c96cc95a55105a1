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

  // Of a file that a process has mapped under this path. A process that has gone is no hindrance if
  // we see the file too.
  const NativeNames& of(pid_t process, const std::string& path);

 private:
  std::string symbol_folder_;
  std::map<std::string, NativeNames> files_;  // by device and inode; empty: not readable
  NativeNames none_;
};

}  // namespace clrscope::collect
