#include "fleet/grpc_services.h"

#include <deque>
#include <mutex>

#include "base/log.h"
#include "fleet/convert.h"

namespace clrscope::fleet {
namespace {

using Reactor = grpc::ServerBidiReactor<v1::IngestRequest, v1::IngestResponse>;

grpc::Status admit(const grpc::ServerContextBase& context, const Access& access, Scope scope,
                   std::string_view what) {
  const auto& fields = context.client_metadata();
  const auto found = fields.find("authorization");
  const std::string_view word = found == fields.end()
                                    ? std::string_view{}
                                    : std::string_view{found->second.data(), found->second.size()};
  switch (access.check(word, scope, what, context.peer())) {
    case Access::Answer::kYes:
      return grpc::Status::OK;
    case Access::Answer::kNoToken:
      return {grpc::StatusCode::UNAUTHENTICATED,
              "send the metadata authorization: Bearer TOKEN with a valid token"};
    case Access::Answer::kWrongScope:
      break;
  }
  return {grpc::StatusCode::PERMISSION_DENIED, "the token does not have the required scope"};
}

grpc::Status status_of(const Error& error) {
  const auto code = error.code == Errc::kUsage      ? grpc::StatusCode::INVALID_ARGUMENT
                    : error.code == Errc::kNotFound ? grpc::StatusCode::NOT_FOUND
                    : error.code == Errc::kTooLarge ? grpc::StatusCode::RESOURCE_EXHAUSTED
                    : error.code == Errc::kCorrupt  ? grpc::StatusCode::DATA_LOSS
                    : error.code == Errc::kGone     ? grpc::StatusCode::CANCELLED
                                                    : grpc::StatusCode::UNAVAILABLE;
  return {code, error.what};
}

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
  explicit HostStream(IngestService& service) : service_(service) {}
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
    const std::lock_guard lock{mutex_};
    gone_ = true;
    self = std::move(self_);
  }

 private:
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
        std::chrono::duration_cast<std::chrono::seconds>(setting.retention).count()));
    welcome.set_skew_ns(skew_);
    write_more();
  }

  void take(const v1::BatchEnvelope& envelope) {
    if (!greeted_)
      return finish({grpc::StatusCode::INVALID_ARGUMENT, "the first message must be hello"});
    auto done = [self = shared_from_this(), id = envelope.id()](
                    const Result<store::Stored>& stored) { self->acknowledge(id, stored); };
    auto batch = batch_of(envelope, service_.setting().max_batch_bytes);
    if (batch && !service_.within_limit(*batch))
      return finish({grpc::StatusCode::RESOURCE_EXHAUSTED,
                     "the host sends more than the server allows: retry later"});
    if (batch) batch->skew = skew_;
    const bool offered =
        batch ? service_.committer().offer(std::move(*batch), std::move(done))
              : service_.committer().offer_refusal(batch.error().what, std::move(done));
    if (!offered)
      return finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the store is behind: retry later"});
    ++on_the_way_;
  }

  void acknowledge(const std::string& id, const Result<store::Stored>& stored) {
    const std::lock_guard lock{mutex_};
    --on_the_way_;
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
    write_more();
    if (paused_) read_more();
  }

  void read_more() {
    paused_ = on_the_way_ + answers_.size() >= 2 * service_.setting().max_unacknowledged;
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
  std::mutex mutex_;
  std::shared_ptr<HostStream> self_;  // gRPC's
  v1::IngestRequest request_;
  std::deque<v1::IngestResponse> answers_;  // the first is being written
  grpc::Status status_;                     // once finished
  std::int64_t skew_ = 0;
  std::size_t on_the_way_ = 0;
  bool greeted_ = false, writing_ = false, read_ended_ = false, paused_ = false;
  bool finished_ = false, gone_ = false;
};

}  // namespace

Reactor* IngestService::Stream(grpc::CallbackServerContext* context) {
  if (const auto status = admit(*context, access_, Scope::kIngest, "ingest"); !status.ok())
    return new Refused{status};  // deletes itself in OnDone
  auto stream = std::make_shared<HostStream>(*this);
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
  if (auto status = admit(*context, access_, Scope::kRead, "gRPC Services"); !status.ok())
    return status;
  const auto watched = watch(context);
  const auto found = store_.services(range_of(*request));
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_services());
  return grpc::Status::OK;
}

