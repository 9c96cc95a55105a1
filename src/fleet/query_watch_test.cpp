#include "fleet/query_watch.h"

#include <gtest/gtest.h>

#include <atomic>

#include "fleet/grpc_services.h"
#include "fleet/test_grpc.h"

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

// A service whose queries go on until they are cancelled.
class EndlessQueries final : public v1::Query::Service {
 public:
  std::atomic<bool> asked{false}, ended{false};

  grpc::Status Services(grpc::ServerContext* context, const v1::TimeRange* /*request*/,
                        v1::ServicesAnswer* /*answer*/) override {
    const QueryWatch::Query watched{watch_, [context] { return context->IsCancelled(); }};
    asked = true;
    wait_until_cancelled();
    ended = true;
    return grpc::Status::CANCELLED;
  }

 private:
  QueryWatch watch_;
};

TEST(QueryWatch, CancelsTheQueryOfAGrpcClientThatLeaves) {
  SKIP_UNDER_THREAD_SANITIZER();
  EndlessQueries service;
  grpc::ServerBuilder builder;
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  const auto stub = v1::Query::NewStub(
      grpc::CreateChannel("127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const std::jthread leaves{[&] {
    while (!service.asked) std::this_thread::yield();
    context.TryCancel();
  }};
  v1::ServicesAnswer answer;
  EXPECT_EQ(stub->Services(&context, {}, &answer).error_code(), grpc::StatusCode::CANCELLED);
  while (!service.ended) std::this_thread::yield();
  server->Shutdown();
}

}  // namespace
}  // namespace clrscope::fleet
