#include "collect/eventpipe/stream_recorder.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/log.h"
#include "collect/eventpipe/session_end.h"

namespace clrscope::collect {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kChunk = 256 << 10;
constexpr std::chrono::milliseconds kStatusEvery{200};
class StreamRecorder {
 public:
  explicit StreamRecorder(StreamJob job)
      : job_(std::move(job)),
        started_(TraceClock::now()),
        end_(job_.runtime, job_.session.id, job_.pid) {}

  Result<StreamOutcome> run() {
    while (!ended_) {
      TRY(wait());
      if (end_.hopeless()) finish(Ending::kNoAnswer);
      report();
    }
    job_.session.stream.reset();  // the runtime drops the session, whatever became of the stop
    outcome_.recorded = end_.asked_at().value_or(TraceClock::now()) - started_;
    (void)reader_.finish([](const nettrace::Batch&) {});
    outcome_.summary = reader_.summary();
    return std::move(outcome_);
  }

 private:
  bool stopping() const { return end_.asked_at().has_value(); }

  // Sleeps until there are bytes, a reason to stop, or it is time to report.
  Result<> wait() {
    std::vector<pollfd> fds{{job_.session.stream.get(), POLLIN, 0}};
    if (!stopping())
      for (const int fd : job_.stop_fds) fds.push_back({fd, POLLIN, 0});
    const int ready = ::poll(fds.data(), fds.size(), next_wake().poll_timeout());
    if (ready < 0 && errno != EINTR) return fail(Errc::kSystem, "cannot poll: {}", errno_text());
    if (ready > 0 && fds[0].revents != 0) read_some();
    for (std::size_t i = 1; i < fds.size(); ++i)
      if (ready > 0 && fds[i].revents != 0) stop(StopReason::kSignal);
    if (job_.limits.duration && TraceClock::now() - started_ >= *job_.limits.duration)
      stop(StopReason::kDuration);
    return {};
  }

  Deadline next_wake() const {
    auto at = last_status_ + kStatusEvery;
    if (!stopping() && job_.limits.duration) at = std::min(at, started_ + *job_.limits.duration);
    return Deadline{at};
  }

  void read_some() {
    const auto kept = pending_.size();
    pending_.resize(kept + kChunk);
    const auto got = ::read(job_.session.stream.get(), pending_.data() + kept, kChunk);
    pending_.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0)
      return finish(reader_.summary().ended ? (stopping() ? Ending::kAsked : Ending::kTargetEnded)
                                            : Ending::kTargetDied);
    end_.hear();
    take(Bytes{pending_}.subspan(kept));
  }

  void take(Bytes chunk) {
    bool wants_stop = false;
    const auto parsed = reader_.feed(chunk, [&](const nettrace::Batch& batch) {
      if (job_.on_batch && job_.on_batch(batch, reader_)) wants_stop = true;
      for (const auto& event : batch.events) newest_ = std::max(newest_, event.ticks);
      if (batch.sequence_point) newest_ = std::max(newest_, batch.sequence_point->ticks);
    });
    if (!parsed) {  // not a trace as we know it: still the runtime's bytes, kept as they come
      if (!outcome_.unreadable)
        log(LogLevel::kWarning, "{}: the recording continues, but events are not counted",
            parsed.error().what);
      outcome_.unreadable = true;
    }
    write_whole_blocks();
    if (wants_stop) stop(StopReason::kEvent);
    const auto bytes = job_.file_bytes ? job_.file_bytes() : outcome_.bytes;
    if (job_.limits.max_size && bytes >= *job_.limits.max_size) stop(StopReason::kSize);
  }

  // Writes up to the end of the last whole block and keeps the rest.
  void write_whole_blocks() {
    const auto whole = outcome_.unreadable
                           ? pending_.size()
                           : static_cast<std::size_t>(reader_.whole_bytes() - outcome_.bytes);
    if (whole == 0 || ended_) return;
    if (auto written = job_.write(Bytes{pending_}.first(whole)); !written) {
      outcome_.error = std::move(written).error();
      return finish(Ending::kWriteFailed);
    }
    outcome_.bytes += whole;
    pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(whole));
  }

  // What is written so far ends with a whole block.
  void insert_blocks() {
    const auto* info = reader_.info();
    if (!job_.insert || ended_ || stopping() || outcome_.unreadable || !info) return;
    if (info->version != 4 || newest_ == 0) return;
    const auto blocks = job_.insert(outcome_.bytes, newest_);
    if (blocks.empty()) return;
    if (auto written = job_.write(blocks); !written) {
      outcome_.error = std::move(written).error();
      finish(Ending::kWriteFailed);
    }
  }

  void stop(StopReason why) {
    if (stopping() || ended_) return;
    outcome_.stopped_by = why;
    end_.ask();
    if (job_.on_stop) job_.on_stop();
  }

  void finish(Ending ending) {
    if (ended_) return;
    ended_ = true;
    outcome_.ending = ending;
  }

  void report() {
    const auto now = TraceClock::now();
    if (now - last_status_ < kStatusEvery && !ended_) return;
    last_status_ = now;
    insert_blocks();
    if (!job_.on_status) return;
    const auto& summary = reader_.summary();
    job_.on_status({stopping() ? Phase::kStopping : Phase::kRecording, now - started_,
                    outcome_.bytes, summary.events, summary.lost});
  }

  StreamJob job_;
  const TraceTime started_;
  TraceTime last_status_{};
  nettrace::Reader reader_;
  std::int64_t newest_ = 0;            // ticks of the latest event or sequence point
  std::vector<std::uint8_t> pending_;  // begins at byte outcome_.bytes of the stream
  bool ended_ = false;
  StreamOutcome outcome_;
  SessionEnd end_;  // last: its thread ends before what it uses goes
};

}  // namespace

Result<StreamOutcome> record_stream(StreamJob job) { return StreamRecorder{std::move(job)}.run(); }

}  // namespace clrscope::collect
