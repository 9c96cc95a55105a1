#include "fleet/query_gate.h"

#include "store/cancel.h"

namespace clrscope::fleet {

Result<QueryGate::Pass> QueryGate::enter() {
  {
    const std::lock_guard lock{mutex_};
    if (running_ >= most_running_ && waiting_ >= most_waiting_)
      return fail(Errc::kNoRoom, "too many queries are waiting: retry later");
  }
  TRY(wait_for_place());
  return Pass{*this};
}

void QueryGate::Pass::step_out() {
  if (std::exchange(is_inside_, false)) gate_->leave();
}

Result<> QueryGate::Pass::step_in() {
  TRY(gate_->wait_for_place());
  is_inside_ = true;
  return {};
}

Result<> QueryGate::wait_for_place() {
  std::unique_lock lock{mutex_};
  ++waiting_;
  const bool is_free =
      left_.wait(lock, store::CancelScope::current(), [this] { return running_ < most_running_; });
  --waiting_;
  if (!is_free) return fail(Errc::kNoRoom, "too many queries were running");
  ++running_;
  return {};
}

std::size_t QueryGate::waiting() const {
  const std::lock_guard lock{mutex_};
  return waiting_;
}

void QueryGate::leave() {
  {
    const std::lock_guard lock{mutex_};
    --running_;
  }
  left_.notify_one();
}

}  // namespace clrscope::fleet
