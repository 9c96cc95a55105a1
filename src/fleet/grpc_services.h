// The gRPC services of the fleet server. Includes gRPC: for grpc_services.cpp and server.cpp.
#pragma once

#include <grpcpp/grpcpp.h>

#include <clrscope/fleet/v1/ingest.grpc.pb.h>
#include <clrscope/fleet/v1/query.grpc.pb.h>
#include "fleet/access.h"
#include "fleet/byte_budget.h"
#include "fleet/query_gate.h"
#include "fleet/query_watch.h"

namespace clrscope::fleet {

inline constexpr std::uint32_t kProtocol = 1;

struct IngestSetting {
  std::uint32_t max_unacknowledged = 16;
  std::uint64_t max_batch_bytes = 16 << 20;
  std::uint64_t max_held_bytes = 256 << 20;  // of all streams: batches that wait for room
  std::string server{};                      // name and version
};

// Many streams, few threads: a stream is read only while few of its batches wait for the store.
class IngestService final : public v1::Ingest::CallbackService {
 public:
  IngestService(IngestSetting setting, Access access)
      : setting_(std::move(setting)), access_(access), held_(setting_.max_held_bytes) {}

  grpc::ServerBidiReactor<v1::IngestRequest, v1::IngestResponse>* Stream(
      grpc::CallbackServerContext* context) override;

  const IngestSetting& setting() const { return setting_; }
  ByteBudget& held() { return held_; }

 private:
  const IngestSetting setting_;
  const Access access_;
  ByteBudget held_;
};

// Every method reads the store of its caller's tenant.
class QueryService final : public v1::Query::Service {
 public:
  QueryService(Access access, QueryGate& gate) : access_(access), gate_(gate) {}

  grpc::Status Services(grpc::ServerContext* context, const v1::TimeRange* request,
                        v1::ServicesAnswer* answer) override;
  grpc::Status Routes(grpc::ServerContext* context, const v1::RoutesRequest* request,
                      v1::RoutesAnswer* answer) override;
  grpc::Status Flame(grpc::ServerContext* context, const v1::FlameRequest* request,
                     v1::FlameAnswer* answer) override;
  grpc::Status FindRequest(grpc::ServerContext* context, const v1::FindRequestRequest* request,
                           v1::FindRequestAnswer* answer) override;
  grpc::Status Hosts(grpc::ServerContext* context, const v1::HostsRequest* request,
                     v1::HostsAnswer* answer) override;
  grpc::Status Series(grpc::ServerContext* context, const v1::SeriesRequest* request,
                      v1::SeriesAnswer* answer) override;
  grpc::Status SlowestRequests(grpc::ServerContext* context,
                               const v1::SlowestRequestsRequest* request,
                               v1::SlowestRequestsAnswer* answer) override;
  grpc::Status Compare(grpc::ServerContext* context, const v1::CompareRequest* request,
                       v1::CompareAnswer* answer) override;
  grpc::Status CompareFlame(grpc::ServerContext* context, const v1::CompareFlameRequest* request,
                            v1::CompareFlameAnswer* answer) override;

 private:
  // While it lives, the query runs: it waits for its turn, and is cancelled if the client leaves.
  struct Turn {
    QueryWatch::Query watched;
    Result<QueryGate::Pass> pass;
    bool ok() const { return pass.has_value(); }
    grpc::Status status() const {
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, pass.error().what};
    }
  };
  Turn turn_of(const grpc::ServerContext* context) {
    return {QueryWatch::Query{watch_, [context] { return context->IsCancelled(); }}, gate_.enter()};
  }

  const Access access_;
  QueryGate& gate_;
  QueryWatch watch_;
};

}  // namespace clrscope::fleet
