// Where a running `forward` tells its state: a socket of its own user, in the temporary folder.
#pragma once

#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope::ops {

class ForwardDoor {
 public:
  ForwardDoor(UniqueFd listening, std::string path)
      : listening_(std::move(listening)), path_(std::move(path)) {}
  ~ForwardDoor();
  ForwardDoor(ForwardDoor&&) noexcept = default;
  ForwardDoor& operator=(ForwardDoor&&) = delete;

  int fd() const { return listening_.get(); }
  // Answers who waits at the door; never waits itself.
  void answer(const std::string& text) const;

 private:
  UniqueFd listening_;
  std::string path_;
};

Result<ForwardDoor> open_forward_door();

}  // namespace clrscope::ops
