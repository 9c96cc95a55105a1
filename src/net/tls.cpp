#include "net/tls.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <climits>

#include "base/guarded.h"

namespace clrscope::net {
namespace {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSession {
  void operator()(SSL* session) const { SSL_free(session); }
};
using ContextPtr = std::unique_ptr<SSL_CTX, FreeContext>;
using SessionPtr = std::unique_ptr<SSL, FreeSession>;

// The oldest of the thread's pending errors says most; the others go.
std::string tls_error() {
  const auto code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "the connection broke";
  if (ERR_SYSTEM_ERROR(code)) return errno_text(ERR_GET_REASON(code));
  const char* reason = ERR_reason_error_string(code);
  return reason ? reason : "unknown error";
}

Result<ContextPtr> new_context(const SSL_METHOD* method) {
  ContextPtr context{SSL_CTX_new(method)};
  if (!context) return fail(Errc::kSystem, "TLS: {}", tls_error());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  return context;
}

Result<ContextPtr> load(const TlsFiles& files) {
  auto context = TRY(new_context(TLS_server_method()));
  const auto& key = files.key.empty() ? files.certificate : files.key;
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()) != 1)
    return fail(Errc::kUsage, "cannot use the certificate {}: {}", files.certificate, tls_error())
        .hint("use a PEM file with the certificate, then its chain");
  if (SSL_CTX_use_PrivateKey_file(context.get(), key.c_str(), SSL_FILETYPE_PEM) != 1)
    return fail(Errc::kUsage, "cannot use the key {}: {}", key, tls_error())
        .hint("use a PEM file without a password that belongs to the certificate");
  return context;
}

// Changes when a file does.
std::string stamp_of(const TlsFiles& files) {
  std::string stamp;
  for (const auto& path : {files.certificate, files.key}) {
    struct stat at {};
    if (path.empty() || ::stat(path.c_str(), &at) != 0) continue;
    stamp +=
        fmt::format("{}.{}.{}.{};", at.st_mtim.tv_sec, at.st_mtim.tv_nsec, at.st_ino, at.st_size);
  }
  return stamp;
}

bool is_address(const std::string& host) {
  in6_addr scratch{};
  return ::inet_pton(AF_INET, host.c_str(), &scratch) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &scratch) == 1;
}

}  // namespace

struct TlsContext::Impl {
  struct Loaded {
    ContextPtr context{};
    std::string stamp{};
  };
  bool is_server = false;
  bool verify = false;
  TlsFiles files{};
  Guarded<Loaded> loaded{};

  // A reference of the caller's own.
  ContextPtr current() {
    return loaded.with([](Loaded& now) {
      SSL_CTX_up_ref(now.context.get());
      return ContextPtr{now.context.get()};
    });
  }
};

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<TlsContext>> TlsContext::server(TlsFiles files) {
  auto impl = std::make_unique<Impl>();
  impl->is_server = true;
  impl->files = std::move(files);
  auto stamp = stamp_of(impl->files);
  auto context = TRY(load(impl->files));
  impl->loaded.with([&](auto& now) { now = {std::move(context), std::move(stamp)}; });
  return std::shared_ptr<TlsContext>{new TlsContext{std::move(impl)}};  // NOLINT: private
}

