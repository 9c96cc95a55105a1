// A recording with the kernel's rings, of the whole machine or of one process, or with the agent's
// samples.
#pragma once

#include <string>

#include "collect/agent/cpu_samples.h"
#include "collect/written_file.h"
#include "ops/record.h"

namespace clrscope::ops {

// `target` without an endpoint is the whole machine. `agents`, where the plan says so, take the
// CPU samples. `summary` has its file and process already.
Result<RecordSummary> record_with_kernel(const RecordRequest& request, const Plan& plan,
                                         Target& target,
                                         std::vector<collect::AgentCpuSamples*> agents,
                                         RecordSummary summary, int output,
                                         const RecordWatcher& watcher);

// What both kinds of recording share: where the file goes, and what came to be in it.
collect::RecordingFile recording_file(const RecordRequest& request, const std::string& path,
                                      int output);
void add_written(RecordSummary& summary, const collect::WrittenFile& written);

}  // namespace clrscope::ops
