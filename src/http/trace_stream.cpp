#include "http/trace_stream.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "archive/file_name.h"
#include "archive/operations.h"
#include "archive/record_thread.h"
#include "archive/recordings.h"
#include "base/io.h"
#include "base/text.h"
#include "http/file_answer.h"
#include "http/services.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::int64_t kDefaultSeconds = 30;
constexpr std::chrono::milliseconds kLook{200};
constexpr std::size_t kPiece = 64 << 10;
constexpr int kPipeBytes = 1 << 20;

struct Pipe {
  UniqueFd from{}, to{};
};

Result<Pipe> make_pipe() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Errc::kSystem, "cannot make a pipe: {}", errno_text());
  Pipe pipe{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
  (void)::fcntl(pipe.to.get(), F_SETPIPE_SZ, kPipeBytes);  // less is only slower
  return pipe;
}

std::string one_line(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "; "));
}

HttpResponse head_of(const Call& call, const archive::RecordState& state,
                     const std::string& operation, const std::string& title) {
  auto head = file_head(kOctets, title);
  head.fields.push_back({"Location", call.link("/operations/" + operation)});
  head.fields.push_back({"Clrscope-Sampling", state.sampling});
  if (!state.notes.empty()) head.fields.push_back({"Clrscope-Notes", one_line(state.notes)});
  head.fields.push_back({"Trailer",
                         "Clrscope-Ending, Clrscope-Events, Clrscope-Samples, Clrscope-Lost, "
                         "Clrscope-Notes"});
  return head;
}

std::vector<net::HttpField> trailers_of(const archive::RecordState& state) {
  std::vector<net::HttpField> out{
      {"Clrscope-Ending", state.ending.empty() && state.error ? state.error->what : state.ending},
      {"Clrscope-Events", std::to_string(state.status.events)},
      {"Clrscope-Samples", std::to_string(state.status.samples)},
      {"Clrscope-Lost", std::to_string(state.status.lost)}};
  if (!state.notes.empty()) out.push_back({"Clrscope-Notes", one_line(state.notes)});
  return out;
}

