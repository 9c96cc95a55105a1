#include "ipc/newcomers.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <map>

namespace clrscope::ipc {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kTimeToAdvertise{10};
constexpr std::chrono::milliseconds kShortestPause{10};
constexpr std::chrono::milliseconds kLongestPause{1000};

enum class Progress { kMore, kDone, kBroken };

Progress read_more(Newcomer& newcomer) {
  const auto got = ::recv(newcomer.connection.get(), newcomer.bytes.data() + newcomer.filled,
                          newcomer.bytes.size() - newcomer.filled, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR ? Progress::kMore : Progress::kBroken;
  if (got == 0) return Progress::kBroken;
  newcomer.filled += static_cast<std::size_t>(got);
  return newcomer.filled == newcomer.bytes.size() ? Progress::kDone : Progress::kMore;
}

bool same_process(const Peer& one, const Peer& other) {
  return one.pid != 0 && one.pid == other.pid && one.uid == other.uid;
}

}  // namespace

std::vector<Newcomer> Newcomers::accept(int listener, TraceTime now) {
  std::vector<Newcomer> whole;
  // No more at a time than are kept: those who have spoken do not wait for the others.
  for (std::size_t i = 0; i < limits_.silent; ++i) {
    Newcomer one{
        .connection = UniqueFd{::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)},
        .until = now + kTimeToAdvertise};
    if (!one.connection) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno != EAGAIN) back_off(now);
      return whole;
    }
    pause_ = {};
    const auto peer = peer_of(one.connection.get());
    if (!peer) continue;
    one.peer = *peer;
    const auto progress = read_more(one);
    if (progress == Progress::kDone) whole.push_back(std::move(one));
    if (progress != Progress::kMore) continue;
    make_room(one.peer);
    silent_.push_back(std::move(one));
  }
  return whole;
}

void Newcomers::back_off(TraceTime now) {
  ++failures_;
  pause_ = std::clamp(2 * pause_, kShortestPause, kLongestPause);
  next_accept_ = now + pause_;
}

template <class Same>
void Newcomers::drop_oldest(Same same) {
  const auto oldest = std::ranges::find_if(silent_, same, &Newcomer::peer);
  if (oldest == silent_.end()) return;
  silent_.erase(oldest);
  ++dropped_;
}

void Newcomers::make_room(const Peer& peer) {
  const auto of_process = [&](const Peer& other) { return same_process(peer, other); };
  const auto of_user = [&](const Peer& other) { return peer.uid == other.uid; };
  const auto count = [&](auto same) {
    return static_cast<std::size_t>(std::ranges::count_if(silent_, same, &Newcomer::peer));
  };
  if (count(of_process) >= limits_.silent_per_process) return drop_oldest(of_process);
  if (count(of_user) >= limits_.silent_per_user) return drop_oldest(of_user);
  if (silent_.size() < limits_.silent) return;
  std::map<uid_t, std::size_t> users;
  for (const auto& one : silent_) ++users[one.peer.uid];
  const auto most =
      std::ranges::max_element(users, {}, [](const auto& user) { return user.second; });
  drop_oldest([&](const Peer& other) { return other.uid == most->first; });
}

void Newcomers::watch(std::vector<pollfd>& watched) const {
  for (const auto& one : silent_) watched.push_back({one.connection.get(), POLLIN, 0});
}

std::vector<Newcomer> Newcomers::hear(const pollfd* seen, TraceTime now) {
  std::vector<Newcomer> whole, staying;
  for (auto& one : silent_) {
    const auto progress = (seen++)->revents == 0 ? Progress::kMore : read_more(one);
    if (progress == Progress::kDone)
      whole.push_back(std::move(one));
    else if (progress == Progress::kMore && now < one.until)
      staying.push_back(std::move(one));
  }
  silent_ = std::move(staying);
  return whole;
}

TraceTime Newcomers::next_time(TraceTime now) const {
  auto next = accepts(now) ? TraceTime::max() : next_accept_;
  if (!silent_.empty()) next = std::min(next, silent_.front().until);
  return next;
}

}  // namespace clrscope::ipc
