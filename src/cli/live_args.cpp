#include "cli/live_args.h"

#include "base/text.h"

namespace clrscope::cli {
namespace {

constexpr Option kTargets[] = {
    {.name = "--process-id",
     .value = "PID",
     .help = "a process; several: -p 1 -p 2 or -p 1,2",
     .letter = 'p'},
    {.name = "--name",
     .value = "NAME",
     .help = "processes of that name, as they come and go; * and ? stand for anything",
     .letter = 'n'},
    {.name = "--all", .help = "every .NET process, as they come and go", .letter = 'a'},
    {.name = "--diagnostic-port",
     .value = "PATH",
     .help = "a socket: PATH[,connect|listen]",
     .alias = "--dport"},
};

constexpr Option kLimits[] = {
    {.name = "--max-histograms",
     .value = "N",
     .help = "that a process collects of its meters, each set of tags one (default: 50)",
     .alias = "--maxHistograms"},
    {.name = "--max-time-series",
     .value = "N",
     .help = "likewise, of all instruments; 1000 unless told",
     .alias = "--maxTimeSeries"},
};

}  // namespace

const Options kLiveTargetOptions{kTargets};
const Options kMeterLimitOptions{kLimits};

Result<hub::MeterLimits> meter_limits(const Args& args) {
  hub::MeterLimits limits;
  if (const auto most = TRY(args.number("--max-histograms", 1, hub::MeterLimits::kMostHistograms)))
    limits.histograms = static_cast<std::uint32_t>(*most);
  if (const auto most = TRY(args.number("--max-time-series", 1, hub::MeterLimits::kMostSeries)))
    limits.series = static_cast<std::uint32_t>(*most);
  return limits;
}

Result<ops::WatchWish> watch_wish(const Args& args) {
  ops::WatchWish wish{.names = args.all("--name"), .all = args.has("--all")};
  for (const auto& value : args.all("--process-id"))
    for (const auto part : split(value, ',')) {
      const auto pid = parse_number(trim(part));
      if (!pid || *pid == 0 || *pid > 0x7fffffff)
        return fail(Errc::kUsage, "--process-id: '{}' is no process id", part)
            .hint("clrscope ps lists them");
      wish.pids.push_back(static_cast<pid_t>(*pid));
    }
  wish.target.diagnostic_port = args.text("--diagnostic-port");
  wish.target.command = args.command();
  const int kinds = int{!wish.pids.empty() || wish.comes_and_goes()} +
                    int{wish.target.diagnostic_port.has_value()} +
                    int{!wish.target.command.empty()};
  if (kinds == 0)
    return fail(Errc::kUsage, "which process?")
        .hint("-p PID, -n NAME, -a, --diagnostic-port PATH or -- COMMAND; clrscope ps lists them");
  if (kinds > 1)
    return fail(Errc::kUsage, "more than one kind of target")
        .hint("a command or a diagnostic port stands alone");
  return wish;
}

}  // namespace clrscope::cli
