// TLS as a machine that turns bytes into bytes: no sockets, so the server, the client and tests
// share it. OpenSSL behind it; TLS 1.2 and 1.3.
//
// A context is shared by any threads; a session belongs to one.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::net {

struct TlsFiles {
  std::string certificate{};  // PEM, with the chain
  std::string key{};          // PEM; empty: in the certificate's file
};

class TlsContext {
 public:
  // Reads the files at once. They are looked at again by refresh().
  static Result<std::shared_ptr<TlsContext>> server(TlsFiles files);
  // Whom to trust: a file of certificates, or the system's when empty. `insecure`: anybody.
  enum class Trust { kVerify, kAnybody };
  static Result<std::shared_ptr<TlsContext>> client(const std::string& ca_file, Trust trust);

  ~TlsContext();

  // Takes certificate files that changed; sessions that run keep the old ones. A failure leaves the
  // old ones in force. Any thread.
  Result<> refresh();

 private:
  friend class TlsSession;
  struct Impl;
  explicit TlsContext(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class TlsSession {
 public:
  // The client checks the certificate against `host`: a name, or an address. It offers `protocol`
  // (ALPN), if any: "h2".
  explicit TlsSession(const std::shared_ptr<TlsContext>& context, const std::string& host = {},
                      const std::string& protocol = {});
  ~TlsSession();
  TlsSession(TlsSession&&) noexcept;

  // Bytes that came from the peer.
  void feed(std::string_view bytes);
  // Bytes for the peer, gathered since the last call. Ask after every other call.
  std::string take_output();

  // True when done, false when it needs more from the peer.
  Result<bool> handshake();
  Result<> write(std::string_view plain);
  // Appends what is there; nothing appended: more is needed, or see closed().
  Result<> read(std::string& into);
  std::string protocol() const;  // agreed on in the handshake
  bool closed() const;           // the peer said good-bye
  void close();                  // says good-bye

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope::net
