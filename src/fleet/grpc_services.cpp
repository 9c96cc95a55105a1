#include "fleet/grpc_services.h"

#include <deque>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "fleet/convert.h"
#include "fleet/grpc_entry.h"
#include "fleet/rest_configurations.h"

namespace clrscope::fleet {
namespace {

using Reactor = grpc::ServerBidiReactor<v1::IngestRequest, v1::IngestResponse>;

// A stream that is refused before anything is read.
class Refused final : public Reactor {
 public:
  explicit Refused(const grpc::Status& status) { Finish(status); }
  void OnDone() override {
    delete this;
  }  // NOLINT(cppcoreguidelines-owning-memory): as gRPC has it
};

// One host's stream. gRPC calls it on threads of its own, the committer on another: one lock. It
// lives until OnDone(); batches on their way keep it alive longer.
class HostStream final : public Reactor, public std::enable_shared_from_this<HostStream> {
 public:
  HostStream(IngestService& service, Tenant& tenant) : service_(service), tenant_(tenant) {}
  void begin() {
    self_ = shared_from_this();
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    const std::lock_guard lock{mutex_};
    if (!ok) {
      read_ended_ = true;
      end_when_done();
      return;
    }
    if (request_.has_hello())
      greet(request_.hello());
    else if (request_.has_batch())
      take(request_.batch());
    else
      finish({grpc::StatusCode::INVALID_ARGUMENT, "a message holds neither hello nor batch"});
    read_more();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard lock{mutex_};
    writing_ = false;
    if (finished_) return Finish(status_);
    if (!ok) return finish(grpc::Status::CANCELLED);
    answers_.pop_front();
    write_more();
    if (paused_) read_more();
    end_when_done();
  }

  void OnCancel() override {
    const std::lock_guard lock{mutex_};
    finish(grpc::Status::CANCELLED);
  }

  void OnDone() override {
    std::shared_ptr<HostStream> self;  // goes last: after the lock
    std::optional<Held> held;          // has the stream in it
    const std::lock_guard lock{mutex_};
    gone_ = true;
    if (held_) held.emplace(*std::move(held_));
    held_.reset();
    self = std::move(self_);
  }

 private:
  // What the quota of series took out of a batch.
  struct Refusal {
    std::uint64_t requests = 0;
    bool all = false;
  };

  // A batch for which the committer has no room yet.
  struct Held {
    store::Batch batch{};
    Committer::Done done{};
    ByteBudget::Lease bytes;
  };

  void greet(const v1::Hello& hello) {
    if (greeted_ || hello.protocol() == 0)
      return finish({grpc::StatusCode::INVALID_ARGUMENT,
                     greeted_ ? "hello must be sent once" : "hello.protocol must be at least 1"});
    greeted_ = true;
    skew_ = wall_now().time_since_epoch().count() - static_cast<std::int64_t>(hello.now_unix_ns());
    const auto& setting = service_.setting();
    auto& welcome = *answers_.emplace_back().mutable_welcome();
    welcome.set_protocol(std::min(hello.protocol(), kProtocol));
    welcome.set_server(setting.server);
    welcome.set_max_unacknowledged(setting.max_unacknowledged);
    welcome.set_max_batch_bytes(setting.max_batch_bytes);
    welcome.set_retention_seconds(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::seconds>(tenant_.retention()).count()));
    welcome.set_skew_ns(skew_);
    write_more();
  }

