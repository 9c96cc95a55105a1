// A flame graph as a pprof file: gzipped profile.proto, which `go tool pprof`, speedscope, Grafana
// Pyroscope and other viewers read. Pure.
#pragma once

#include <string>

#include "base/result.h"
#include "store/answers.h"

namespace clrscope::fleet {

// One sample per call path, with two values: calls and running time, or CPU samples and CPU time.
// Times of a range without a begin or an end are left out.
Result<std::string> pprof_of(const store::Flame& flame, const store::FlameQuery& query);

}  // namespace clrscope::fleet