grpc::Status QueryService::Routes(grpc::ServerContext* context, const v1::RoutesRequest* request,
                                  v1::RoutesAnswer* answer) {
  if (auto status = admit(*context, access_, Scope::kRead, "gRPC Routes"); !status.ok())
    return status;
  const auto watched = watch(context);
  const auto found =
      store_.routes(selection_of(request->selection()), step_of(request->step_seconds()));
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_routes());
  return grpc::Status::OK;
}

grpc::Status QueryService::Flame(grpc::ServerContext* context, const v1::FlameRequest* request,
                                 v1::FlameAnswer* answer) {
  if (auto status = admit(*context, access_, Scope::kRead, "gRPC Flame"); !status.ok())
    return status;
  const auto watched = watch(context);
  const store::FlameQuery query{.selection = selection_of(request->selection()),
                                .from_percentile = request->from_percentile(),
                                .to_percentile = end_of_band(request->to_percentile()),
                                .weight = request->weight() == v1::FLAME_WEIGHT_CPU
                                              ? store::FlameWeight::kCpu
                                              : store::FlameWeight::kRunning};
  const auto found = store_.flame(query);
  if (!found) return status_of(found.error());
  fill(*found, *answer);
  return grpc::Status::OK;
}

grpc::Status QueryService::FindRequest(grpc::ServerContext* context,
                                       const v1::FindRequestRequest* request,
                                       v1::FindRequestAnswer* answer) {
  if (auto status = admit(*context, access_, Scope::kRead, "gRPC FindRequest"); !status.ok())
    return status;
  const auto watched = watch(context);
  const auto trace = trace_id_of(request->trace_id());
  if (!trace) return status_of(trace.error());
  const auto found = store_.find(*trace);
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_requests());
  return grpc::Status::OK;
}

grpc::Status QueryService::Hosts(grpc::ServerContext* context, const v1::HostsRequest* /*request*/,
                                 v1::HostsAnswer* answer) {
  if (auto status = admit(*context, access_, Scope::kRead, "gRPC Hosts"); !status.ok())
    return status;
  const auto watched = watch(context);
  const auto found = store_.hosts();
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_hosts());
  return grpc::Status::OK;
}

grpc::Status QueryService::Series(grpc::ServerContext* context, const v1::SeriesRequest* request,
                                  v1::SeriesAnswer* answer) {
  if (auto status = admit(*context, access_, Scope::kRead, "gRPC Series"); !status.ok())
    return status;
  const auto watched = watch(context);
  if (!v1::SeriesRequest::GroupBy_IsValid(request->by()))
    return {grpc::StatusCode::INVALID_ARGUMENT, "by is not a known group"};
  const store::SeriesQuery query{.selection = selection_of(request->selection()),
                                 .by = static_cast<store::GroupBy>(request->by()),
                                 .step = step_of(request->step_seconds()),
                                 .now = wall_now()};
  if (query.selection.service.empty() && query.by != store::GroupBy::kService)
    return {grpc::StatusCode::INVALID_ARGUMENT, "selection.service is required"};
  const auto found = store_.series(query);
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_series());
  return grpc::Status::OK;
}

grpc::Status QueryService::SlowestRequests(grpc::ServerContext* context,
                                           const v1::SlowestRequestsRequest* request,
                                           v1::SlowestRequestsAnswer* answer) {
  if (auto status = admit(*context, access_, Scope::kRead, "gRPC SlowestRequests"); !status.ok())
    return status;
  const auto watched = watch(context);
  constexpr std::uint32_t kUsual = 100, kMost = 1000;
  if (request->limit() > kMost)
    return {grpc::StatusCode::INVALID_ARGUMENT, "limit must be between 1 and 1000"};
  const store::SlowestQuery query{.selection = selection_of(request->selection()),
                                  .from_percentile = request->from_percentile(),
                                  .to_percentile = end_of_band(request->to_percentile()),
                                  .limit = request->limit() == 0 ? kUsual : request->limit()};
  const auto found = store_.slowest(query);
  if (!found) return status_of(found.error());
  for (const auto& one : *found) fill(one, *answer->add_requests());
  return grpc::Status::OK;
}

}  // namespace clrscope::fleet
