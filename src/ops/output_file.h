// A file that appears under its name only when it is whole.
//
// It is written without a name where the file system can do that, so that nothing is left behind
// whatever ends us; else beside its place as NAME.XXXXXX.part. What exists under the name is
// replaced at the end. Names that are no regular files (a pipe, /dev/null) are written directly.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope::ops {

class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);  // "-" is standard output
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();  // what was not committed is gone

  int fd() const { return fd_.get(); }
  Result<> commit();

 private:
  enum class Kind { kDirect, kNameless, kBeside };
  OutputFile(std::string path, std::string part, UniqueFd fd, Kind kind)
      : path_(std::move(path)), part_(std::move(part)), fd_(std::move(fd)), kind_(kind) {}

  std::string path_;
  std::string part_;  // its name until it is whole
  UniqueFd fd_;
  Kind kind_;
};

}  // namespace clrscope::ops
