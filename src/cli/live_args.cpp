#include "cli/live_args.h"

#include "base/text.h"

namespace clrscope::cli {
namespace {

constexpr Option kTargets[] = {
    {.name = "--process-id",
     .value = "PID",
     .help = "ids of the processes: -p 1 -p 2 or -p 1,2",
     .letter = 'p'},
    {.name = "--name",
     .value = "NAME",
     .help = "name of the processes, including ones that start later; * and ? are wildcards",
     .letter = 'n'},
    {.name = "--all", .help = "all .NET processes, including ones that start later", .letter = 'a'},
    {.name = "--diagnostic-port",
     .value = "PATH",
     .help = "diagnostic port: PATH[,connect|listen]",
     .alias = "--dport"},
};

constexpr Option kLimits[] = {
    {.name = "--max-histograms",
     .value = "N",
     .help = "maximum number of histograms per process; each set of tags counts (default: 50)",
     .alias = "--maxHistograms"},
    {.name = "--max-time-series",
     .value = "N",
     .help = "maximum number of time series per process (default: 1000)",
     .alias = "--maxTimeSeries"},
};

}  // namespace

const Options kLiveTargetOptions{kTargets};
const Options kMeterLimitOptions{kLimits};

Result<ops::MeterLimits> meter_limits(const Args& args) {
  ops::MeterLimits limits;
  if (const auto most = TRY(args.number("--max-histograms", 1, ops::MeterLimits::kMostHistograms)))
    limits.histograms = static_cast<std::uint32_t>(*most);
  if (const auto most = TRY(args.number("--max-time-series", 1, ops::MeterLimits::kMostSeries)))
    limits.series = static_cast<std::uint32_t>(*most);
  return limits;
}

Result<ops::WatchRequest> watch_request(const Args& args) {
  ops::WatchRequest request{.names = args.all("--name"), .all = args.has("--all")};
  for (const auto& value : args.all("--process-id"))
    for (const auto part : split(value, ',')) {
      const auto pid = parse_number(trim(part));
      if (!pid || *pid == 0 || *pid > 0x7fffffff)
        return fail(Errc::kUsage, "invalid process id '{}'", part)
            .hint("run clrscope ps to list the processes");
      request.pids.push_back(static_cast<pid_t>(*pid));
    }
  request.target.diagnostic_port = args.text("--diagnostic-port");
  request.target.command = args.command();
  const int kinds = int{!request.pids.empty() || request.comes_and_goes()} +
                    int{request.target.diagnostic_port.has_value()} +
                    int{!request.target.command.empty()};
  if (kinds == 0)
    return fail(Errc::kUsage, "no process given")
        .hint(
            "use -p PID, -n NAME, -a, --diagnostic-port PATH or -- COMMAND; clrscope ps lists the "
            "processes");
  if (kinds > 1)
    return fail(Errc::kUsage, "more than one kind of target given")
        .hint("give a command or a diagnostic port alone, without other targets");
  return request;
}

}  // namespace clrscope::cli
