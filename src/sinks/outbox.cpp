#include "sinks/outbox.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/spool.h"
#include "base/text.h"

namespace clrscope::sinks {
namespace {

constexpr std::chrono::nanoseconds kFirstPause = std::chrono::milliseconds{100};
constexpr std::chrono::nanoseconds kLongestPause = std::chrono::seconds{5};
constexpr std::chrono::nanoseconds kHurriedPause = std::chrono::milliseconds{200};
// How often a connection is looked at while nothing is sent.
constexpr std::chrono::milliseconds kLook{200};

std::string folder_of(const OutboxSetting& setting) {
  return setting.spool + "/" + folder_name(setting.name);
}

}  // namespace

std::string Outbox::State::text() const {
  auto text = fmt::format("delivered {}, waiting {}{}, dropped {}", format_count(delivered),
                          format_bytes(waiting_bytes), spooled ? " in the spool" : "",
                          format_count(dropped));
  if (damaged > 0) text += fmt::format(", damaged {}", format_count(damaged));
  return text;
}

Result<std::unique_ptr<Outbox>> Outbox::open(OutboxSetting setting,
                                             std::unique_ptr<Carrier> carrier) {
  std::unique_ptr<Waiting> waiting;
  if (setting.spool.empty())
    waiting = std::make_unique<WaitingInMemory>(setting.limit);
  else if (TRY(Spool::is_free(folder_of(setting))))
    waiting = TRY(Spool::open(folder_of(setting), setting.limit));
  // Its constructor is private.
  return std::unique_ptr<Outbox>{
      new Outbox{std::move(setting), std::move(waiting), std::move(carrier)}};
}

Outbox::Outbox(OutboxSetting setting, std::unique_ptr<Waiting> waiting,
               std::unique_ptr<Carrier> carrier)
    : setting_(std::move(setting)),
      carrier_(std::move(carrier)),
      waiting_(std::move(waiting)),
      pause_(kFirstPause),
      worker_([this](const std::stop_token& stop) { run(stop); }) {}

// The spool, as soon as the one before us has ended.
Result<> Outbox::have_waiting() {
  if (waiting_) return {};
  CHECK(!finished_);  // nothing is put, and the worker has ended
  waiting_ = TRY(Spool::open(folder_of(setting_), setting_.limit));
  return {};
}

Outbox::~Outbox() {
  worker_.request_stop();
  carrier_->interrupt();
}

void Outbox::put(std::string message, std::uint32_t items) {
  {
    const std::lock_guard lock{mutex_};
    auto done = have_waiting();
    if (done) done = waiting_->push(std::move(message), items);
    if (!done) {
      state_.dropped += items;
      note(done.error());
      return;
    }
    pushed_ = true;
    drained_ = false;
  }
  changed_.notify_all();
}

Outbox::State Outbox::state() const {
  const std::lock_guard lock{mutex_};
  return seen();
}

Outbox::State Outbox::seen() const {
  auto state = state_;
  state.spooled = !setting_.spool.empty();
  if (!waiting_) return state;
  const auto arrived = waiting_->taken() - std::min(waiting_->taken(), unacknowledged_);
  state.waiting_bytes = waiting_->bytes_after(arrived);
  state.delivered += waiting_->items(arrived);
  state.reached = std::max(state.reached, state.delivered);
  state.damaged = waiting_->damaged();
  return state;
}

Result<> Outbox::trouble() {
  const std::lock_guard lock{mutex_};
  if (state_.failures == told_failures_) return {};
  told_failures_ = state_.failures;
  return fail(Errc::kSystem, "{}", state_.last_failure);
}

void Outbox::finish(std::chrono::nanoseconds patience) {
  {
    std::unique_lock lock{mutex_};
    finishing_ = true;
    pushed_ = true;  // wakes the worker
    changed_.notify_all();
    changed_.wait_for(lock, patience, [&] { return drained_; });
  }
  worker_.request_stop();
  carrier_->interrupt();
  if (worker_.joinable()) worker_.join();
  const std::lock_guard lock{mutex_};
  finished_ = true;
  if (!waiting_) return;
  state_.dropped += waiting_->perishable();
  state_ = seen();
  waiting_.reset();  // its spool is free for the next one
}

void Outbox::note(const Error& error) {
  ++state_.failures;
  state_.last_failure = error.what;
}

void Outbox::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto message = next(stop);
    const auto carried = message ? carrier_->carry(message->text, message->items) : Result<>{};
    settle(carried ? carrier_->underway() : Result<Underway>{fail(carried.error())}, stop);
  }
}

// The oldest message; waits a while for one.
std::optional<Message> Outbox::next(const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  if (auto message = take()) return message;
  changed_.wait_for(lock, stop, kLook, [&] { return pushed_; });
  pushed_ = false;
  return take();
}

std::optional<Message> Outbox::take() {
  if (!have_waiting()) return {};
  auto message = waiting_->take();
  if (message) ++unacknowledged_;
  return message;
}

void Outbox::settle(const Result<Underway>& underway, const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  if (!underway) {
    if (stop.stop_requested()) return;  // interrupted, not refused
    note(underway.error());
    state_.reached = std::max(state_.reached, seen().delivered);
    if (waiting_) waiting_->give_back();
    unacknowledged_ = 0;
    const bool hurried = finishing_;
    changed_.wait_for(lock, stop, hurried ? std::min(pause_, kHurriedPause) : pause_,
                      [&] { return finishing_ != hurried; });
    pause_ = std::min(pause_ * 2, kLongestPause);
    return;
  }
  if (!waiting_) return;
  unacknowledged_ = underway->unacknowledged;
  const auto taken = waiting_->taken();
  auto settled = taken - std::min(taken, underway->repeatable);
  if (finishing_ && underway->unacknowledged == 0) settled = taken;
  if (settled > 0) {
    const auto gone = waiting_->forget(settled);
    const auto refused = carrier_->refused();
    state_.delivered += gone - std::min(gone, refused - state_.refused);
    state_.refused = refused;
    pause_ = kFirstPause;
  }
  if (finishing_ && waiting_->taken() == 0 && waiting_->bytes() == 0) {
    drained_ = true;
    changed_.notify_all();
  }
}

}  // namespace clrscope::sinks
