// The control socket: accepts clrscope, answers its requests, notices when it is gone.
//
// A path socket of type SOCK_SEQPACKET. A peer must have the user of this process, or be root. One
// connection may have the arena; when it closes for whatever reason, on_listener_gone() is called.
// What is not a request closes its connection. Runs on one thread of its own; never calls into the
// runtime itself.
#pragma once

#include "wire/control.h"

namespace clrscope::agent {

// What the server asks the agent. All calls come on the thread of run(), but for stop().
struct ControlHandler {
  void* self;
  // `listens`: the connection has the arena.
  wire::Outcome (*on_request)(void* self, const wire::Request& request, bool listens);
  void (*on_listener_gone)(void* self);
  void (*on_tick)(void* self);  // at least ten times a second while somebody listens
  void (*fill)(void* self, wire::Status& status);
  // What the reply to a request that succeeded carries; -1: nothing.
  int (*passed_fd)(void* self, wire::RequestKind kind);
  int (*tick_ms)(void* self);  // how long to wait for the next tick
};

class ControlServer {
 public:
  static constexpr unsigned kMostClients = 8;

  constexpr ControlServer() = default;

  // Makes the socket, and its folder unless it is there. False: it could not.
  bool open(const char* path);
  // Until stop(); then closes all connections and removes the socket and the folder if empty.
  void run(const ControlHandler& handler);
  void stop();  // any thread
  // Instead of run().
  void close();
  // Removes the socket and its folder: the process ends.
  void remove_files();

 private:
  bool accept_client();
  bool serve(int& client, const ControlHandler& handler);
  void reply(int client, const wire::Request& request, wire::Outcome outcome,
             const ControlHandler& handler, int passed_fd);
  void drop(int& client, const ControlHandler& handler);
  unsigned count_clients() const;

  char path_[108]{};
  int listener_ = -1;
  std::atomic<int> wake_{-1};  // an eventfd; other threads write to it
  int clients_[kMostClients]{};
  int owner_ = -1;  // the client that has the arena
  std::uint64_t bad_requests_ = 0;
  std::uint64_t refused_peers_ = 0;
};

}  // namespace clrscope::agent
