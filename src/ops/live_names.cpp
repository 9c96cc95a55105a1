#include "ops/live_names.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/bytes.h"
#include "base/log.h"
#include "collect/eventpipe/early_names.h"
#include "ipc/commands.h"
#include "ipc/discover.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kPatience{20};    // for the rundown of a large application
constexpr std::chrono::milliseconds kLook{100};  // how soon a stop is noticed
constexpr std::size_t kMostBytes = 256 << 20;

}  // namespace

std::vector<LiveNames::Names> LiveNames::take() {
  std::vector<Names> taken;
  come_.with([&](auto& come) { taken.swap(come); });
  return taken;
}

void LiveNames::run(std::stop_token stop) {
  while (const auto process = asked_.pop(stop)) {
    if (stop.stop_requested()) return;
    fetch(*process);
    --open_;
  }
}

void LiveNames::fetch(pid_t pid) {
  const auto process = ipc::find_process(pid);
  if (!process || !process->reachable() || process->status.state == 'T') return;
  const auto runtime = ipc::connect_endpoint(process->socket, pid);
  auto session =
      collect::start_rundown(*runtime, collect::Rundown::kNames, std::chrono::seconds{2});
  if (!session) {
    log(LogLevel::kDebug, "no method names of process {}: {}", pid, session.error().what);
    return;
  }
  // The answer comes after the rundown, which must be read meanwhile.
  const std::jthread stopper{
      [&, id = session->id] { (void)ipc::stop_tracing(*runtime, id, kPatience); }};
  Names names{pid, {}};
  const Deadline deadline{kPatience};
  while (!stopping_ && !deadline.passed() && names.trace.size() < kMostBytes) {
    pollfd waiting{session->stream.get(), POLLIN, 0};
    if (::poll(&waiting, 1, static_cast<int>(kLook.count())) <= 0) continue;
    std::array<std::uint8_t, 64 * 1024> chunk;
    const auto got = ::read(session->stream.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    names.trace.insert(names.trace.end(), chunk.begin(), chunk.begin() + got);
  }
  session->stream.reset();  // the runtime drops what we no longer read
  come_.with([&](auto& come) { come.push_back(std::move(names)); });
}

}  // namespace clrscope::ops
