// Options shared by the live verbs (events, counters): several targets, until stopped.
#pragma once

#include "base/result.h"
#include "cli/args.h"
#include "ops/watch.h"

namespace clrscope::cli {

extern const Options
    kLiveTargetOptions;  // -p (several), -n (several, with *), -a, --diagnostic-port

extern const Options kMeterLimitOptions;  // --max-histograms, --max-time-series

Result<ops::WatchRequest> watch_request(const Args& args);
Result<ops::MeterLimits> meter_limits(const Args& args);

}  // namespace clrscope::cli
