#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "net/test_certificate.h"

namespace clrscope::net {
namespace {

using testing::HasSubstr;

std::shared_ptr<TlsContext> server_of(const TestCertificate& certificate) {
  return TlsContext::server({.certificate = certificate.certificate(), .key = certificate.key()})
      .value();
}

std::shared_ptr<TlsContext> client_of(const TestCertificate& certificate) {
  return TlsContext::client(certificate.certificate(), TlsContext::Trust::kVerify).value();
}

// Brings bytes to and fro until both agree, or one does not.
Result<> agree(TlsSession& client, TlsSession& server) {
  for (int i = 0; i < 10; ++i) {
    const auto asked = client.handshake();
    server.feed(client.take_output());
    if (!asked) return fail(Error{asked.error()});
    const auto answered = server.handshake();
    client.feed(server.take_output());
    if (!answered) return fail(Error{answered.error()});
    if (*asked && *answered) return {};
  }
  return fail(Errc::kTimeout, "they do not come together");
}

TEST(TlsSession, CarriesBytesBothWays) {
  const TestCertificate certificate;
  TlsSession server{server_of(certificate)}, client{client_of(certificate), "localhost"};
  const auto agreed = agree(client, server);
  ASSERT_TRUE(agreed) << agreed.error().what;
  const std::string long_text(100'000, 'x');
  ASSERT_TRUE(client.write(long_text));
  const auto wire = client.take_output();
  EXPECT_EQ(wire.find("xxxx"), std::string::npos);
  std::string got;
  for (std::size_t at = 0; at < wire.size(); at += 1000) {
    server.feed(std::string_view{wire}.substr(at, 1000));
    ASSERT_TRUE(server.read(got));
  }
  EXPECT_EQ(got, long_text);
  EXPECT_FALSE(server.closed());
  client.close();
  server.feed(client.take_output());
  ASSERT_TRUE(server.read(got));
  EXPECT_TRUE(server.closed());
}

TEST(TlsSession, TrustsNoStranger) {
  const TestCertificate certificate, other;
  TlsSession server{server_of(other)}, client{client_of(certificate), "localhost"};
  const auto agreed = agree(client, server);
  ASSERT_FALSE(agreed);
  EXPECT_THAT(agreed.error().what, HasSubstr("is not trusted"));
}

TEST(TlsSession, TrustsNoOtherName) {
  const TestCertificate certificate;
  TlsSession server{server_of(certificate)}, client{client_of(certificate), "elsewhere.example"};
  const auto agreed = agree(client, server);
  ASSERT_FALSE(agreed);
  EXPECT_THAT(agreed.error().what, HasSubstr("elsewhere.example"));
}

TEST(TlsSession, KnowsAnAddressInACertificate) {
  const TestCertificate certificate;
  TlsSession server{server_of(certificate)}, client{client_of(certificate), "127.0.0.1"};
  EXPECT_TRUE(agree(client, server));
  TlsSession again{server_of(certificate)}, wrong{client_of(certificate), "127.0.0.2"};
  EXPECT_FALSE(agree(wrong, again));
}

TEST(TlsSession, TrustsAnybodyWhenTold) {
  const TestCertificate certificate;
  const auto careless = TlsContext::client({}, TlsContext::Trust::kAnybody).value();
  TlsSession server{server_of(certificate)}, client{careless, "elsewhere.example"};
  EXPECT_TRUE(agree(client, server));
}

TEST(TlsSession, RefusesNoise) {
  const TestCertificate certificate;
  TlsSession server{server_of(certificate)};
  server.feed("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_FALSE(server.handshake());
}

TEST(TlsContext, TakesNewFilesAndKeepsTheOldOnesWhenTheyAreBad) {
  const TestCertificate certificate;
  const auto old_trust = client_of(certificate);
  const auto context = server_of(certificate);
  ASSERT_TRUE(context->refresh());
  certificate.make("localhost");
  ASSERT_TRUE(context->refresh());
  {
    TlsSession server{context}, old{old_trust, "localhost"};
    EXPECT_FALSE(agree(old, server));
  }
  const auto new_trust = client_of(certificate);
  std::ofstream{certificate.certificate()} << "no certificate at all";
  EXPECT_FALSE(context->refresh());
  EXPECT_TRUE(context->refresh()) << "told once";
  TlsSession server{context}, client{new_trust, "localhost"};
  EXPECT_TRUE(agree(client, server));
}

TEST(TlsContext, NamesAFileItCannotUse) {
  const auto context = TlsContext::server({.certificate = "/nowhere/x.pem"});
  ASSERT_FALSE(context);
  EXPECT_THAT(context.error().what, HasSubstr("/nowhere/x.pem"));
  EXPECT_FALSE(TlsContext::client("/nowhere/ca.pem", TlsContext::Trust::kVerify));
}

}  // namespace
}  // namespace clrscope::net
