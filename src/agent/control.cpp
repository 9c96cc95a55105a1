#include "agent/control.h"

#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr long kUnix = 1, kSeqPacket = 5, kCloexec = 02000000, kNonBlock = 04000;
constexpr long kSolSocket = 1, kPeerCred = 17, kScmRights = 1;
constexpr long kDontWait = 0x40, kNoSignal = 0x4000;
constexpr short kPollIn = 1;
constexpr int kAcceptAgainMs = 100;
constexpr long kInterrupted = -4;

struct PollFd {
  int fd;
  short events;
  short revents;
};
struct Address {
  std::uint16_t family;
  char path[108];
};
struct Peer {
  std::int32_t pid;
  std::uint32_t uid;
  std::uint32_t gid;
};
struct IoVector {
  void* base;
  std::size_t size;
};
struct MessageHeader {
  void* name;
  std::uint32_t name_size;
  IoVector* parts;
  std::size_t part_count;
  void* control;
  std::size_t control_size;
  int flags;
};
struct PassedFd {
  std::size_t size;
  int level;
  int type;
  int fd;
  int padding;
};

bool copy_path(char (&to)[108], const char* from) {
  unsigned i = 0;
  for (; i < sizeof to && from[i] != 0; ++i) to[i] = from[i];
  if (i == 0 || i >= sizeof to) return false;
  to[i] = 0;
  return true;
}

// A folder, not a link to one, that belongs to this user and is closed to others.
bool is_private_folder(const char* path) {
  struct KernelStat {
    std::uint64_t device, inode, links;
    std::uint32_t mode, user, group, padding;
    std::uint64_t rest[14];
  } found{};
  static_assert(sizeof found == 152);
  constexpr std::uint32_t kTypeMask = 0170000, kFolder = 0040000;
  return syscall_raw(number::kLstat, as_long(path), as_long(&found)) == 0 &&
         (found.mode & kTypeMask) == kFolder && (found.mode & 0077) == 0 &&
         found.user == static_cast<std::uint32_t>(syscall_raw(number::kGeteuid));
}

// The folder of a path, in place; returns where the last slash was.
unsigned cut_folder(char* path) {
  unsigned last = 0;
  for (unsigned i = 0; path[i] != 0; ++i)
    if (path[i] == '/') last = i;
  path[last] = 0;
  return last;
}

}  // namespace

bool ControlServer::open(const char* path) {
  for (auto& client : clients_) client = -1;
  owner_ = -1;
  if (!copy_path(path_, path)) return false;
  const auto slash = cut_folder(path_);
  syscall_raw(number::kMkdir, as_long(path_), 0700);
  const bool is_ours = is_private_folder(path_);
  path_[slash] = '/';
  if (!is_ours) return path_[0] = 0, false;
  syscall_raw(number::kUnlink, as_long(path_));
  Address address{.family = kUnix, .path = {}};
  if (!copy_path(address.path, path_)) return false;
  listener_ =
      static_cast<int>(syscall_raw(number::kSocket, kUnix, kSeqPacket | kCloexec | kNonBlock, 0));
  wake_ = static_cast<int>(syscall_raw(number::kEventfd2, 0, kCloexec | kNonBlock));
  if (listener_ >= 0 && wake_ >= 0 &&
      syscall_raw(number::kBind, listener_, as_long(&address), sizeof address) == 0 &&
      syscall_raw(number::kListen, listener_, kMostClients) == 0)
    return true;
  close();
  return false;
}

void ControlServer::close() {
  close_fd(listener_);
  auto wake = wake_.exchange(-1);
  close_fd(wake);
  remove_files();
}

void ControlServer::remove_files() {
  if (path_[0] != '/') return;
  char path[sizeof path_];
  (void)copy_path(path, path_);
  syscall_raw(number::kUnlink, as_long(path));
  (void)cut_folder(path);
  syscall_raw(number::kRmdir, as_long(path));
}

void ControlServer::stop() {
  const std::uint64_t one = 1;
  syscall_raw(number::kWrite, wake_.load(), as_long(&one), sizeof one);
}

unsigned ControlServer::count_clients() const {
  unsigned count = 0;
  for (const auto client : clients_) count += client >= 0 ? 1 : 0;
  return count;
}

// False: the process has no descriptor left for it. The caller stays in the queue.
bool ControlServer::accept_client() {
  constexpr int kNoneLeft = -24, kNoneLeftAnywhere = -23, kNoMemory = -12, kNoBuffers = -105;
  auto client =
      static_cast<int>(syscall_raw(number::kAccept4, listener_, 0, 0, kCloexec | kNonBlock));
  if (client < 0)
    return client != kNoneLeft && client != kNoneLeftAnywhere && client != kNoMemory &&
           client != kNoBuffers;
  Peer peer{};
  std::uint32_t size = sizeof peer;
  const bool known = syscall_raw(number::kGetsockopt, client, kSolSocket, kPeerCred, as_long(&peer),
                                 as_long(&size)) == 0;
  const auto own = static_cast<std::uint32_t>(syscall_raw(number::kGeteuid));
  if (!known || (peer.uid != own && peer.uid != 0)) {
    ++refused_peers_;
    close_fd(client);
    return true;
  }
  for (auto& place : clients_) {
    if (place >= 0) continue;
    place = client;
    return true;
  }
  close_fd(client);
  return true;
}

