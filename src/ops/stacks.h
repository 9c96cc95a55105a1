// What every thread of a process or core does, who holds which lock, who waits: the use case and
// how it is shown.
//
// Chooses where it comes from: the memory of the process, which needs no answer from its runtime; a
// core file; or, where the memory may not be read, the diagnostic port.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "inspect/look.h"
#include "ops/target.h"

namespace clrscope::ops {

struct StacksWish {
  TargetWish target{};  // by pid or name
  std::string core{};   // or this core file
  inspect::LookWish look{};
};

Result<inspect::Snapshot> take_stacks(const StacksWish& wish);

enum class StacksView { kThreads, kMerged };
struct StacksStyle {
  StacksView view = StacksView::kThreads;
  bool native = false;  // native frames one by one, and threads that run no managed code
};

// As dotnet-stack prints it, with what it cannot know: names, states, locks; cycles first.
std::string stacks_text(const inspect::Snapshot& seen, const StacksStyle& style);
std::string stacks_json(const inspect::Snapshot& seen);
void write_stacks(JsonWriter& json, const inspect::Snapshot& seen);  // the members of an object
// dotnet-monitor's `stacks`, and all of the above beside it.
std::string stacks_monitor_json(const inspect::Snapshot& seen);
// A profile per thread, each of one sample.
std::string stacks_speedscope(const inspect::Snapshot& seen);
// One page that needs nothing else, no script either.
std::string stacks_html(const inspect::Snapshot& seen, const StacksStyle& style);

// "waiting for 0x7f3a10 (Shop.Stock) held by thread 31 "orders""; empty when it waits for nothing.
std::string wait_text(const inspect::Snapshot& seen, const inspect::ThreadView& thread);
// "sleeping", "running" …
std::string_view state_text(const inspect::ThreadView& thread);

}  // namespace clrscope::ops
