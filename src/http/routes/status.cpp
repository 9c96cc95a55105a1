// What the status strip of the pages tells: what the controller itself uses, and what it has open
// in a process.
#include <unistd.h>

#include "archive/recordings.h"
#include "archive/request_runs.h"
#include "base/proc.h"
#include "http/processes.h"
#include "http/route.h"
#include "http/services.h"
#include "live/live.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

struct StatusLive {
  std::uint64_t sessions = 0, followers = 0, events = 0, lost = 0;
  std::optional<std::chrono::nanoseconds> app_cpu{};
  std::string app_cpu_unknown{};
};
const Shape& shape_of(const StatusLive*) {
  using S = StatusLive;
  static const auto shape = describe<S>(
      "StatusLive", "What the controller has open in a process",
      {member<&S::sessions>("sessions", "sessions open in its runtime"),
       member<&S::followers>("followers", "open streams"),
       member<&S::events>("events", "events that arrived"),
       member<&S::lost>("lost", "events that the runtime lost"),
       member<&S::app_cpu>("appCpuMs",
                           "CPU time of the process's threads that send events, of all "
                           "tools, since it is watched: the part of the cost that is "
                           "measured"),
       member_unless_empty<&S::app_cpu_unknown>("appCpuUnknown", "why appCpuMs is absent")});
  return shape;
}

struct StatusCaller {
  std::string name{};
  std::vector<std::string_view> scopes{};
  bool signed_in = false;
};
const Shape& shape_of(const StatusCaller*) {
  using C = StatusCaller;
  static const auto shape =
      describe<C>("StatusCaller", "Who asks",
                  {member<&C::name>("name", "name of the key or user"),
                   member<&C::scopes>("scopes", "what the caller may do; admin includes all"),
                   member<&C::signed_in>("signedIn", "whether a browser's cookie says who it is")});
  return shape;
}

StatusCaller caller_of(const Call& call) {
  StatusCaller caller{.name = call.caller().name, .signed_in = call.caller().by_cookie};
  for (const auto scope :
       {Scope::kMetrics, Scope::kRead, Scope::kTrace, Scope::kMemory, Scope::kAdmin})
    if (call.caller().scopes.has(scope)) caller.scopes.push_back(name_of(scope));
  return caller;
}

struct Status {
  std::string version = CLRSCOPE_VERSION;
  std::uint64_t rss_bytes = 0;
  std::chrono::milliseconds cpu{}, up{};
  std::optional<bool> running{};
  std::optional<StatusLive> live{};
  StatusCaller caller{};
  bool machine = false;
  std::uint64_t disk_limit = 0, disk_used = 0;
};
const Shape& shape_of(const Status*) {
  using S = Status;
  static const auto shape = describe<S>(
      "Status", "What the controller itself uses",
      {member<&S::version>("version", "version of clrscope"),
       member<&S::rss_bytes>("rssBytes", Unit::kBytes, "resident memory"),
       member<&S::cpu>("cpuMs", "CPU time since it started"),
       member<&S::up>("upMs", "time since it started"),
       member<&S::running>("running",
                           "true: the process runs; absent: unknown, GET /processes tells"),
       member<&S::live>("live", "what it has open in the process"),
       member<&S::caller>("caller", "caller of this request"),
       member<&S::machine>("machine", "whether the caller may record the whole machine"),
       member<&S::disk_limit>("diskLimitBytes", Unit::kBytes,
                              "disk space that recordings and request profiles may take"),
       member<&S::disk_used>("diskUsedBytes", Unit::kBytes, "disk space that they take")});
  return shape;
}

Result<HttpResponse> status(Call& call) {
  using std::chrono::duration_cast, std::chrono::milliseconds;
  const auto own = TRY(proc_status(::getpid()));
  auto& services = call.services();
  Status answer{.rss_bytes = own.rss_bytes,
                .cpu = duration_cast<milliseconds>(own.cpu),
                .up = duration_cast<milliseconds>(own.age),
                .caller = caller_of(call),
                .machine = call.caller().scopes.has(Scope::kTrace) &&
                           services.processes.machine_allowed().has_value(),
                .disk_limit = services.setting.disk_limit,
                .disk_used = services.recordings.used() + services.request_runs.bytes()};
  const auto pid = TRY(call.number("pid", 1, 0x7fffffff));
  if (pid && services.processes.still_there(static_cast<pid_t>(*pid))) answer.running = true;
  for (const auto& one : services.live.status()) {
    if (!pid || one.source.pid != *pid) continue;
    StatusLive live{.sessions = one.process.sessions,
                    .events = one.process.events,
                    .lost = one.process.lost,
                    .app_cpu = one.process.event_cpu,
                    .app_cpu_unknown = one.process.event_cpu_unknown};
    for (const auto& feed : one.process.feeds) live.followers += feed.followers;
    answer.live = live;
  }
  return answer_with(answer);
}

constexpr Parameter kParameters[] = {
    {.name = "pid", .type = "integer", .help = "process whose open sessions are counted too"}};

constexpr Route kRoutes[] = {
    {.method = "GET",
     .path = "/status",
     .scope = Scope::kRead,
     .summary =
         "Memory, CPU time and disk space of the controller itself, and what the caller may do",
     .types = kJson,
     .parameters = kParameters,
     .answer = status,
     .json = value_shape<Status>,
     .runs = Runs::kAtOnce,
     .load = Load::kLight},
};

}  // namespace

extern constexpr Routes status_routes{kRoutes};

}  // namespace clrscope::http
