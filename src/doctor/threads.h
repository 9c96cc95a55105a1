// Threads of a snapshot, as findings compare and show them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "doctor/finding.h"
#include "inspect/take_snapshot.h"

namespace clrscope::doctor {

// `thread 4312 "orders"`
std::string label(const inspect::Snapshot& snapshot, std::uint32_t os_id);

// The first method of the application from the top of the stack; where there is none the first
// managed one, else the first with a name; null: no frame has one.
const inspect::Frame* site_of(const inspect::ThreadView& thread);
// That method's name and place: "Shop.Orders.Place (Orders.cs:88)"; "?" when unknown.
std::string site_text(const inspect::ThreadView& thread);

// With the frames that say what it does: from its site on, at most `most`.
// A verb about the process that was examined.
Remedy remedy(const Evidence& evidence, std::string verb,
              std::map<std::string, std::string> options = {});

ShownThread shown(const inspect::ThreadView& thread, std::string does, std::size_t most = 3);

// "Shop.Cart 0x7f0000001010"
std::string object_text(std::string_view type, std::uint64_t address);

// "Monitor", "Task" …
std::string_view words_for(inspect::WaitKind kind);

// Blocked in the same wait in every snapshot, and used no CPU between them but what stops by us
// cost; one that still runs after such a stop counts as blocked, but in the last snapshot. False
// when it was seen so in fewer than two snapshots.
bool unmoved(const Evidence& evidence, std::uint32_t os_id);

// Of counts of threads, one of each snapshot: whether they come and go. A thread that was just
// about to start or to wait may be missed: up to a fifth of what the count has grown by.
bool falls(std::span<const std::size_t> counts);

// CPU time between the first snapshot and the last; nothing when it is not in both.
std::optional<std::chrono::nanoseconds> cpu_used(const Evidence& evidence, std::uint32_t os_id);

// A thread of the pool that does its work; the pool's own helpers are not.
bool is_worker(const inspect::ThreadView& thread);

// Waits for something that nobody is bound to do: no owner, no timeout. Pool threads are the pool's
// business.
bool waits_for_nobody(const inspect::ThreadView& thread);

// The application's outermost method: where the thread was started; empty: unknown.
std::string entry_of(const inspect::ThreadView& thread);

// The regular expression that it has matched against the same text in all snapshots; null: none.
const inspect::RegexCall* same_regex_call(const Evidence& evidence, std::uint32_t os_id);

// The setting that makes its runtime wait at startup for a tool, "NAME=value", when no snapshot
// shows that it has started; else empty.
std::string start_held_by(const Evidence& evidence);

// The program's first thread.
bool is_main(const inspect::Snapshot& snapshot, const inspect::ThreadView& thread);

// "1 thread", "3 threads"
std::string counted(std::size_t count, std::string_view noun);

}  // namespace clrscope::doctor
