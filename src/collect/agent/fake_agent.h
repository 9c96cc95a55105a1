// An agent for tests: a control socket of this process that answers what a test says, and the
// memory of its probes.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>

#include "collect/agent/connection.h"

namespace clrscope::collect {

class FakeAgent {
 public:
  FakeAgent() {
    char name[] = "/tmp/clrscope-agent-XXXXXX";
    folder_ = ::mkdtemp(name);
    const auto path = folder_ + "/s";
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener_.get(), 1) == 0);
    path_ = UniqueFd{::open(path.c_str(), O_PATH | O_CLOEXEC)};
    CHECK(::ftruncate(memory_.get(), wire::kProbesBytes) == 0);
    void* at =
        ::mmap(nullptr, wire::kProbesBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0);
    shared_ = static_cast<wire::Probes*>(at);
    shared_->header.magic = wire::kProbesMagic;
    shared_->header.protocol = wire::kProtocol;
    shared_->header.bytes = wire::kProbesBytes;
    CHECK(::fcntl(memory_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  }
  ~FakeAgent() {
    ::munmap(shared_, wire::kProbesBytes);
    std::filesystem::remove_all(folder_);
  }
  FakeAgent(const FakeAgent&) = delete;
  FakeAgent& operator=(const FakeAgent&) = delete;

  AgentConnection connect() {
    auto out = AgentConnection::open(path_, ::getpid());
    CHECK(out);
    peer_ = UniqueFd{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    return *std::move(out);
  }
  AgentProbes probes() const {
    return *AgentProbes::map(UniqueFd{::fcntl(memory_.get(), F_DUPFD_CLOEXEC, 0)});
  }
  void set_progress(wire::ProbeProgress progress) {
    shared_->header.progress.store(static_cast<std::uint32_t>(progress));
  }
  // To the request of this number, which may come later: they count from 1.
  void answer(std::uint32_t id, wire::Outcome outcome = wire::Outcome::kDone) {
    const wire::Reply reply{.magic = wire::kControlMagic,
                            .protocol = wire::kProtocol,
                            .kind = wire::RequestKind::kHello,
                            .id = id,
                            .outcome = outcome,
                            .status = {}};
    CHECK(::send(peer_.get(), &reply, sizeof reply, MSG_NOSIGNAL) == sizeof reply);
  }
  void leave() { peer_.reset(); }

 private:
  std::string folder_;
  UniqueFd listener_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
  UniqueFd path_, peer_;
  UniqueFd memory_{::memfd_create("probes", MFD_ALLOW_SEALING | MFD_CLOEXEC)};
  wire::Probes* shared_ = nullptr;
};

}  // namespace clrscope::collect