Result<std::shared_ptr<TlsContext>> TlsContext::client(const std::string& ca_file, Trust trust) {
  auto context = TRY(new_context(TLS_client_method()));
  const bool verify = trust == Trust::kVerify;
  if (verify && !ca_file.empty() && SSL_CTX_load_verify_file(context.get(), ca_file.c_str()) != 1)
    return fail(Errc::kUsage, "cannot use the certificates of {}: {}", ca_file, tls_error())
        .hint("use a PEM file with the authorities to trust");
  if (verify && ca_file.empty()) SSL_CTX_set_default_verify_paths(context.get());
  SSL_CTX_set_verify(context.get(), verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  auto impl = std::make_unique<Impl>();
  impl->verify = verify;
  impl->loaded.with([&](auto& now) { now.context = std::move(context); });
  return std::shared_ptr<TlsContext>{new TlsContext{std::move(impl)}};  // NOLINT: private
}

Result<> TlsContext::refresh() {
  if (!impl_->is_server) return {};
  auto stamp = stamp_of(impl_->files);
  if (impl_->loaded.with([&](auto& now) { return now.stamp == stamp; })) return {};
  auto context = load(impl_->files);
  return impl_->loaded.with([&](auto& now) -> Result<> {
    now.stamp = std::move(stamp);  // also of files that are wrong: told once
    if (!context) return fail(std::move(context).error());
    now.context = std::move(*context);
    return {};
  });
}

struct TlsSession::Impl {
  SessionPtr ssl{};
  BIO* in = nullptr;   // owned by ssl
  BIO* out = nullptr;  // likewise
  std::string host{};
  bool verify = false;
  bool closed = false;

  Result<> failed(std::string_view doing) {
    const long verdict = verify ? SSL_get_verify_result(ssl.get()) : X509_V_OK;
    if (verdict != X509_V_OK) {
      ERR_clear_error();
      return fail(Errc::kDenied, "the certificate of {} is not trusted: {}", host,
                  X509_verify_cert_error_string(verdict))
          .hint("give its certificate authority with ca=FILE");
    }
    return fail(Errc::kSystem, "TLS: cannot {}: {}", doing, tls_error());
  }
};

TlsSession::TlsSession(const std::shared_ptr<TlsContext>& context, const std::string& host,
                       const std::string& protocol)
    : impl_(std::make_unique<Impl>()) {
  const auto shared = context->impl_->current();
  impl_->ssl.reset(SSL_new(shared.get()));
  CHECK(impl_->ssl);
  impl_->in = BIO_new(BIO_s_mem());
  impl_->out = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(impl_->in, -1);  // empty means: not yet
  SSL_set_bio(impl_->ssl.get(), impl_->in, impl_->out);
  impl_->host = host;
  impl_->verify = context->impl_->verify;
  if (context->impl_->is_server) {
    SSL_set_accept_state(impl_->ssl.get());
    return;
  }
  SSL_set_connect_state(impl_->ssl.get());
  if (!protocol.empty()) {
    const auto offer = static_cast<char>(protocol.size()) + protocol;
    SSL_set_alpn_protos(impl_->ssl.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                        static_cast<unsigned>(offer.size()));
  }
  if (host.empty()) return;
  if (is_address(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(impl_->ssl.get()), host.c_str());
  } else {
    SSL_set_tlsext_host_name(impl_->ssl.get(), host.c_str());
    SSL_set1_host(impl_->ssl.get(), host.c_str());
  }
}

TlsSession::~TlsSession() = default;
TlsSession::TlsSession(TlsSession&&) noexcept = default;

void TlsSession::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, INT_MAX);
    BIO_write(impl_->in, part.data(), static_cast<int>(part.size()));
    bytes.remove_prefix(part.size());
  }
}

std::string TlsSession::take_output() {
  char* data = nullptr;
  const long size = BIO_get_mem_data(impl_->out, &data);
  std::string out{data, static_cast<std::size_t>(size > 0 ? size : 0)};
  (void)BIO_reset(impl_->out);
  return out;
}

Result<bool> TlsSession::handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(impl_->ssl.get());
  if (done == 1) return true;
  const int why = SSL_get_error(impl_->ssl.get(), done);
  if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return false;
  return fail(impl_->failed("agree on a connection").error());
}

Result<> TlsSession::write(std::string_view plain) {
  ERR_clear_error();
  while (!plain.empty()) {
    std::size_t written = 0;
    if (SSL_write_ex(impl_->ssl.get(), plain.data(), plain.size(), &written) != 1)
      return impl_->failed("send");
    plain.remove_prefix(written);
  }
  return {};
}

Result<> TlsSession::read(std::string& into) {
  ERR_clear_error();
  char buffer[16 << 10];
  for (;;) {
    std::size_t got = 0;
    const int done = SSL_read_ex(impl_->ssl.get(), buffer, sizeof buffer, &got);
    if (done == 1) {
      into.append(buffer, got);
      continue;
    }
    const int why = SSL_get_error(impl_->ssl.get(), done);
    if (why == SSL_ERROR_ZERO_RETURN) impl_->closed = true;
    if (why == SSL_ERROR_ZERO_RETURN || why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE)
      return {};
    return impl_->failed("receive");
  }
}

std::string TlsSession::protocol() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(impl_->ssl.get(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

bool TlsSession::closed() const { return impl_->closed; }

void TlsSession::close() {
  SSL_shutdown(impl_->ssl.get());
  ERR_clear_error();
}

}  // namespace clrscope::net
