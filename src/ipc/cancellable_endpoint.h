// A runtime whose exchange another thread can end.
#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "ipc/endpoint.h"

namespace clrscope::ipc {

class CancellableEndpoint : public Endpoint {
 public:
  // `patience` is for a socket that takes nobody; the deadline of an exchange may be much longer.
  CancellableEndpoint(Endpoint& runtime, std::chrono::nanoseconds patience)
      : runtime_(runtime), patience_(patience) {}

  Result<UniqueFd> connect(const Deadline& deadline) override {
    const Deadline soon{std::min(deadline.at(), TraceClock::now() + patience_)};
    auto connection = TRY(runtime_.connect(soon));
    return open_.with([&](State& state) -> Result<UniqueFd> {
      if (state.cancelled) return fail(Errc::kTimeout, "cancelled");
      state.connection = UniqueFd{::fcntl(connection.get(), F_DUPFD_CLOEXEC, 0)};
      return std::move(connection);
    });
  }
  std::string name() const override { return runtime_.name(); }
  pid_t peer() const override { return runtime_.peer(); }

  // The exchange under way, and every later one, fails.
  void cancel() {
    open_.with([](State& state) {
      state.cancelled = true;
      if (state.connection) ::shutdown(state.connection.get(), SHUT_RDWR);
    });
  }

 private:
  struct State {
    UniqueFd connection{};
    bool cancelled = false;
  };
  Endpoint& runtime_;
  std::chrono::nanoseconds patience_;
  Guarded<State> open_;
};

}  // namespace clrscope::ipc
