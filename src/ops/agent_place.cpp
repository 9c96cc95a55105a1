#include "ops/agent_place.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/checksum.h"
#include "base/io.h"
#include "base/proc.h"
#include "ipc/commands.h"
#include "ops/agent.h"

// agent_library.S
extern "C" {
extern const std::uint8_t clrscope_agent_library[];
extern const std::uint8_t clrscope_agent_library_end[];
}

namespace clrscope::ops {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{10};
constexpr milliseconds kLook{2};
constexpr milliseconds kMoment{100};
constexpr seconds kAnswer{5};
constexpr const char* kSocket = "control";

// The same rule as in src/agent/environment.cpp.
Result<std::string> folder_name(pid_t pid) {
  const auto status = TRY(proc_status(pid));
  return fmt::format("clrscope-agent-{}-{}", status.namespace_pid, status.start_ticks);
}

Result<TargetFolder> agent_folder(pid_t pid, bool make) {
  return TargetFolder::open(pid, TRY(folder_name(pid)), make);
}

Result<collect::AgentConnection> connect(pid_t pid, const TargetFolder& folder) {
  const auto socket = TRY(folder.find_socket(kSocket));
  return collect::AgentConnection::open(socket, pid);
}

// The runtime's refusals are texts with their number.
bool is_refusal(const Error& error, const char* code) {
  return error.what.find(code) != std::string::npos;
}

Result<> attach(Target& target, const std::string& path, const std::string& socket,
                std::uint64_t build) {
  wire::AttachData data{};
  data.magic = wire::kControlMagic;
  data.protocol = wire::kProtocol;
  data.build = build;
  if (socket.size() >= sizeof data.socket)
    return fail(Errc::kTooLarge, "the path {} is too long for a socket", socket);
  std::memcpy(data.socket, socket.data(), socket.size());
  const Bytes client{reinterpret_cast<const std::uint8_t*>(&data), sizeof data};
  const Deadline deadline{kPatience};
  auto id = std::to_array(wire::kMainClass);
  for (;;) {
    auto attached = ipc::attach_profiler(*target.endpoint, id, path, client, kPatience, kPatience);
    if (attached) return {};
    const auto& error = attached.error();
    if (is_refusal(error, "0x8013136a") && id != std::to_array(wire::kNotificationClass)) {
      id = std::to_array(wire::kNotificationClass);
      continue;
    }
    // It was detached a moment ago.
    if (is_refusal(error, "0x80131367") && !deadline.passed()) {
      std::this_thread::sleep_for(milliseconds{20});
      continue;
    }
    if (is_refusal(error, "0x80131375"))
      return fail(Errc::kUnsupported, "the agent declined to start in process {}",
                  target.process.pid)
          .hint(
              "it is switched off there by CLRSCOPE_AGENT=0, or lacks memory, threads or "
              "descriptors");
    return fail(error);
  }
}

// The agent listens a moment after the runtime has answered.
Result<collect::AgentConnection> wait_for_agent(pid_t pid, const TargetFolder& folder) {
  const Deadline deadline{kAnswer};
  for (;;) {
    auto connection = connect(pid, folder);
    if (connection) {
      const auto hello = connection->ask(wire::RequestKind::kHello, 0, deadline);
      if (hello) return connection;
    }
    if (deadline.passed())
      return fail(Errc::kTimeout, "the agent was loaded into process {}, but does not answer: {}",
                  pid, connection ? "no reply" : connection.error().what);
    if (!process_exists(pid)) return fail(Errc::kGone, "process {} has ended", pid);
    std::this_thread::sleep_for(kLook);
  }
}

// Another clrscope may be attaching the agent at this moment: the runtime then refuses ours, or
// does not find the file that the other has removed.
Result<collect::AgentConnection> wait_for_others(pid_t pid) {
  const Deadline deadline{kMoment};
  for (;;) {
    auto there = reach_agent(pid);
    if (there || deadline.passed()) return there;
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace

Bytes embedded_agent() { return {clrscope_agent_library, clrscope_agent_library_end}; }

Result<collect::AgentConnection> reach_agent(pid_t pid) {
  auto folder = agent_folder(pid, false);
  if (!folder && folder.error().code == Errc::kNotFound)
    return fail(Errc::kNotFound, "no agent is loaded in process {}", pid)
        .hint("run clrscope attach -p {}", pid);
  if (!folder) return fail(folder.error());
  return connect(pid, *folder);
}

Result<LoadedAgent> load_agent(Target& target) {
  const auto pid = target.process.pid;
  if (target.process.foreign)
    return fail(Errc::kUnsupported, "{} is in another pid namespace: its files cannot be reached",
                target.process.name)
        .hint("share the pid namespace: shareProcessNamespace in a pod");
  if (auto there = reach_agent(pid)) return LoadedAgent{*std::move(there), true};
  const auto library = embedded_agent();
  if (library.empty()) return fail(Errc::kUnsupported, "this clrscope was built without the agent");

  const auto folder = TRY(agent_folder(pid, true));
  if (!folder.may_execute()) {
    folder.remove_folder();
    return fail(Errc::kUnsupported, "{} is mounted noexec: no library can be loaded from there",
                folder.path())
        .hint("give the process a TMPDIR without noexec");
  }
  const auto build = crc32_of(library);
  const auto name = fmt::format("libclrscope_agent-{:08x}.so", build);
  const auto loaded = [&]() -> Result<collect::AgentConnection> {
    // One name, so that the runtime finds the library it has loaded before; and never half a file,
    // when another clrscope, or another request of a server, attaches at the same time.
    static std::atomic<std::uint64_t> attempts{0};
    const auto own = fmt::format("{}.{}.{}", name, ::getpid(), ++attempts);
    TRY(folder.write(own, library));
    if (auto renamed = folder.rename(own, name); !renamed) {
      folder.remove(own);
      return fail(renamed.error());
    }
    TRY(attach(target, folder.path() + "/" + name, folder.path() + "/" + kSocket, build));
    return wait_for_agent(pid, folder);
  };
  auto connection = loaded();
  folder.remove(name);
  if (!connection) {
    if (auto others = wait_for_others(pid)) return LoadedAgent{*std::move(others), true};
    folder.remove_folder();  // stays while the agent has its socket in it
    return fail(connection.error());
  }
  return LoadedAgent{*std::move(connection), false};
}

Result<PlacedAgent> PlacedAgent::place() {
  const auto library = embedded_agent();
  if (library.empty()) return fail(Errc::kUnsupported, "this clrscope was built without the agent");
  const char* tmp = std::getenv("TMPDIR");
  std::string folder = fmt::format("{}/clrscope-agent-XXXXXX", tmp && *tmp ? tmp : "/tmp");
  if (!::mkdtemp(folder.data()))
    return fail(errc_of(errno), "cannot create the folder {}: {}", folder, errno_text());
  PlacedAgent placed{std::move(folder)};
  const auto path = placed.path();
  const UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0500)};
  if (!file) return fail(errc_of(errno), "cannot write {}: {}", path, errno_text());
  TRY(write_all(file.get(), library));
  return placed;
}

PlacedAgent::~PlacedAgent() {
  if (folder_.empty()) return;
  ::unlink(path().c_str());
  ::rmdir(folder_.c_str());
}

std::string PlacedAgent::path() const { return folder_ + "/libclrscope_agent.so"; }

Result<collect::AgentConnection> start_agent(Target& target) {
  const auto pid = target.process.pid;
  TRY(target.child->resume(*target.endpoint));
  target.suspended = false;
  const Deadline deadline{kPatience};
  for (;;) {
    auto connection = reach_agent(pid);
    if (connection && connection->ask(wire::RequestKind::kHello, 0, deadline)) return connection;
    if (const auto code = target.child->wait(kLook))
      return fail(Errc::kGone, "the command ended with exit code {} before the agent answered",
                  *code);
    if (deadline.passed())
      return fail(Errc::kTimeout, "process {} runs without the agent: it did not answer", pid)
          .hint("the command may set CLRSCOPE_AGENT=0, CORECLR_ENABLE_PROFILING or TMPDIR itself");
  }
}

Result<> unload_agent(collect::AgentConnection connection) {
  (void)TRY(connection.demand(wire::RequestKind::kDetach, 0, Deadline{kAnswer}));
  return connection.wait_for_end(Deadline{kPatience});
}

}  // namespace clrscope::ops
