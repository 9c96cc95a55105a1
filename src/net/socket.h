// Plain sockets for threads of their own: connect, send and receive, each with a deadline.
//
// An address is HOST:PORT, [IPV6]:PORT or unix:PATH. Nothing here waits longer than its deadline.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"

namespace clrscope::net {

struct Address {
  std::string host{};  // empty for a unix socket
  std::string port{};
  std::string path{};  // of a unix socket

  std::string text() const;
};

// `default_port`: what is meant when none is named; empty: one must be.
Result<Address> parse_address(std::string_view text, std::string_view default_port = {});

enum class Transport { kStream, kDatagram };

// A non-blocking socket that is connected.
Result<UniqueFd> connect(const Address& address, Transport transport, const Deadline& deadline);

// All of it, or an error; a peer that closed is one.
Result<> send_all(int fd, Bytes bytes, const Deadline& deadline);

// What is there, at least one byte; nothing when the peer closed.
Result<std::size_t> receive_some(int fd, std::span<std::uint8_t> into, const Deadline& deadline);

}  // namespace clrscope::net
