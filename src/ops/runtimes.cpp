#include "ops/runtimes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "base/proc.h"
#include "ops/target.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::milliseconds kLook{250};
constexpr std::chrono::seconds kGreeting{3};
constexpr std::chrono::seconds kAskAgain{1};
constexpr std::chrono::seconds kSilence{5};  // one that cannot be seen and says nothing has ended

}  // namespace

std::string uid_text(const std::array<std::uint8_t, 16>& cookie) {
  const auto& c = cookie;
  return fmt::format(
      "{:02x}{:02x}{:02x}{:02x}-{:02x}{:02x}-{:02x}{:02x}-{:02x}{:02x}-{:02x}{:02x}{:02x}{:02x}{:"
      "02x}{:02x}",
      c[3], c[2], c[1], c[0], c[5], c[4], c[7], c[6], c[8], c[9], c[10], c[11], c[12], c[13], c[14],
      c[15]);
}

Runtimes::Runtimes(std::unique_ptr<ipc::ReversePort> port)
    : port_(std::move(port)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Runtimes::~Runtimes() = default;

Result<std::shared_ptr<Runtimes>> Runtimes::listen(const std::string& port) {
  const auto words = TRY(parse_port(port));
  return std::shared_ptr<Runtimes>{
      new Runtimes{TRY(ipc::ReversePort::listen(words.path, words.mode))}};
}

// Each is let go on before it is asked: a program that waits for us should not wait longer.
void Runtimes::run(const std::stop_token& stop) {
  ipc::Greeter greeter{*port_, ipc::Greeter::Words::kResumeAndAsk, kGreeting};
  while (!stop.stop_requested()) {
    for (const auto& greeted : greeter.wait(Deadline{kLook})) meet(greeted);
    refresh(greeter, TraceClock::now());
  }
}

void Runtimes::meet(const ipc::Greeter::Greeted& greeted) {
  const auto& runtime = greeted.runtime;
  Runtime one{.advertisement = runtime, .heard = TraceClock::now(), .asked = TraceClock::now()};
  if (const auto& info = greeted.info) {
    auto& process = one.process;
    process.name = info->entry_assembly.empty() ? info->command_line : info->entry_assembly;
    process.runtime = info->runtime_version;
    process.architecture = info->architecture;
    process.command_line = info->command_line;
    one.known = true;
  } else {
    log(LogLevel::kDebug, "{}", info.error().what);
  }
  one.process.uid = uid_text(runtime.cookie);
  one.process.by_port = true;
  one.process.foreign = runtime.peer == 0;
  one.process.pid =
      runtime.peer != 0 ? static_cast<pid_t>(runtime.peer) : static_cast<pid_t>(runtime.pid);
  runtimes_.with([&](auto& runtimes) {
    // Many are number 1 in a namespace of their own: the second one gets a number that is nobody's.
    const bool taken = std::ranges::any_of(runtimes, [&](const auto& other) {
      return other.first != one.process.uid && other.second.process.pid == one.process.pid;
    });
    if (one.process.foreign && taken) one.process.pid = next_number_++;
    runtimes.insert_or_assign(one.process.uid, std::move(one));
  });
}

void Runtimes::refresh(ipc::Greeter& greeter, TraceTime now) {
  std::vector<ipc::Advertisement> ended, unknown;
  runtimes_.with([&](auto& runtimes) {
    for (auto& [uid, one] : runtimes) {
      if (!port_->waits(one.advertisement)) continue;
      one.heard = now;
      if (!one.known && now - one.asked > kAskAgain) unknown.push_back(one.advertisement);
    }
    std::erase_if(runtimes, [&](const auto& entry) {
      const auto& one = entry.second;
      const bool over =
          one.process.foreign ? now - one.heard > kSilence : !process_exists(one.process.pid);
      if (over) ended.push_back(one.advertisement);
      return over;
    });
  });
  for (const auto& one : ended) port_->forget(one);
  for (const auto& one : unknown) greeter.again(one);
}

std::vector<Process> Runtimes::list() const {
  std::vector<Process> out;
  runtimes_.with([&](const auto& runtimes) {
    for (const auto& [uid, one] : runtimes)
      if (one.known) out.push_back(one.process);
  });
  return out;
}

Result<Target> Runtimes::target(const std::shared_ptr<Runtimes>& runtimes, const std::string& uid) {
  CHECK(runtimes != nullptr);
  const auto found = runtimes->runtimes_.with([&](const auto& all) -> std::optional<Runtime> {
    const auto one = all.find(uid);
    return one == all.end() ? std::nullopt : std::optional{one->second};
  });
  if (!found)
    return fail(Errc::kNotFound, "no runtime {} is connected to {}", uid, runtimes->path())
        .hint("check that it is running, and retry: it may reconnect");
  Target target{.process = found->process,
                .runtimes = runtimes,
                .endpoint = runtimes->port_->endpoint(found->advertisement)};
  return target;
}

std::vector<Process> joined(std::vector<Process> found, const std::vector<Process>& connected) {
  for (const auto& one : connected) {
    const auto same = std::ranges::find_if(
        found, [&](const Process& other) { return !one.foreign && other.pid == one.pid; });
    if (same == found.end()) {
      found.push_back(one);
    } else {
      same->uid = one.uid;
      if (same->reachable()) continue;
      same->by_port = true;  // its own socket is unreachable, this one is not
      same->reason = same->hint = {};
      same->runtime = one.runtime;
      same->architecture = one.architecture;
    }
  }
  std::ranges::stable_sort(found, {}, &Process::pid);
  return found;
}

}  // namespace clrscope::ops