void ControlServer::reply(int client, const wire::Request& request, wire::Outcome outcome,
                          const ControlHandler& handler, int passed_fd) {
  wire::Reply reply{.magic = wire::kControlMagic,
                    .protocol = wire::kProtocol,
                    .kind = request.kind,
                    .id = request.id,
                    .outcome = outcome,
                    .status = {}};
  handler.fill(handler.self, reply.status);
  reply.status.connections = count_clients();
  reply.status.bad_requests = bad_requests_;
  reply.status.refused_peers = refused_peers_;
  IoVector part{&reply, sizeof reply};
  PassedFd passed{.size = sizeof(std::size_t) + 3 * sizeof(int),
                  .level = kSolSocket,
                  .type = kScmRights,
                  .fd = passed_fd,
                  .padding = 0};
  MessageHeader message{.name = nullptr,
                        .name_size = 0,
                        .parts = &part,
                        .part_count = 1,
                        .control = passed_fd >= 0 ? &passed : nullptr,
                        .control_size = passed_fd >= 0 ? sizeof passed : 0,
                        .flags = 0};
  syscall_raw(number::kSendmsg, client, as_long(&message), kDontWait | kNoSignal);
}

// False: the connection ended, or must.
bool ControlServer::serve(int& client, const ControlHandler& handler) {
  // One byte more than a request: what is longer is not one.
  alignas(8) std::uint8_t bytes[sizeof(wire::Request) + 1];
  const auto size = syscall_raw(number::kRead, client, as_long(bytes), sizeof bytes);
  constexpr long kAgain = -11;
  if (size == kAgain || size == kInterrupted) return true;
  if (size <= 0) return false;
  wire::Request request{};
  if (!wire::is_request(bytes, static_cast<std::uint64_t>(size))) {
    ++bad_requests_;
    reply(client, request, wire::Outcome::kBadRequest, handler, -1);
    return false;
  }
  __builtin_memcpy(&request, bytes, sizeof request);
  const bool stable =
      request.kind == wire::RequestKind::kHello || request.kind == wire::RequestKind::kDetach;
  if (request.protocol != wire::kProtocol && !stable) {
    reply(client, request, wire::Outcome::kOtherProtocol, handler, -1);
    return true;
  }
  if (request.kind == wire::RequestKind::kOpen && owner_ >= 0) {
    reply(client, request, wire::Outcome::kBusy, handler, -1);
    return true;
  }
  const auto outcome = handler.on_request(handler.self, request, client == owner_);
  const bool opened = request.kind == wire::RequestKind::kOpen && outcome == wire::Outcome::kDone;
  if (opened) owner_ = client;
  const bool done = outcome == wire::Outcome::kDone;
  reply(client, request, outcome, handler,
        done ? handler.passed_fd(handler.self, request.kind) : -1);
  return true;
}

void ControlServer::drop(int& client, const ControlHandler& handler) {
  if (client == owner_ && owner_ >= 0) {
    owner_ = -1;
    handler.on_listener_gone(handler.self);
  }
  close_fd(client);
}

void ControlServer::run(const ControlHandler& handler) {
  bool accepts = true;
  for (;;) {
    PollFd polled[kMostClients + 2];
    polled[0] = {wake_, kPollIn, 0};
    // Who cannot be accepted is tried again later; until then poll() would return at once each
    // time.
    polled[1] = {accepts ? listener_ : -1, kPollIn, 0};
    unsigned count = 2;  // no more than needed: poll() refuses more than the process may open
    for (unsigned i = 0; i < kMostClients; ++i) {
      polled[i + 2] = {clients_[i], kPollIn, 0};
      if (clients_[i] >= 0) count = i + 3;
    }
    const auto ready = syscall_raw(number::kPoll, as_long(polled), count,
                                   owner_ >= 0 ? handler.tick_ms(handler.self)
                                   : accepts   ? -1
                                               : kAcceptAgainMs);
    accepts = true;
    if (owner_ >= 0) handler.on_tick(handler.self);
    if (ready < 0 && ready != kInterrupted) syscall_raw(number::kPoll, 0, 0, kAcceptAgainMs);
    if (ready <= 0) continue;
    if (polled[0].revents != 0) break;
    for (unsigned i = 0; i < kMostClients; ++i)
      if (clients_[i] >= 0 && polled[i + 2].revents != 0 && !serve(clients_[i], handler))
        drop(clients_[i], handler);
    if (polled[1].revents != 0) accepts = accept_client();
  }
  // First the files: who sees a connection close may attach again at once.
  remove_files();
  for (auto& client : clients_) drop(client, handler);
  close_fd(listener_);
  auto wake = wake_.exchange(-1);
  close_fd(wake);
}

}  // namespace clrscope::agent
