// What every thread of a process or core does, which locks it holds and what it waits for: the use
// case and its text.
//
// Chooses the source: the memory of the process, which needs no answer from its runtime; a core
// file; or, if the memory cannot be read, the diagnostic port.
#pragma once

#include <string>
#include <string_view>

#include "base/document.h"
#include "base/result.h"
#include "inspect/answer.h"
#include "inspect/take_snapshot.h"
#include "ops/target.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using inspect::StacksAnswer;
using inspect::StopPolicy;

struct StacksRequest {
  TargetRequest target{};  // by pid or name
  std::string core{};      // or this core file
  inspect::SnapshotOptions snapshot{};
};

Result<inspect::Snapshot> take_stacks(const StacksRequest& request);

enum class StacksView { kThreads, kMerged };
struct StacksStyle {
  StacksView view = StacksView::kThreads;
  bool native = false;  // native frames one by one, and threads that run no managed code
};

// As dotnet-stack prints it, with what it cannot know: names, states, locks; cycles first.
Document stacks_document(const inspect::Snapshot& seen, const StacksStyle& style);
// Without colours, its lines as long as they are: names are searched for.
std::string stacks_text(const inspect::Snapshot& seen, const StacksStyle& style);
std::string stacks_json(const inspect::Snapshot& seen);
// dotnet-monitor's `stacks`, and all of the above beside it.
const ValueShape& stacks_monitor_shape();
// That, or with ?async=true async_stacks.h's AsyncStacksAnswer.
const ValueShape& stacks_route_shape();
std::string stacks_monitor_json(const inspect::Snapshot& seen);
// A profile per thread, each of one sample.
std::string stacks_speedscope(const inspect::Snapshot& seen);

// "waiting for 0x7f3a10 (Shop.Stock) held by thread 31 "orders""; empty when it waits for nothing.
std::string wait_text(const inspect::Snapshot& seen, const inspect::ThreadView& thread);

}  // namespace clrscope::ops
