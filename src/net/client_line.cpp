#include "net/client_line.h"

#include <algorithm>

#include "base/bytes.h"

namespace clrscope::net {
namespace {

constexpr auto kGlance = std::chrono::milliseconds{200};  // between looks at `interrupted`

}  // namespace

Result<std::unique_ptr<ClientLine>> ClientLine::open(bool tls, const Address& address,
                                                     std::shared_ptr<TlsContext>& context,
                                                     const std::atomic<bool>& interrupted,
                                                     const Deadline& deadline,
                                                     const std::string& protocol) {
  auto line = std::make_unique<ClientLine>(TRY(connect(address, Transport::kStream, deadline)),
                                           interrupted);
  if (!tls) return line;
  if (!context) context = TRY(TlsContext::client({}, TlsContext::Trust::kVerify));
  line->session_.emplace(context, address.host, protocol);
  TRY(line->agree(deadline));
  if (!protocol.empty() && line->session_->protocol() != protocol)
    return fail(Errc::kUnsupported, "the peer does not agree on the protocol {} (ALPN)", protocol);
  return line;
}

Result<> ClientLine::agree(const Deadline& deadline) {
  for (;;) {
    const auto done = session_->handshake();
    TRY(flush(deadline));  // also what says why it failed
    if (TRY(Result<bool>{done})) return {};
    if (TRY(more(deadline)) == 0) return fail(Errc::kSystem, "the peer closed");
  }
}

Result<> ClientLine::send(std::string_view bytes, const Deadline& deadline) {
  if (!session_) return send_all(fd_.get(), as_bytes(bytes), deadline);
  TRY(session_->write(bytes));
  return flush(deadline);
}

Result<bool> ClientLine::receive(std::string& into, const Deadline& deadline) {
  if (!session_) {
    std::uint8_t buffer[16 << 10];
    const auto got = TRY(some(buffer, deadline));
    into.append(reinterpret_cast<const char*>(buffer), got);
    return got > 0;
  }
  const auto before = into.size();
  for (;;) {
    TRY(session_->read(into));
    if (into.size() > before) return true;
    if (session_->closed()) return false;
    if (TRY(more(deadline)) == 0) return false;
  }
}

Result<std::size_t> ClientLine::some(std::span<std::uint8_t> into, const Deadline& deadline) {
  for (;;) {
    const Deadline glance{std::min<std::chrono::nanoseconds>(kGlance, deadline.left())};
    auto got = receive_some(fd_.get(), into, glance);
    const bool late = !got && got.error().code == Errc::kTimeout;
    if (!late || deadline.passed()) return got;
    if (interrupted_) return fail(Errc::kTimeout, "interrupted");
  }
}

Result<> ClientLine::flush(const Deadline& deadline) {
  const auto out = session_->take_output();
  return send_all(fd_.get(), as_bytes(out), deadline);
}

Result<std::size_t> ClientLine::more(const Deadline& deadline) {
  std::uint8_t buffer[16 << 10];
  const auto got = TRY(some(buffer, deadline));
  session_->feed({reinterpret_cast<const char*>(buffer), got});
  return got;
}

}  // namespace clrscope::net