  // Of request_.
  void take(const v1::BatchEnvelope& envelope) {
    if (!greeted_)
      return finish({grpc::StatusCode::INVALID_ARGUMENT, "the first message must be hello"});
    const auto bytes = envelope.ByteSizeLong();
    auto id = envelope.id();
    auto batch = batch_of(envelope, service_.setting().max_batch_bytes);
    request_.Clear();  // the envelope too: it may wait for long
    Refusal refusal;
    if (batch) {
      const auto requests = batch->requests.size();
      const auto gone = tenant_.take(*batch, bytes);
      if (!gone)
        return finish({gone.error().code == Errc::kDenied ? grpc::StatusCode::PERMISSION_DENIED
                                                          : grpc::StatusCode::RESOURCE_EXHAUSTED,
                       gone.error().what});
      batch->skew = skew_;
      refusal = {.requests = *gone, .all = *gone > 0 && *gone == requests};
    }
    Committer::Done done = [self = shared_from_this(), id = std::move(id),
                            refusal](const Result<store::Stored>& stored) {
      self->acknowledge(id, stored, refusal);
    };
    auto& committer = tenant_.committer();
    if (!batch && !committer.offer_refusal(batch.error().what, std::move(done)))
      return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the store is behind: retry later"});
    ++on_the_way_;
    if (!batch || committer.offer(*batch, done)) return;
    auto room = service_.held().take(Committer::bytes_of(*batch));
    if (!room) {
      --on_the_way_;
      return finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                     "too many batches wait for the store: retry later"});
    }
    held_.emplace(Held{std::move(*batch), std::move(done), *std::move(room)});
    offer_held();  // nothing is read meanwhile
  }

  // Under the lock: after each transaction until it fits.
  void offer_held() {
    auto& committer = tenant_.committer();
    committer.when_room([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      const std::lock_guard lock{self->mutex_};
      if (!self->held_ || self->finished_ || self->gone_) return;
      self->offer_held();
      if (!self->held_ && self->paused_) self->read_more();
    });
    if (committer.offer(held_->batch, held_->done, Committer::Line::kWaiting)) held_.reset();
  }

  void acknowledge(const std::string& id, const Result<store::Stored>& stored,
                   const Refusal& refusal) {
    const std::lock_guard lock{mutex_};
    --on_the_way_;
    if (stored && stored->outcome == store::Stored::Outcome::kStored)
      tenant_.count_refused(refusal.requests);
    if (gone_) return;
    if (!stored) {
      log(LogLevel::kWarning, "cannot store a batch: {}", stored.error().what);
      return finish({grpc::StatusCode::UNAVAILABLE, stored.error().code == Errc::kNoRoom
                                                        ? "the disk of the server is full"
                                                        : "cannot store: retry later"});
    }
    using Outcome = store::Stored::Outcome;
    auto& answer = *answers_.emplace_back().mutable_acknowledgement();
    answer.set_id(id);
    answer.set_outcome(stored->outcome == Outcome::kStored ? v1::Acknowledgement::OUTCOME_STORED
                       : stored->outcome == Outcome::kDuplicate
                           ? v1::Acknowledgement::OUTCOME_DUPLICATE
                           : v1::Acknowledgement::OUTCOME_REFUSED);
    answer.set_reason(stored->reason);
    if (refusal.requests > 0 && stored->outcome == Outcome::kStored) {
      if (refusal.all) answer.set_outcome(v1::Acknowledgement::OUTCOME_REFUSED);
      answer.set_refused_requests(refusal.requests);
      answer.set_reason("the tenant has as many routes as its quota allows");
    }
    write_more();
    if (paused_) read_more();
  }

  void read_more() {
    paused_ = held_ || on_the_way_ + answers_.size() >= 2 * service_.setting().max_unacknowledged;
    if (!paused_ && !finished_) StartRead(&request_);
  }
  void write_more() {
    if (writing_ || finished_ || answers_.empty()) return;
    writing_ = true;
    StartWrite(&answers_.front());
  }
  void end_when_done() {
    if (read_ended_ && on_the_way_ == 0 && answers_.empty()) finish(grpc::Status::OK);
  }
  void finish(const grpc::Status& status) {
    if (finished_) return;
    finished_ = true;
    status_ = status;
    if (!writing_) Finish(status);  // else after the write
  }

  IngestService& service_;
  Tenant& tenant_;
  std::mutex mutex_;
  std::shared_ptr<HostStream> self_;  // gRPC's
  v1::IngestRequest request_;
  std::deque<v1::IngestResponse> answers_;  // the first is being written
  std::optional<Held> held_;
  grpc::Status status_;  // once finished
  std::int64_t skew_ = 0;
  std::size_t on_the_way_ = 0;
  bool greeted_ = false, writing_ = false, read_ended_ = false, paused_ = false;
  bool finished_ = false, gone_ = false;
};

}  // namespace

Reactor* IngestService::Stream(grpc::CallbackServerContext* context) {
  const auto entry = enter(*context, access_, Scope::kIngest, "ingest");
  if (!entry.ok()) return new Refused{entry.status};  // deletes itself in OnDone
  auto stream = std::make_shared<HostStream>(*this, entry.tenant());
  stream->begin();
  return stream.get();
}

