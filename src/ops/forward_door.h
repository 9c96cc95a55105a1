// Where a running `forward` tells its state: a socket of its own user, in the temporary folder.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"

namespace clrscope::ops {

// A thread of its own answers, with what was last told: whatever the forward itself waits for.
class ForwardDoor {
 public:
  static Result<std::unique_ptr<ForwardDoor>> open();
  ~ForwardDoor();
  ForwardDoor(const ForwardDoor&) = delete;
  ForwardDoor& operator=(const ForwardDoor&) = delete;

  void tell(std::string state) {
    state_.with([&](auto& text) { text = std::move(state); });
  }

 private:
  ForwardDoor(UniqueFd listening, std::string path);
  void run(const std::stop_token& stop);

  UniqueFd listening_;
  std::string path_;
  Guarded<std::string> state_;
  UniqueFd wake_;        // an eventfd: the end has come
  std::jthread worker_;  // last member: joins first
};

}  // namespace clrscope::ops
