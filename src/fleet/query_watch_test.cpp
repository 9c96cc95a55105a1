#include "fleet/query_watch.h"

#include <gtest/gtest.h>

#include <atomic>

#include "fleet/grpc_services.h"

namespace clrscope::fleet {
namespace {

void wait_until_cancelled() {
  while (store::check_cancelled()) std::this_thread::yield();
}

TEST(QueryWatch, CancelsTheQueryOfACallerWhoLeaves) {
  QueryWatch watch;
  std::atomic<bool> gone{false};
  const QueryWatch::Query query{watch, [&] { return gone.load(); }};
  EXPECT_TRUE(store::check_cancelled());
  gone = true;
  wait_until_cancelled();
}

TEST(QueryWatch, LeavesOtherQueriesAlone) {
  QueryWatch watch;
  {
    const QueryWatch::Query query{watch, [] { return true; }};
    std::jthread{[&] {
      const QueryWatch::Query patient{watch, [] { return false; }};
      const QueryWatch::Query impatient{watch, [] { return true; }};
      wait_until_cancelled();
    }};
    wait_until_cancelled();
  }
  EXPECT_TRUE(store::check_cancelled()) << "the next query of this thread is not cancelled";
}

// A store whose queries go on until they are cancelled.
class EndlessStore final : public store::Store {
 public:
  std::atomic<bool> asked{false}, ended{false};

  Result<std::vector<store::ServiceSummary>> services(const store::TimeRange&) override {
    asked = true;
    wait_until_cancelled();
    ended = true;
    return store::cancelled();
  }
  Result<std::vector<store::Stored>> add(std::span<const store::Batch>, WallTime) override {
    return store::cancelled();
  }
  Result<std::vector<store::RouteSummary>> routes(const store::Selection&,
                                                  std::chrono::nanoseconds) override {
    return store::cancelled();
  }
  Result<std::vector<store::Series>> series(const store::SeriesQuery&) override {
    return store::cancelled();
  }
  Result<std::vector<store::StoredRequest>> slowest(const store::SlowestQuery&) override {
    return store::cancelled();
  }
  Result<store::Flame> flame(const store::FlameQuery&) override { return store::cancelled(); }
  Result<std::vector<store::StoredRequest>> find(const TraceId&) override {
    return store::cancelled();
  }
  Result<std::vector<store::HostSummary>> hosts() override { return store::cancelled(); }
  Result<> expire(WallTime) override { return {}; }
  Result<> compact(WallTime) override { return {}; }
};

TEST(QueryWatch, CancelsTheQueryOfAGrpcClientThatLeaves) {
  EndlessStore store;
  const auto tokens = Tokens::open("");
  const auto audit = FleetAudit::open("");
  ASSERT_TRUE(tokens && audit);
  QueryService service{store, {*tokens, **audit}};
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::Query::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const std::jthread leaves{[&] {
    while (!store.asked) std::this_thread::yield();
    context.TryCancel();
  }};
  v1::ServicesAnswer answer;
  EXPECT_EQ(stub->Services(&context, {}, &answer).error_code(), grpc::StatusCode::CANCELLED);
  while (!store.ended) std::this_thread::yield();
  server->Shutdown();
}

}  // namespace
}  // namespace clrscope::fleet
