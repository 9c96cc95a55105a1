// A recording with the kernel's rings, of the whole machine or of one process, or with the agent's
// samples of one process.
#pragma once

#include <string>

#include "collect/agent/connection.h"
#include "collect/written_file.h"
#include "ops/record.h"

namespace clrscope::ops {

// `target` without an endpoint is the whole machine. `agent`, where the plan says so, takes the CPU
// samples; else null. `summary` has its file and process already.
Result<RecordSummary> record_with_kernel(const RecordRequest& request, const Plan& plan,
                                         Target& target, collect::AgentConnection* agent,
                                         RecordSummary summary, int output,
                                         const RecordWatcher& watcher);

// What both kinds of recording share: where the file goes, and what came to be in it.
collect::RecordingFile recording_file(const RecordRequest& request, const std::string& path,
                                      int output);
void add_written(RecordSummary& summary, const collect::WrittenFile& written);

}  // namespace clrscope::ops
