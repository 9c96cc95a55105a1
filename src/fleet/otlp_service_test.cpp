#include "fleet/otlp_service.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "fleet/test_grpc.h"

namespace clrscope::fleet {
namespace {

using testing::HasSubstr;

class OtlpServiceTest : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNDER_THREAD_SANITIZER();
    std::string name = testing::TempDir() + "otlp.XXXXXX";
    folder_ = ::mkdtemp(name.data());
    token_ = add_token(folder_ + "/tokens", "sdk", "ingest", "").value();
    tokens_.emplace(Tokens::open(folder_ + "/tokens").value());
    audit_ = FleetAudit::open("").value();
    tenants_ = Tenants::open({.store = "sqlite:" + folder_ + "/a.db"}).value();
    service_.emplace(Access{*tokens_, *audit_, *tenants_});
    grpc::ServerBuilder builder;
    int port = 0;
    builder.SetMaxReceiveMessageSize(20 << 20);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&*service_);
    server_ = builder.BuildAndStart();
    stub_.emplace(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                      grpc::InsecureChannelCredentials()));
  }
  void TearDown() override {
    if (!server_) return;
    server_->Shutdown();
    server_->Wait();
    service_.reset();
    tenants_.reset();
    std::filesystem::remove_all(folder_);
  }

  grpc::Status send(const std::string& bytes, const std::string& token) {
    grpc::ClientContext context;
    if (!token.empty()) context.AddMetadata("authorization", "Bearer " + token);
    const grpc::Slice slice{bytes};
    const grpc::ByteBuffer request{&slice, 1};
    grpc::ByteBuffer response;
    grpc::Status status;
    grpc::CompletionQueue queue;
    const auto call = stub_->PrepareUnaryCall(
        &context, "/opentelemetry.proto.collector.trace.v1.TraceService/Export", request, &queue);
    call->StartCall();
    call->Finish(&response, &status, this);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return status;
  }

  std::string folder_, token_;
  std::optional<Tokens> tokens_;
  std::unique_ptr<FleetAudit> audit_;
  std::unique_ptr<Tenants> tenants_;
  std::optional<OtlpService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<grpc::GenericStub> stub_;
};

// Who reads a message that is none answers that it is none: another answer was given before.
TEST_F(OtlpServiceTest, LooksAtTokenAndSizeBeforeItReadsAMessage) {
  const std::string nonsense(100, '\xff'), large(kMostOtlpBytes + 1, '\xff');
  EXPECT_EQ(send(nonsense, "").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(send(nonsense, "wrong").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(send(large, "").error_code(), grpc::StatusCode::UNAUTHENTICATED);
  const auto refused = send(large, token_);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("larger than"));
  const auto unread = send(nonsense, token_);
  EXPECT_EQ(unread.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(unread.error_message(), HasSubstr("not an ExportTraceServiceRequest"));
  EXPECT_TRUE(send("", token_).ok()) << "a message without spans";
}

}  // namespace
}  // namespace clrscope::fleet