namespace {

std::chrono::seconds step_of(std::uint64_t seconds) {
  constexpr std::uint64_t kLongestStep = 366ULL * 86'400;
  return std::chrono::seconds{std::min(seconds, kLongestStep)};
}

// Both 0: all.
double end_of_band(double to_percentile) { return to_percentile == 0 ? 100 : to_percentile; }

}  // namespace

grpc::Status QueryService::Services(grpc::ServerContext* context, const v1::TimeRange* request,
                                    v1::ServicesAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC Services");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  const auto found = entry.store().services(range_of(*request));
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_services());
  return grpc::Status::OK;
}

grpc::Status QueryService::Routes(grpc::ServerContext* context, const v1::RoutesRequest* request,
                                  v1::RoutesAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC Routes");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  const auto found =
      entry.store().routes(selection_of(request->selection()), step_of(request->step_seconds()));
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_routes());
  return grpc::Status::OK;
}

grpc::Status QueryService::Flame(grpc::ServerContext* context, const v1::FlameRequest* request,
                                 v1::FlameAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC Flame");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  const store::FlameQuery query{.selection = selection_of(request->selection()),
                                .from_percentile = request->from_percentile(),
                                .to_percentile = end_of_band(request->to_percentile()),
                                .weight = request->weight() == v1::FLAME_WEIGHT_CPU
                                              ? store::FlameWeight::kCpu
                                              : store::FlameWeight::kRunning};
  const auto found = entry.store().flame(query);
  if (!found) return status_of(found.error());
  fill(*found, *answer);
  return grpc::Status::OK;
}

grpc::Status QueryService::FindRequest(grpc::ServerContext* context,
                                       const v1::FindRequestRequest* request,
                                       v1::FindRequestAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC FindRequest");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  const auto trace = trace_id_of(request->trace_id());
  if (!trace) return status_of(trace.error());
  const auto found = entry.store().find(*trace);
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_requests());
  return grpc::Status::OK;
}

grpc::Status QueryService::Hosts(grpc::ServerContext* context, const v1::HostsRequest* /*request*/,
                                 v1::HostsAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC Hosts");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  auto found = entry.store().hosts();
  if (!found) return status_of(found.error());
  if (const auto added = add_configurations(entry.tenant(), *found); !added)
    return status_of(added.error());
  for (const auto& one : *found) fill(one, *answer->add_hosts());
  return grpc::Status::OK;
}

grpc::Status QueryService::Series(grpc::ServerContext* context, const v1::SeriesRequest* request,
                                  v1::SeriesAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC Series");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  if (!v1::SeriesRequest::GroupBy_IsValid(request->by()))
    return {grpc::StatusCode::INVALID_ARGUMENT, "by is not a known group"};
  const store::SeriesQuery query{.selection = selection_of(request->selection()),
                                 .by = static_cast<store::GroupBy>(request->by()),
                                 .step = step_of(request->step_seconds()),
                                 .now = wall_now()};
  if (query.selection.service.empty() && query.by != store::GroupBy::kService)
    return {grpc::StatusCode::INVALID_ARGUMENT, "selection.service is required"};
  const auto found = entry.store().series(query);
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_series());
  return grpc::Status::OK;
}

grpc::Status QueryService::SlowestRequests(grpc::ServerContext* context,
                                           const v1::SlowestRequestsRequest* request,
                                           v1::SlowestRequestsAnswer* answer) {
  const auto entry = enter(*context, access_, Scope::kRead, "gRPC SlowestRequests");
  if (!entry.ok()) return entry.status;
  const auto turn = turn_of(context);
  if (!turn.ok()) return turn.status();
  constexpr std::uint32_t kUsual = 100, kMost = 1000;
  if (request->limit() > kMost)
    return {grpc::StatusCode::INVALID_ARGUMENT, "limit must be between 1 and 1000"};
  const store::SlowestQuery query{.selection = selection_of(request->selection()),
                                  .from_percentile = request->from_percentile(),
                                  .to_percentile = end_of_band(request->to_percentile()),
                                  .limit = request->limit() == 0 ? kUsual : request->limit()};
  const auto found = entry.store().slowest(query);
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_requests());
  return grpc::Status::OK;
}

}  // namespace clrscope::fleet
