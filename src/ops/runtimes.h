// The runtimes that connect to a port of ours: DOTNET_DiagnosticPorts=PATH[,suspend].
//
// Lists them for as long as they live; a runtime that waits at its start is resumed. Some are
// in another pid namespace: what they say of themselves is then all that is known. Any thread.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "ipc/endpoint.h"
#include "ipc/greeter.h"
#include "model/process.h"

namespace clrscope::ops {

struct Target;

class Runtimes {
 public:
  // "PATH[,listen][,group|all]": we listen, whatever it says.
  static Result<std::shared_ptr<Runtimes>> listen(const std::string& port);
  ~Runtimes();

  std::vector<Process> list() const;
  // The one of that uid; what it holds keeps `runtimes` too.
  static Result<Target> target(const std::shared_ptr<Runtimes>& runtimes, const std::string& uid);
  const std::string& path() const { return port_->path(); }
  // Connections that the port has not taken.
  ipc::PortRefusals refused() const { return port_->refused(); }

 private:
  struct Runtime {
    ipc::Advertisement advertisement{};
    Process process{};
    TraceTime heard{};   // when it last had a connection that waits
    TraceTime asked{};   // when it last failed to say who it is
    bool known = false;  // it has said who it is
  };
  explicit Runtimes(std::unique_ptr<ipc::ReversePort> port);
  void run(const std::stop_token& stop);
  void meet(const ipc::Greeter::Greeted& greeted);
  void refresh(ipc::Greeter& greeter, TraceTime now);

  std::unique_ptr<ipc::ReversePort> port_;
  Guarded<std::map<std::string, Runtime>> runtimes_;  // by uid
  pid_t next_number_ = 10'000'000;                    // above all real ones; the thread's own
  std::jthread thread_;                               // last member: joins first
};

// Processes of the machine and those that connected, each once.
std::vector<Process> joined(std::vector<Process> found, const std::vector<Process>& connected);

// A runtime's cookie as dotnet tools write it.
std::string uid_text(const std::array<std::uint8_t, 16>& cookie);

}  // namespace clrscope::ops
