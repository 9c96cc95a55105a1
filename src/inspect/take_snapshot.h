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

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "inspect/runtime_reader.h"
#include "inspect/snapshot.h"
#include "inspect/source_lines.h"
#include "inspect/thread_stacks.h"
#include "inspect/walk.h"

namespace clrscope::inspect {

struct SnapshotOptions {
  bool native = false;  // names of native functions
  bool lines = false;   // source files and lines
  StopPolicy stop = StopPolicy::kBriefly;
  std::string symbol_folder{};  // more PDBs are looked for there
};

// What one snapshot leaves for the next of the same target and reader: files as they were opened,
// unwind rules, PDBs.
struct SnapshotMemo {
  std::unique_ptr<Walker> walker{};
  std::optional<SourceLines> lines{};
  StackMemo stacks{};
  // Frames of the last snapshot with names, by thread; and with which of them.
  std::unordered_map<pid_t, std::vector<Frame>> frames{};
  bool native = false, with_lines = false;
};

// `reader` may be null, and `memo` where no snapshot follows.
Result<Snapshot> take_snapshot(Target& target, RuntimeReader* reader,
                               const SnapshotOptions& request, SnapshotMemo* memo = nullptr);

// A thread as people name it: `thread 4312 "orders"`.
std::string title_of(const ThreadView& thread);
const ThreadView* find_thread(const Snapshot& snapshot, std::uint32_t os_id);

}  // namespace clrscope::inspect
