#include "fleet/query_gate.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "fleet/grpc_services.h"
#include "fleet/test_grpc.h"
#include "store/cancel.h"

namespace clrscope::fleet {
namespace {

TEST(QueryGate, LetsTheNextQueryInWhenOneEnds) {
  QueryGate gate{1, 1};
  auto first = std::make_optional(gate.enter().value());
  std::jthread second{[&] { EXPECT_TRUE(gate.enter()); }};
  while (gate.waiting() == 0) std::this_thread::yield();
  EXPECT_FALSE(gate.enter());  // one waits already
  first.reset();
  second.join();
  EXPECT_TRUE(gate.enter());
}

TEST(QueryGate, DoesNotKeepAQueryForWhichNobodyWaits) {
  QueryGate gate{1, 1};
  const auto first = gate.enter().value();
  std::stop_source stop;
  std::jthread second{[&] {
    const store::CancelScope scope{stop.get_token()};
    EXPECT_FALSE(gate.enter());
  }};
  while (gate.waiting() == 0) std::this_thread::yield();
  stop.request_stop();
  second.join();
  EXPECT_EQ(gate.waiting(), 0U);
}

TEST(QueryGate, LetsOthersInWhileAQueryWaitsForItsClient) {
  QueryGate gate{1, 1};
  auto lagging = gate.enter().value();
  lagging.step_out();
  auto other = std::make_optional(gate.enter().value());
  std::jthread third{[&] { EXPECT_TRUE(gate.enter()); }};
  while (gate.waiting() == 0) std::this_thread::yield();
  EXPECT_FALSE(gate.enter()) << "too many wait";
  std::atomic<bool> came_back{false};
  std::jthread back{[&] { came_back = lagging.step_in().has_value(); }};
  while (gate.waiting() < 2) std::this_thread::yield();
  other.reset();
  third.join();
  back.join();
  EXPECT_TRUE(came_back);
  std::stop_source stop;
  stop.request_stop();
  const store::CancelScope scope{stop.get_token()};
  EXPECT_FALSE(gate.enter()) << "it has its place again";
}

TEST(QueryGate, HoldsForQueriesOverGrpc) {
  SKIP_UNDER_THREAD_SANITIZER();
  std::string folder = testing::TempDir() + "gate.XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  {
    const auto tenants = Tenants::open({.store = "sqlite:" + folder + "/a.db"}).value();
    const auto tokens = Tokens::open("").value();
    const auto audit = FleetAudit::open("").value();
    QueryGate gate{1, 0};
    QueryService service{{tokens, *audit, *tenants}, gate};
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service);
    const auto server = builder.BuildAndStart();
    const auto stub = v1::Query::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                             grpc::InsecureChannelCredentials()));
    const auto ask = [&] {
      grpc::ClientContext context;
      v1::ServicesAnswer answer;
      return stub->Services(&context, {}, &answer).error_code();
    };
    EXPECT_EQ(ask(), grpc::StatusCode::OK);
    {
      const auto other = gate.enter().value();
      EXPECT_EQ(ask(), grpc::StatusCode::RESOURCE_EXHAUSTED);
    }
    EXPECT_EQ(ask(), grpc::StatusCode::OK);
    server->Shutdown();
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace clrscope::fleet
