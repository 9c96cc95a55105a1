// A file written by a process of which only the socket is visible: in the folder of the socket,
// which is the temporary folder of the process and shared with us.
//
// The process may be hostile: the name is random, no link is followed, and only a regular file is
// read.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope::ops {

class SharedFile {
 public:
  // The socket as we see it; its folder as the process calls it.
  static Result<SharedFile> beside(const std::string& socket, const std::string& folder);

  const std::string& path() const { return path_; }  // as the process sees it
  Result<UniqueFd> open() const;
  std::uint64_t size() const;  // 0 when it is not there
  void remove() const;

 private:
  SharedFile() = default;

  UniqueFd folder_;
  std::string name_;
  std::string path_;
};

}  // namespace clrscope::ops
