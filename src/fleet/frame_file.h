// Batches in a file instead of at a server: what fleet replay reads. docs/fleet.md
#pragma once

#include <string>
#include <string_view>

#include "base/fd.h"
#include "base/result.h"
#include "fleet/relay.h"

namespace clrscope::fleet {

class FrameFile {
 public:
  static constexpr std::string_view kScheme = "file:";

  // A new file that only its owner may read.
  static Result<FrameFile> create(const std::string& path);

  // What cannot be written is counted as lost, and the file ends before it.
  void add(std::string_view batch);
  // The end mark. `trouble` of the state says what went wrong, if something did.
  RelayState finish();

 private:
  FrameFile(UniqueFd file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Result<> append(std::string_view frame);

  UniqueFd file_;
  std::string path_;
  std::uint64_t size_ = 0;
  RelayState state_;
};

}  // namespace clrscope::fleet