// The copy that is kept of it, if one is.
class Kept {
 public:
  static Result<Kept> begin(archive::Recordings& all, archive::Recording about) {
    auto recording = TRY(all.begin(std::move(about)));
    UniqueFd fd{::open(recording.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
    if (!fd) return fail(errc_of(errno), "cannot write {}: {}", recording.path, errno_text());
    return Kept{all, std::move(recording), std::move(fd), all.room()};
  }
  const std::string& id() const { return recording_.id; }
  void write(std::string_view bytes) {
    if (failed_) return;
    failed_ = bytes.size() > room_ || !write_all(fd_.get(), as_bytes(bytes));
    room_ -= failed_ ? 0 : bytes.size();
  }
  // What a client did not wait for is not kept.
  void end(const archive::RecordState& state, bool whole) {
    if (!whole || failed_) {
      (void)all_->discard(recording_.id);
      return;
    }
    archive::take_state(recording_, state);
    (void)all_->finish(std::move(recording_));
  }

 private:
  Kept(archive::Recordings& all, archive::Recording recording, UniqueFd fd, std::uint64_t room)
      : all_(&all), recording_(std::move(recording)), fd_(std::move(fd)), room_(room) {}
  archive::Recordings* all_;
  archive::Recording recording_;
  UniqueFd fd_;
  std::uint64_t room_;
  bool failed_ = false;
};

class TraceStream {
 public:
  TraceStream(Call call, const TraceRequest& options) : call_(std::move(call)), options_(options) {}
  ~TraceStream() { pipe_.from.reset(); }  // a recorder that waits for room in it goes on
  TraceStream(const TraceStream&) = delete;
  TraceStream& operator=(const TraceStream&) = delete;

  Result<> run() {
    auto& services = call_.services();
    auto record = TRY(record_request(options_));
    const auto seconds = options_.duration_seconds.value_or(kDefaultSeconds);
    if (seconds >= 0) record.duration = std::chrono::seconds{seconds};
    Process process{.pid = 0, .name = "machine", .user = {}};
    if (options_.whole_machine) {
      TRY(services.processes.machine_allowed());
    } else {
      process = TRY(services.processes.chosen(call_, options_.selector));
      record.target = services.processes.target(process);
    }
    const bool keep = TRY(call_.truth("keep", false));
    if (call_.request().method == "HEAD") {
      call_.send(file_head(kOctets, process.name + ".nettrace"));
      return {};
    }
    pipe_ = TRY(make_pipe());
    record.output_fd = pipe_.to.get();
    thread_ = std::make_shared<archive::RecordThread>(
        std::move(record), [this](const archive::RecordState&) {
          pipe_.to.reset();  // the other end reads on to here
        });
    const std::weak_ptr<archive::RecordThread> weak = thread_;
    const auto cancelled = cancelled_;
    operation_ = services.operations.begin({.kind = "trace",
                                            .process = process,
                                            .tags = options_.tags,
                                            .stop =
                                                [weak] {
                                                  if (const auto thread = weak.lock())
                                                    thread->stop(archive::StopCause::kStopped);
                                                },
                                            .cancel =
                                                [weak, cancelled] {
                                                  *cancelled = true;
                                                  if (const auto thread = weak.lock())
                                                    thread->stop(archive::StopCause::kCancelled);
                                                }});
    return follow(process, keep);
  }

  Call& call() { return call_; }

 private:
  Result<> follow(const Process& process, bool keep) {
    while (!thread_->wait_started(kLook))
      if (call_.gone() || *cancelled_) return give_up();
    const auto started = thread_->state();
    if (!started.started) {
      thread_->wait_ended(std::chrono::hours{1});
      const auto error = started.error.value_or(Error{Errc::kSystem, "nothing was recorded"});
      operation_->fail(error.what);
      return fail(error);
    }
    const auto title = archive::dated_name(process.name, ".nettrace");
    std::optional<Kept> kept;
    if (keep)
      kept.emplace(
          TRY(Kept::begin(call_.services().recordings, {.kind = archive::RecordingKind::kTrace,
                                                        .title = title,
                                                        .process = process,
                                                        .profile = options_.profile.value_or(""),
                                                        .by = call_.caller().name})));
    auto head = head_of(call_, started, operation_->id(), title);
    if (kept) head.fields.push_back({"Clrscope-Recording", kept->id()});
    const auto stream = call_.stream(std::move(head));
    const bool whole = pump(*stream, kept);
    pipe_.from.reset();  // a recorder that still writes fails, and ends
    thread_->stop(archive::StopCause::kClientLeft);
    thread_->wait_ended(std::chrono::hours{24});
    const auto ended = thread_->state();
    if (kept) kept->end(ended, whole);
    if (!whole) return give_up();
    if (ended.error)
      operation_->fail(ended.error->what);
    else
      operation_->succeed();
    stream->end(trailers_of(ended));
    return {};
  }

  // False: the client left, or it was cancelled.
  bool pump(net::HttpStream& stream, std::optional<Kept>& kept) {
    std::string piece(kPiece, '\0');
    for (;;) {
      if (stream.gone() || *cancelled_) return false;
      pollfd one{.fd = pipe_.from.get(), .events = POLLIN, .revents = 0};
      if (::poll(&one, 1, static_cast<int>(kLook.count())) <= 0) continue;
      const auto got = ::read(pipe_.from.get(), piece.data(), piece.size());
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return got == 0;
      const auto bytes = piece.substr(0, static_cast<std::size_t>(got));
      if (kept) kept->write(bytes);
      if (!stream.write(bytes)) return false;
    }
  }

  Result<> give_up() {
    pipe_.from.reset();
    thread_->stop(archive::StopCause::kClientLeft);
    operation_->fail("the client left");
    return {};
  }

  Call call_;
  const TraceRequest& options_;
  std::shared_ptr<std::atomic<bool>> cancelled_ = std::make_shared<std::atomic<bool>>(false);
  Pipe pipe_;
  std::unique_ptr<archive::OperationHandle> operation_;
  std::shared_ptr<archive::RecordThread> thread_;  // last member: ends first
};

}  // namespace

void stream_trace(Call call, const TraceRequest& options) {
  TraceStream stream{std::move(call), options};
  if (const auto done = stream.run(); !done) stream.call().send(record_problem(done.error()));
}

}  // namespace clrscope::http
