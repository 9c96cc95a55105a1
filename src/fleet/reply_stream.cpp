#include "fleet/reply_stream.h"

#include <algorithm>

namespace clrscope::fleet {
namespace {

constexpr std::chrono::milliseconds kGrace{100};

}  // namespace

Result<> SlowClients::wait(net::HttpStream& stream, std::chrono::nanoseconds& patience) {
  const auto began = TraceClock::now();
  const auto at = [&] {
    const std::lock_guard lock{mutex_};
    if (waiting_.size() >= most_) {
      const auto longest =
          std::min_element(waiting_.begin(), waiting_.end(),
                           [](const Waiting& a, const Waiting& b) { return a.until < b.until; });
      longest->stream->cut();
      longest->stream = nullptr;
      // It takes its entry off when it wakes up; it no longer counts.
      cut_.splice(cut_.end(), waiting_, longest);
    }
    return waiting_.insert(waiting_.end(), {&stream, began + patience});
  }();
  const bool has_room = stream.wait_for_room(patience);
  patience -= TraceClock::now() - began;
  bool was_cut = false;
  {
    const std::lock_guard lock{mutex_};
    was_cut = at->stream == nullptr;
    (was_cut ? cut_ : waiting_).erase(at);
  }
  if (was_cut)
    return fail(Errc::kTimeout, "the client read too slowly while {} others did, too", most_);
  if (has_room) return {};
  if (stream.gone()) return fail(Errc::kGone, "the client left");
  stream.cut();
  return fail(Errc::kTimeout, "the client read too slowly");
}

std::size_t SlowClients::waiting() const {
  const std::lock_guard lock{mutex_};
  return waiting_.size();
}

Result<> ReplyStream::send(std::string piece) {
  // A client that keeps pace is not put behind other queries again and again.
  if (!stream_->wait_for_room(kGrace)) {
    if (pass_ != nullptr) pass_->step_out();
    TRY(slow_.wait(*stream_, patience_));
    if (pass_ != nullptr) TRY(pass_->step_in());
  }
  if (!stream_->write(std::move(piece))) return fail(Errc::kGone, "the client left");
  return {};
}

Result<> ReplyStream::write(const net::HttpResponse& head, std::string piece) {
  if (!stream_) stream_ = reply_.stream(head);
  return send(std::move(piece));
}

Result<> ReplyStream::end(std::string rest) {
  TRY(send(std::move(rest)));
  stream_->end();
  return {};
}

}  // namespace clrscope::fleet
