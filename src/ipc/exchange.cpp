#include "ipc/exchange.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/io.h"
#include "ipc/refusal.h"

namespace clrscope::ipc {
namespace {

Failure in_context(Error error, const Endpoint& runtime, const Command& command) {
  if (error.code == Errc::kTimeout)
    error.hint =
        "check whether the process is stopped, in a debugger, out of CPU time or out of file "
        "descriptors";
  if (error.code == Errc::kGone) error.hint = "the process has probably ended";
  error.what = fmt::format("{}: {}: {}", runtime.name(), command.name, error.what);
  return fail(std::move(error));
}

Result<> send_all(int fd, Bytes bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail(Errc::kGone, "the connection broke: {}", errno_text());
    pollfd waiting{fd, POLLOUT, 0};
    if (::poll(&waiting, 1, deadline.poll_timeout()) == 0)
      return fail(Errc::kTimeout, "the request was not accepted in time");
  }
  return {};
}

Result<Reply> talk(UniqueFd connection, const Command& command, Bytes payload,
                   const Deadline& deadline) {
  const auto request = TRY(encode_frame(command, payload));
  TRY(send_all(connection.get(), request, deadline));

  std::array<std::uint8_t, kHeaderSize> head{};
  TRY(read_exact(connection.get(), head, deadline));
  const auto header = TRY(decode_header(head));
  const bool success = TRY(is_success(header));
  Reply reply;
  reply.payload.resize(header.payload_size);  // bounded: the size field has 16 bits
  TRY(read_exact(connection.get(), reply.payload, deadline));
  if (!success) reply.refusal = TRY(decode_refusal(reply.payload));
  reply.connection = std::move(connection);
  return reply;
}

}  // namespace

bool Reply::unknown_command() const { return refusal && refusal->code == kUnknownCommand; }

Result<Reply> exchange_over(UniqueFd connection, Endpoint& runtime, const Command& command,
                            Bytes payload, const Deadline& deadline) {
  auto reply = talk(std::move(connection), command, payload, deadline);
  if (!reply) return in_context(std::move(reply).error(), runtime, command);
  return reply;
}

Result<Reply> exchange(Endpoint& runtime, const Command& command, Bytes payload,
                       const Deadline& deadline) {
  return exchange_over(TRY(runtime.connect(deadline)), runtime, command, payload, deadline);
}

Result<Reply> demand(Endpoint& runtime, const Command& command, Bytes payload,
                     const Deadline& deadline) {
  auto reply = TRY(exchange(runtime, command, payload, deadline));
  if (reply.refusal) return fail(error_of(command, runtime.name(), *reply.refusal));
  return reply;
}

Result<std::vector<std::uint8_t>> read_continuation(const Reply& reply, std::size_t size,
                                                    const Deadline& deadline) {
  constexpr std::size_t kPiece = 64 << 10;
  std::vector<std::uint8_t> bytes;
  while (bytes.size() < size) {
    const auto used = bytes.size();
    bytes.resize(used + std::min(kPiece, size - used));
    TRY(read_exact(reply.connection.get(), std::span{bytes}.subspan(used), deadline));
  }
  return bytes;
}

}  // namespace clrscope::ipc
