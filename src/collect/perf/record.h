// Reads the records that the kernel's perf rings carry: bytes in, views out.
//
// Does no I/O, keeps nothing, trusts nothing: sizes are checked before use. Views live as long as
// the bytes they were read from. One RecordParser belongs to one thread. Pids and tids are as our
// own pid namespace sees them; times are CLOCK_MONOTONIC. Format: docs/formats/perf.md
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "model/event.h"
#include "model/ids.h"

namespace clrscope::collect::perf {

enum class EventId : std::uint64_t {};  // the kernel's number for one opened event
enum class EventIndex : std::uint32_t {
  kUnknown = 0xffffffff
};  // which event of the request a record belongs to

// How the records of one event lie in memory: the part of its attr that decides it.
struct RecordLayout {
  std::uint64_t sample_type = 0;  // PERF_SAMPLE_* bits; IDENTIFIER is needed when rings are shared
  std::uint64_t user_registers = 0;  // mask, bits as in registers_x64.h
  bool sample_id_all = true;         // every record ends with time, thread and event
};

// Said of every record (of a sample in its head, of all others in their tail).
struct Origin {
  EventIndex event = EventIndex::kUnknown;
  EventId id{};
  TraceTime time{};
  ProcessId process{-1};  // of who ran; -1 when not known
  ThreadId thread{};
  std::uint32_t cpu = 0xffffffff;
};

enum class CodeMode : std::uint8_t { kUnknown, kKernel, kUser, kOther };

// Leaf first, each part without the markers.
struct Callchain {
  StackView kernel{};
  StackView user{};
};

// The user's registers at the moment of the sample; only those of the mask are there.
class UserRegisters {
 public:
  UserRegisters() = default;
  UserRegisters(std::uint64_t mask, Bytes values) : mask_(mask), values_(values) {}

  bool empty() const { return values_.empty(); }
  std::uint64_t mask() const { return mask_; }
  std::optional<std::uint64_t> get(unsigned bit) const;

 private:
  std::uint64_t mask_ = 0;
  Bytes values_{};
};

struct Sample {
  Origin origin{};
  CodeMode mode = CodeMode::kUnknown;  // what was interrupted
  std::uint64_t ip = 0;
  std::uint64_t period = 0;  // what it stands for: ns of cpu-clock, or 1 for a tracepoint
  Callchain callchain{};
  UserRegisters registers{};  // empty for kernel threads
  Bytes stack{};              // from the user's stack pointer upwards, as much as was copied
  Bytes raw{};                // a tracepoint's fields
};

struct Mapping {
  Origin origin{};
  ProcessId process{};
  ThreadId thread{};
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t file_offset = 0;
  std::uint32_t major = 0;  // of the device; absent when there is a build-id
  std::uint32_t minor = 0;
  std::uint64_t inode = 0;
  Bytes build_id{};  // empty when the kernel could not read it
  std::uint32_t protection = 0;
  std::uint32_t flags = 0;
  std::string_view path{};  // in the process's own mount namespace; "//anon", "[vdso]", …
};

struct ThreadName {
  Origin origin{};
  ProcessId process{};
  ThreadId thread{};
  bool exec = false;  // the process became another program: its mappings are gone
  std::string_view name{};
};

struct Task {
  Origin origin{};
  enum class Kind : std::uint8_t { kFork, kExit } kind = Kind::kFork;
  ProcessId process{};
  ProcessId parent_process{};
  ThreadId thread{};
  ThreadId parent_thread{};
  TraceTime time{};

  bool is_process() const {  // else a thread came or went
    return kind == Kind::kFork
               ? process != parent_process
               : static_cast<std::uint64_t>(process) == static_cast<std::uint64_t>(thread);
  }
};

struct Lost {
  Origin origin{};
  std::uint64_t count = 0;    // records, or samples
  bool samples_only = false;  // the hardware lost them, not the ring
};

struct Switch {
  Origin origin{};  // who is switched
  bool out = false;
  bool preempted = false;  // still wanted to run; only when out
  bool cpu_wide = false;   // `other` is known
  ProcessId other_process{};
  ThreadId other_thread{};
};

struct Throttle {
  Origin origin{};
  bool begins = false;
};

struct Other {
  Origin origin{};
  std::uint32_t type = 0;
};

using Record = std::variant<Sample, Mapping, ThreadName, Task, Lost, Switch, Throttle, Other>;

const Origin& origin_of(const Record& record);

class RecordParser {
 public:
  // Records of this layout, whatever they say they are; `event` is what they then belong to.
  explicit RecordParser(const RecordLayout& only);
  // Rings shared by several events: each record names its event. All layouts have IDENTIFIER.
  RecordParser() = default;
  void add(EventId id, EventIndex event, const RecordLayout& layout);

  // One whole record, header included. A wrong one is an error and says nothing of the next.
  Result<Record> parse(Bytes record) const;

 private:
  struct Known {
    EventIndex event;
    RecordLayout layout;
  };
  const Known* find(Bytes body, std::uint32_t type, EventId& id) const;

  std::vector<Known> kinds_;                              // distinct (event, layout)
  std::unordered_map<std::uint64_t, std::size_t> by_id_;  // event id to place in kinds_
  bool single_ = false;
};

// Splits addresses with context markers among them. What stands before any marker belongs to
// `mode`.
Callchain split_callchain(Bytes addresses, CodeMode mode);

}  // namespace clrscope::collect::perf
