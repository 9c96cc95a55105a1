// The socket on which a running `forward` publishes its state for `forward --status`: in the
// temporary folder, for its own user only.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"

namespace clrscope::ops {

// A thread of its own answers with the last published state, even while the forward is blocked.
class ForwardStatusSocket {
 public:
  static Result<std::unique_ptr<ForwardStatusSocket>> open();
  ~ForwardStatusSocket();
  ForwardStatusSocket(const ForwardStatusSocket&) = delete;
  ForwardStatusSocket& operator=(const ForwardStatusSocket&) = delete;

  void publish(std::string state) {
    state_.with([&](auto& text) { text = std::move(state); });
  }

 private:
  ForwardStatusSocket(UniqueFd listening, std::string path);
  void run(const std::stop_token& stop);

  UniqueFd listening_;
  std::string path_;
  Guarded<std::string> state_;
  UniqueFd wake_;        // an eventfd: wakes the worker to stop
  std::jthread worker_;  // last member: joins first
};

}  // namespace clrscope::ops
