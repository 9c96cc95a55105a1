#include "fleet/relay.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include <clrscope/fleet/v1/ingest.grpc.pb.h>
#include "base/log.h"
#include "base/spool.h"
#include "base/zstd_block.h"
#include "fleet/connection.h"
#include "fleet/convert.h"
#include "uplink/batch_encoder.h"

namespace clrscope::fleet {
namespace {

using Stream = grpc::ClientReaderWriter<v1::IngestRequest, v1::IngestResponse>;

constexpr std::chrono::milliseconds kFirstPause{200};
constexpr std::chrono::milliseconds kLongestPause{10'000};
constexpr int kZstdLevel = 1;
constexpr std::uint32_t kRelayProtocol = 1;

}  // namespace

class Relay::Impl {
 public:
  Impl(RelaySetting setting, Connection connection, std::unique_ptr<Waiting> waiting)
      : setting_(std::move(setting)),
        connection_(std::move(connection)),
        waiting_(std::move(waiting)),
        thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~Impl() {
    thread_.request_stop();  // first: no stream begins after it that nobody would cancel
    const std::lock_guard lock{mutex_};
    if (context_ != nullptr) context_->TryCancel();
  }

  void add(const std::string& batch) {
    const auto outline = outline_of(batch);
    const std::lock_guard lock{mutex_};
    if (!outline) {
      ++state_.malformed;
      log(LogLevel::kWarning, "a frame was dropped: {}", outline.error().what);
      return;
    }
    ++state_.batches;
    state_.requests += outline->requests;
    state_.spans += outline->spans;
    state_.samples += outline->samples;
    v1::BatchEnvelope envelope;
    envelope.set_id(relay_id_ + std::string{reinterpret_cast<const char*>(&sequence_), 8});
    ++sequence_;
    envelope.set_batch_zstd(zstd_block(as_bytes(batch), kZstdLevel));
    const auto items = static_cast<std::uint32_t>(outline->requests);
    if (const auto done = waiting_->push(envelope.SerializeAsString(), items); !done) {
      // The next batch tells the server what was written in all: it counts the loss too.
      if (state_.dropped++ == 0) log_error(done.error());
      state_.lost_requests += outline->requests;
      state_.lost_spans += outline->spans;
      state_.lost_samples += outline->samples;
      return;
    }
    changed_.notify_all();
  }

  bool drain(std::chrono::nanoseconds patience) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, std::stop_token{}, patience,
                             [&] { return waiting_->bytes() == 0; });
  }

  RelayState state() const {
    const std::lock_guard lock{mutex_};
    auto state = state_;
    state.waiting_bytes = waiting_->bytes();
    state.damaged = waiting_->damaged();
    return state;
  }

