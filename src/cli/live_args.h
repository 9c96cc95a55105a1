// What the live verbs (events, counters) share: several targets at once, until told to stop.
#pragma once

#include "base/result.h"
#include "cli/args.h"
#include "ops/watch.h"

namespace clrscope::cli {

extern const Options
    kLiveTargetOptions;  // -p (several), -n (several, with *), -a, --diagnostic-port

extern const Options kMeterLimitOptions;  // --max-histograms, --max-time-series

Result<ops::WatchWish> watch_wish(const Args& args);
Result<hub::MeterLimits> meter_limits(const Args& args);

}  // namespace clrscope::cli
