#include "collect/agent/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>

#include "base/io.h"
#include "ipc/peer.h"

namespace clrscope::collect {
namespace {

constexpr std::uint32_t kLongestName = 2048;

Error error_of(wire::RequestKind kind, const wire::Reply& reply) {
  using wire::Outcome;
  const auto refused = [&](Errc code, std::string what, std::string hint = "") {
    return Error{code,
                 fmt::format("the agent refused request {}: {}", static_cast<int>(kind), what),
                 std::move(hint)};
  };
  switch (reply.outcome) {
    case Outcome::kBusy:
      return refused(Errc::kBusy, "another clrscope is using it", "wait until it has ended");
    case Outcome::kRefused:
      if (kind == wire::RequestKind::kDetach && (reply.status.flags & wire::kResidentFlag) != 0)
        return refused(Errc::kUnsupported, "it has measured methods: the runtime keeps it loaded",
                       "it is idle and costs nothing; it goes when the process ends");
      return refused(Errc::kUnsupported,
                     fmt::format("the runtime answered 0x{:08x}",
                                 static_cast<std::uint32_t>(reply.status.hresult)));
    case Outcome::kTimeout:
      return refused(Errc::kTimeout, "the runtime does not answer it",
                     "check whether a thread of the process is stuck; see clrscope stacks");
    case Outcome::kLeaving:
      return refused(Errc::kGone, "it is being detached", "try again in a second");
    case Outcome::kOtherProtocol:
      return refused(Errc::kUnsupported, "it belongs to another version of clrscope",
                     "run clrscope detach, then attach again");
    case Outcome::kUnsupported:
      return refused(Errc::kUnsupported, "it cannot do this here",
                     "check clrscope agent status: another profiler may have the main place");
    default:
      return refused(Errc::kUnsupported,
                     fmt::format("outcome {}", static_cast<int>(reply.outcome)));
  }
}

}  // namespace

// --- AgentArena ---

void AgentArena::Unmap::operator()(wire::Arena* arena) const { ::munmap(arena, wire::kArenaBytes); }

AgentArena::AgentArena(wire::Arena* arena) : arena_(arena) {
  rings_.reserve(wire::kRings);
  for (auto& ring : arena->rings) rings_.emplace_back(ring);
}

Result<AgentArena> AgentArena::map(UniqueFd memory) {
  struct stat status {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (::fstat(memory.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      status.st_size != wire::kArenaBytes || seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return fail(Errc::kCorrupt, "the agent shares memory of an unexpected kind");
  void* at =
      ::mmap(nullptr, wire::kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (at == MAP_FAILED)
    return fail(errc_of(errno), "cannot map the memory of the agent: {}", errno_text());
  if (!wire::is_arena(at, wire::kArenaBytes)) {
    ::munmap(at, wire::kArenaBytes);
    return fail(Errc::kCorrupt, "the memory that the agent shares has another layout");
  }
  return AgentArena{static_cast<wire::Arena*>(at)};
}

void AgentArena::drain(const std::function<void(const void*, std::uint32_t)>& take) {
  for (auto& ring : rings_) ring.drain(take);
}

std::uint64_t AgentArena::damaged() const {
  std::uint64_t count = 0;
  for (const auto& ring : rings_) count += ring.damaged();
  return count;
}

std::string AgentArena::name(std::uint32_t slot) const {
  std::string text(kLongestName, '\0');
  text.resize(wire::copy_name(*arena_, slot, text.data(), kLongestName));
  return text;
}

std::uint64_t AgentArena::exceptions() const { return arena_->header.exceptions.load(); }

std::uint64_t AgentArena::happenings(wire::Happening what) const {
  return arena_->header.happenings[static_cast<unsigned>(what)].load();
}

std::uint64_t AgentArena::contentions() const { return arena_->header.contentions.load(); }
std::uint64_t AgentArena::allocations() const { return arena_->header.allocations.load(); }

std::uint64_t AgentArena::drops(wire::Drop reason) const {
  return arena_->header.drops[static_cast<std::size_t>(reason)].load();
}

AgentArena::CpuCounts AgentArena::cpu_counts() const {
  const auto& header = arena_->header;
  return {header.cpu_ticks_missed.load(), header.cpu_skipped.load(), header.cpu_unarmed.load(),
          header.cpu_handler_taken.load()};
}

std::chrono::nanoseconds AgentArena::callback_time() const {
  return duration_of(arena_->header.callback_ticks.load());
}

std::chrono::nanoseconds AgentArena::callback_time(wire::Spender source) const {
  return duration_of(arena_->header.source_ticks[static_cast<std::size_t>(source)].load());
}

TickClock AgentArena::clock() const {
  wire::ClockPair last;
  if (!wire::read_clock(arena_->header, last)) return {};
  return {arena_->header.first, last};
}

std::chrono::nanoseconds AgentArena::duration_of(std::uint64_t ticks) const {
  return clock().duration_of(ticks);
}

// --- AgentConnection ---

Result<AgentConnection> AgentConnection::open(const UniqueFd& socket, pid_t pid) {
  UniqueFd fd{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  if (!fd) return fail(errc_of(errno), "cannot make a socket: {}", errno_text());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const auto path = fmt::format("/proc/self/fd/{}", socket.get());
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return fail(errno == ECONNREFUSED ? Errc::kNotFound : errc_of(errno),
                "cannot connect to the agent in process {}: {}", pid, errno_text());
  const auto peer = TRY(ipc::peer_of(fd.get()));
  TRY(ipc::check_peer(peer, pid, "the socket of the agent"));
  return AgentConnection{std::move(fd)};
}

Result<wire::Reply> AgentConnection::ask(wire::RequestKind kind, std::uint32_t value,
                                         const Deadline& deadline) {
  const wire::Request request{.magic = wire::kControlMagic,
                              .protocol = wire::kProtocol,
                              .kind = kind,
                              .id = next_id_++,
                              .value = value};
  if (::send(socket_.get(), &request, sizeof request, MSG_NOSIGNAL) != sizeof request)
    return fail(Errc::kGone, "the agent has closed the connection: {}", errno_text());
  for (;;) {
    // Late replies alone must not hold us here.
    if (deadline.passed() || !TRY(wait_readable(socket_.get(), deadline)))
      return fail(Errc::kTimeout, "the agent does not answer")
          .hint("check whether the process is stopped or out of CPU time");
    std::uint8_t bytes[512];
    iovec part{bytes, sizeof bytes};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const auto size = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (size <= 0) return fail(Errc::kGone, "the agent has closed the connection");
    UniqueFd passed;
    for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
          header->cmsg_len != CMSG_LEN(sizeof(int)))
        continue;
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
      passed.reset(fd);
    }
    const auto reply = wire::parse_reply(bytes, static_cast<std::uint64_t>(size));
    // To a request that was given up: the process stood still for longer than we waited.
    if (wire::is_reply(bytes, static_cast<std::uint64_t>(size), reply.id) && reply.id < request.id)
      continue;
    if (!wire::is_reply(bytes, static_cast<std::uint64_t>(size), request.id))
      return fail(Errc::kCorrupt, "the agent sent {} bytes that are not a reply", size);
    if (passed) passed_ = std::move(passed);
    return reply;
  }
}

bool AgentConnection::has_ended() const {
  pollfd polled{socket_.get(), POLLRDHUP, 0};
  return ::poll(&polled, 1, 0) > 0;
}

Result<wire::Status> AgentConnection::demand(wire::RequestKind kind, std::uint32_t value,
                                             const Deadline& deadline) {
  const auto reply = TRY(ask(kind, value, deadline));
  if (reply.outcome != wire::Outcome::kDone) return fail(error_of(kind, reply));
  return reply.status;
}

Result<AgentArena> AgentConnection::open_arena(const Deadline& deadline) {
  (void)TRY(demand(wire::RequestKind::kOpen, 0, deadline));
  if (!passed_) return fail(Errc::kCorrupt, "the agent did not pass its memory");
  return AgentArena::map(std::move(passed_));
}

Result<AgentProbes> AgentConnection::open_probes(const Deadline& deadline) {
  (void)TRY(demand(wire::RequestKind::kProbesOpen, 0, deadline));
  if (!passed_) return fail(Errc::kCorrupt, "the agent did not pass the memory of its probes");
  return AgentProbes::map(std::move(passed_));
}

Result<AgentRequests> AgentConnection::open_requests(const Deadline& deadline) {
  (void)TRY(demand(wire::RequestKind::kRequestsOpen, 0, deadline));
  if (!passed_) return fail(Errc::kCorrupt, "the agent did not pass the memory of its requests");
  return AgentRequests::map(std::move(passed_));
}

Result<> AgentConnection::wait_for_end(const Deadline& deadline) {
  for (;;) {
    if (!TRY(wait_readable(socket_.get(), deadline)))
      return fail(Errc::kTimeout, "the agent has not left the process yet")
          .hint("a thread of the process may be inside a callback; try again");
    char byte = 0;
    const auto size = ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR)) return {};
  }
}

}  // namespace clrscope::collect