 private:
  void run(const std::stop_token& stop) {
    const auto channel = connection_.channel();
    auto pause = kFirstPause;
    while (!stop.stop_requested()) {
      {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, stop, [&] { return waiting_->bytes() > 0; });
        if (stop.stop_requested()) return;
      }
      const bool progress = deliver(channel, stop);
      if (progress) pause = kFirstPause;
      std::unique_lock lock{mutex_};
      waiting_->give_back();
      if (waiting_->bytes() == 0) continue;
      changed_.wait_for(lock, stop, pause, [] { return false; });
      pause = std::min(pause * 2, kLongestPause);
    }
  }

  // One stream, until it breaks or we stop. True: the server acknowledged something.
  bool deliver(const std::shared_ptr<grpc::Channel>& channel, const std::stop_token& stop) {
    grpc::ClientContext context;
    connection_.authorize(context);
    {
      const std::lock_guard lock{mutex_};
      if (stop.stop_requested()) return false;
      context_ = &context;
      window_ = 0;  // until the welcome
      stream_ended_ = false;
    }
    const auto stub = v1::Ingest::NewStub(channel);
    const auto stream = stub->Stream(&context);
    v1::IngestRequest hello;
    hello.mutable_hello()->set_protocol(kRelayProtocol);
    hello.mutable_hello()->set_relay("clrscope-fleet " CLRSCOPE_VERSION);
    hello.mutable_hello()->set_now_unix_ns(
        static_cast<std::uint64_t>(wall_now().time_since_epoch().count()));
    bool progress = false;
    {
      const std::jthread reader{[&] { progress = read_answers(*stream); }};
      if (stream->Write(hello)) send(*stream, stop);
      // Acknowledgements of what was sent still come, unless we stop.
      stream->WritesDone();
    }
    const auto status = stream->Finish();
    const std::lock_guard lock{mutex_};
    context_ = nullptr;
    state_.connected = false;
    if (!status.ok() && !stop.stop_requested()) note_trouble(status);
    return progress;
  }

  void note_trouble(const grpc::Status& status) {
    auto text = fmt::format("{}: {}", setting_.to,
                            status.error_code() == grpc::StatusCode::UNIMPLEMENTED
                                ? "the server does not know clrscope.fleet.v1: update it"
                                : status.error_message());
    if (text == state_.trouble) return;
    state_.trouble = std::move(text);
    log(LogLevel::kWarning, "{}; batches wait and are sent again", state_.trouble);
  }

  void send(Stream& stream, const std::stop_token& stop) {
    for (;;) {
      std::optional<Message> message;
      {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, stop, [&] {
          if (stream_ended_) return true;
          if (waiting_->taken() >= window_) return false;
          message = waiting_->take();
          return message.has_value();
        });
        if (!message) {
          if (stop.stop_requested() && context_ != nullptr) context_->TryCancel();
          return;
        }
      }
      v1::IngestRequest request;
      if (!request.mutable_batch()->ParseFromString(message->text)) continue;  // never: it is ours
      if (!stream.Write(request)) return;
    }
  }

  bool read_answers(Stream& stream) {
    bool progress = false;
    v1::IngestResponse answer;
    while (stream.Read(&answer)) {
      const std::lock_guard lock{mutex_};
      if (answer.has_welcome()) {
        window_ = std::clamp(answer.welcome().max_unacknowledged(), 1U, 1000U);
        state_.connected = true;
        state_.trouble.clear();
      } else if (answer.has_acknowledgement()) {
        take_acknowledgement(answer.acknowledgement());
        progress = true;
      }
      changed_.notify_all();
    }
    const std::lock_guard lock{mutex_};
    stream_ended_ = true;
    changed_.notify_all();
    return progress;
  }

  // They come in the order of the batches.
  void take_acknowledgement(const v1::Acknowledgement& answer) {
    const auto requests = waiting_->forget(1);
    switch (answer.outcome()) {
      case v1::Acknowledgement::OUTCOME_REFUSED:
        ++state_.refused;
        state_.lost_requests += requests;
        note_refusal(requests, answer.reason());
        break;
      case v1::Acknowledgement::OUTCOME_DUPLICATE:
        ++state_.duplicates;
        break;
      default:
        ++state_.delivered;
        state_.lost_requests += answer.refused_requests();
        if (answer.refused_requests() > 0) note_refusal(answer.refused_requests(), answer.reason());
    }
  }

  // The same reason again is not worth a line of the log each time: the counts say how often.
  void note_refusal(std::uint64_t requests, const std::string& reason) {
    if (reason == refusal_) return;
    refusal_ = reason;
    log(LogLevel::kWarning, "the server refused {} requests: {}", requests, reason);
  }

  const RelaySetting setting_;
  const Connection connection_;
  const std::string relay_id_ = uplink::new_instance();
  std::uint64_t sequence_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::unique_ptr<Waiting> waiting_;
  RelayState state_;
  grpc::ClientContext* context_ = nullptr;  // of the stream that is open
  std::size_t window_ = 0;
  bool stream_ended_ = false;
  std::string refusal_;  // the last one
  std::jthread thread_;  // last member: joins first
};

Relay::Relay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Relay::~Relay() = default;
void Relay::add(std::string batch) { impl_->add(batch); }
bool Relay::drain(std::chrono::nanoseconds patience) { return impl_->drain(patience); }
RelayState Relay::state() const { return impl_->state(); }

Result<std::unique_ptr<Relay>> Relay::start(RelaySetting setting) {
  auto connection = TRY(connect_to(setting.to, setting.ca_file, setting.token_file));
  std::unique_ptr<Waiting> waiting = std::make_unique<WaitingInMemory>(setting.limit);
  if (!setting.spool.empty()) waiting = TRY(Spool::open(setting.spool, setting.limit));
  auto impl = std::make_unique<Impl>(std::move(setting), std::move(connection), std::move(waiting));
  return std::unique_ptr<Relay>{new Relay{std::move(impl)}};
}

}  // namespace clrscope::fleet
