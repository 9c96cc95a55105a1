// Takes a Snapshot of every thread and lock of a target.
//
//   auto target = TRY(open_process(pid));
//   auto reader = open_runtime(*target);                       // may fail: then native stacks only
//   auto seen = TRY(take_snapshot(*target, reader ? reader->get() : nullptr, {}));
//
// A live process is not stopped, but for threads that run at the moment, and then briefly:
// Snapshot::pause says how long. What cannot be seen becomes a note, not an error; an error is that
// nothing could be seen at all, such as a process that has ended.
#pragma once

#include <string>

#include "base/result.h"
#include "inspect/runtime_reader.h"
#include "inspect/snapshot.h"
#include "inspect/thread_stacks.h"

namespace clrscope::inspect {

struct SnapshotOptions {
  bool native = false;  // names of native functions
  bool lines = false;   // source files and lines
  StopPolicy stop = StopPolicy::kBriefly;
  std::string symbol_folder{};  // more PDBs are looked for there
};

// `reader` may be null.
Result<Snapshot> take_snapshot(Target& target, RuntimeReader* reader,
                               const SnapshotOptions& request);

// A thread as people name it: `thread 4312 "orders"`.
std::string title_of(const ThreadView& thread);
const ThreadView* find_thread(const Snapshot& snapshot, std::uint32_t os_id);

}  // namespace clrscope::inspect
