// Many relays of a fleet server at once, each a connection of its own, on few threads.
//
//   relays_bench ADDRESS STREAMS MILLISECONDS REQUESTS SPANS
//
// Each stream sends a batch every so many milliseconds. Reads commands from stdin, a line each:
// "begin" and "end" say which batches count (those handed over between them), end of file ends it.
// Prints "connected" once all streams are, then the counts and the percentiles of the time from
// handing a batch over to its acknowledgement, waiting and sending again included.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <thread>

#include <clrscope/fleet/v1/batch.pb.h>
#include <clrscope/fleet/v1/ingest.grpc.pb.h>
#include "base/clock.h"
#include "base/zstd_block.h"

namespace {

using namespace clrscope;
using std::chrono::milliseconds;
namespace v1 = fleet::v1;

struct Setting {
  std::string address{};
  std::size_t streams = 0;
  milliseconds every{};
  std::size_t requests = 0, spans = 0;
};

// Of all streams.
struct Tally {
  std::mutex mutex{};
  std::vector<double> times{};  // milliseconds, of batches that count
  std::uint64_t stored = 0, duplicates = 0, refused = 0, streams_lost = 0;
  std::atomic<std::size_t> connected{0};
  std::atomic<bool> counts{false};
};

std::string batch_text(const Setting& setting, std::size_t host, std::uint64_t number) {
  v1::RequestBatch batch;
  const auto now = static_cast<std::uint64_t>(wall_now().time_since_epoch().count());
  auto& source = *batch.mutable_source();
  source.set_host(fmt::format("host-{}", host));
  source.set_service("relays");
  source.set_instance(fmt::format("instance-{:07}", host % 10'000'000));
  batch.set_created_unix_ns(now);
  batch.set_written_requests((number + 1) * setting.requests);
  batch.set_written_spans((number + 1) * setting.requests * setting.spans);
  for (const auto* name : {"GET", "/orders/{id}"}) batch.add_names(name);
  constexpr std::uint32_t kMethods = 40;
  for (std::uint32_t i = 0; i < kMethods; ++i)
    batch.add_names(fmt::format("Relays.Class{}.Method{}", i % 7, i));
  for (std::size_t r = 0; r < setting.requests; ++r) {
    auto& request = *batch.add_requests();
    std::string trace(16, '\0');
    const std::uint64_t words[] = {host + 1, number * setting.requests + r + 1};
    std::memcpy(trace.data(), words, sizeof words);
    request.set_trace_id(trace);
    request.set_begin_unix_ns(now + r * 1000);
    request.set_duration_ns(1'000'000 + r * 1000);
    request.set_running_ns(900'000);
    request.set_method(1);
    request.set_route(2);
    request.set_status(200);
    request.set_flags(1);
    auto& spans = *request.mutable_spans();
    for (std::uint32_t i = 0; i < setting.spans; ++i) {
      spans.add_method(3 + i % kMethods);
      spans.add_parent(i);
      spans.add_begin_ns(i * 1000);
      spans.add_duration_ns(900'000 - i * 1000);
      spans.add_self_ns(1000);
      spans.add_thread(7);
    }
  }
  return batch.SerializeAsString();
}

class Relay {
 public:
  Relay(const Setting& setting, std::size_t number, Tally& tally)
      : setting_(setting), number_(number), tally_(tally) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
    stub_ = v1::Ingest::NewStub(
        grpc::CreateCustomChannel(setting.address, grpc::InsecureChannelCredentials(), arguments));
  }

  void open() {
    const std::lock_guard lock{mutex_};
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_wait_for_ready(true);
    sent_ = 0, window_ = 0, writing_ = true, broken_ = false, done_ = false;
    call_ = std::make_unique<Call>(*this);
    stub_->async()->Stream(context_.get(), call_.get());
    message_.Clear();
    message_.mutable_hello()->set_protocol(1);
    message_.mutable_hello()->set_now_unix_ns(
        static_cast<std::uint64_t>(wall_now().time_since_epoch().count()));
    call_->StartWrite(&message_);
    call_->StartRead(&answer_);
    call_->StartCall();
  }

  // From the only thread that hands over.
  void add() {
    Waiting one{.since = TraceClock::now(), .counts = tally_.counts};
    one.envelope.set_id(fmt::format("relays-{}-{:06}-{:08}", ::getpid(), number_, made_));
    const auto text = batch_text(setting_, number_, made_++);
    one.envelope.set_batch_zstd(zstd_block(as_bytes(text), 1));
    const std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(one));
    write_more();
  }
  // It ended: true, once, after a pause.
  bool wants_to_open() {
    const std::lock_guard lock{mutex_};
    return done_ && TraceClock::now() >= again_;
  }
  bool delivered_all() {
    const std::lock_guard lock{mutex_};
    return waiting_.empty();
  }
  void close() {
    const std::lock_guard lock{mutex_};
    closing_ = true;
    if (context_) context_->TryCancel();
  }
  bool ended() {
    const std::lock_guard lock{mutex_};
    return done_;
  }

 private:
  // gRPC calls it on threads of its own; it lives until the next one is opened.
  class Call final : public grpc::ClientBidiReactor<v1::IngestRequest, v1::IngestResponse> {
   public:
    explicit Call(Relay& relay) : relay_(relay) {}
    void OnReadDone(bool ok) override { relay_.on_read(ok); }
    void OnWriteDone(bool ok) override { relay_.on_write(ok); }
    void OnDone(const grpc::Status& status) override { relay_.on_done(status); }

   private:
    Relay& relay_;
  };

  void on_read(bool ok) {
    const std::lock_guard lock{mutex_};
    if (!ok) {
      broken_ = true;
      return;
    }
    if (answer_.has_welcome()) {
      window_ = answer_.welcome().max_unacknowledged();
      if (!greeted_) ++tally_.connected;
      greeted_ = true;
    } else if (answer_.has_acknowledgement() && !waiting_.empty()) {
      note(waiting_.front(), answer_.acknowledgement().outcome());
      waiting_.pop_front();
      --sent_;
    }
    write_more();
    call_->StartRead(&answer_);
  }
  void on_write(bool ok) {
    const std::lock_guard lock{mutex_};
    writing_ = false;
    if (ok)
      write_more();
    else
      broken_ = true;
  }
  void on_done(const grpc::Status& status) {
    const std::lock_guard lock{mutex_};
    done_ = true;
    again_ = TraceClock::now() + milliseconds{200};  // as a relay waits
    if (closing_) return;
    const std::lock_guard tally{tally_.mutex};
    if (++tally_.streams_lost == 1) fmt::print(stderr, "{}\n", status.error_message());
  }

  struct Waiting {
    TraceTime since{};
    bool counts = false;
    v1::BatchEnvelope envelope{};
  };

  void write_more() {
    if (writing_ || broken_ || done_ || sent_ >= waiting_.size() || sent_ >= window_) return;
    writing_ = true;
    message_.Clear();
    *message_.mutable_batch() = waiting_[sent_++].envelope;
    call_->StartWrite(&message_);
  }
  void note(const Waiting& one, v1::Acknowledgement::Outcome outcome) {
    const std::chrono::duration<double, std::milli> time = TraceClock::now() - one.since;
    const std::lock_guard lock{tally_.mutex};
    if (one.counts) tally_.times.push_back(time.count());
    auto& count = outcome == v1::Acknowledgement::OUTCOME_STORED      ? tally_.stored
                  : outcome == v1::Acknowledgement::OUTCOME_DUPLICATE ? tally_.duplicates
                                                                      : tally_.refused;
    ++count;
  }

  const Setting& setting_;
  const std::size_t number_;
  Tally& tally_;
  std::unique_ptr<v1::Ingest::Stub> stub_;
  std::uint64_t made_ = 0;
  std::mutex mutex_;  // all below
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<Call> call_;
  v1::IngestRequest message_;
  v1::IngestResponse answer_;
  std::deque<Waiting> waiting_;  // the first `sent_` were sent on this stream
  std::size_t sent_ = 0, window_ = 0;
  TraceTime again_{};
  bool writing_ = false, broken_ = false, done_ = false, greeted_ = false, closing_ = false;
};

void print(Tally& tally) {
  const std::lock_guard lock{tally.mutex};
  auto& times = tally.times;
  std::sort(times.begin(), times.end());
  const auto at = [&](double share) {
    if (times.empty()) return 0.0;
    return times[std::min(times.size() - 1,
                          static_cast<std::size_t>(share * static_cast<double>(times.size())))];
  };
  fmt::print(
      "counted {} batches\nstored {} batches\nduplicates {} batches\nrefused {} batches\nlost {} "
      "streams\n",
      times.size(), tally.stored, tally.duplicates, tally.refused, tally.streams_lost);
  fmt::print("p50 {} ms\np99 {} ms\nmax {} ms\n", at(0.5), at(0.99), at(1));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 3;
  const auto number = [&](int at) { return std::strtoull(argv[at], nullptr, 10); };
  const Setting setting{argv[1], number(2), milliseconds{number(3)}, number(4), number(5)};
  Tally tally;
  std::vector<std::unique_ptr<Relay>> relays;
  for (std::size_t i = 0; i < setting.streams; ++i)
    relays.emplace_back(std::make_unique<Relay>(setting, i, tally))->open();
  std::atomic<bool> ended{false};
  std::thread commands{[&] {
    for (std::string line; std::getline(std::cin, line);) tally.counts = line == "begin";
    ended = true;
  }};
  bool told = false;
  const auto tick = [&] {
    if (!told && tally.connected == setting.streams) {
      told = true;
      fmt::print("connected {} streams\n", setting.streams);
      std::fflush(stdout);
    }
    for (const auto& relay : relays)
      if (relay->wants_to_open()) relay->open();
    std::this_thread::sleep_for(milliseconds{1});
  };
  // Each in its turn, so that they do not all send at the same instant.
  const auto start = TraceClock::now();
  std::uint64_t added = 0;
  while (!ended) {
    const auto due = static_cast<std::uint64_t>(
        static_cast<double>(setting.streams) *
        (std::chrono::duration<double, std::milli>{TraceClock::now() - start} / setting.every));
    for (; added < due && setting.every > milliseconds{0}; ++added)
      relays[added % relays.size()]->add();
    tick();
  }
  const Deadline deadline{std::chrono::seconds{60}};
  while (!deadline.passed() &&
         !std::all_of(relays.begin(), relays.end(), [](auto& one) { return one->delivered_all(); }))
    tick();
  print(tally);
  for (const auto& relay : relays) relay->close();
  while (!std::all_of(relays.begin(), relays.end(), [](auto& one) { return one->ended(); }))
    std::this_thread::sleep_for(milliseconds{1});
  commands.join();
  return 0;
}
