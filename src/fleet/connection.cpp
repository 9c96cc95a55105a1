#include "fleet/connection.h"

#include "base/io.h"
#include "base/text.h"
#include "fleet/server.h"

namespace clrscope::fleet {

Result<Connection> connect_to(const std::string& to, const std::string& ca_file,
                              const std::string& token_file) {
  constexpr std::string_view kPlain = "grpc://", kSafe = "grpcs://";
  const bool tls = to.starts_with(kSafe);
  if (!tls && !to.starts_with(kPlain))
    return fail(Errc::kUsage, "--to {} must be grpc://HOST:PORT or grpcs://HOST:PORT", to);
  Connection made{.address = to.substr(tls ? kSafe.size() : kPlain.size())};
  if (made.address.rfind(':') == std::string::npos || made.address.ends_with(':'))
    return fail(Errc::kUsage, "--to {}: a port is required", to);
  if (!tls && !is_loopback(made.address))
    return fail(Errc::kUsage, "--to {}: beyond loopback only with TLS", to)
        .hint("use grpcs://{}", made.address);
  made.credentials = grpc::InsecureChannelCredentials();
  if (tls) {
    grpc::SslCredentialsOptions options;
    if (!ca_file.empty()) options.pem_root_certs = TRY(read_file(ca_file, 1 << 20));
    made.credentials = grpc::SslCredentials(options);
  }
  if (!token_file.empty()) made.token = trim(TRY(read_file(token_file, 4096)));
  return made;
}

std::shared_ptr<grpc::Channel> Connection::channel() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetMaxReceiveMessageSize(1 << 20);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, credentials, arguments);
}

}  // namespace clrscope::fleet
