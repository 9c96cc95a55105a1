// What the worker that runs the runtime's data access library and its parent say to each other.
//
// A message is a size, a kind and a body. The parent asks one thing at a time; while the worker
// looks for the answer it may ask for memory of the target. The worker runs foreign code, so what
// it says is hostile: sizes, counts and texts are bounded here, before anything is kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect::dac {

enum class Kind : std::uint8_t {
  // From the parent.
  kOpen = 1,  // u64 address where the runtime is mapped, u8: memory is read by descriptor
  kThreads,
  kMethods,  // varuint count, u64 each: addresses in code
  kType,     // u64 method table
  kSyncBlocks,
  kFrames,    // u32 OS id, u64 for each register
  kIlOffset,  // u64 address in code
  kForget,    // the target went on: read again from now on
  kMemory,    // what was read
  // From the worker.
  kRead,  // u64 address, u32 size
  kAnswer,
  kNotFound,   // a text: there is no such thing
  kRefused,    // a text: why there is no answer
  kForbidden,  // a text: what the library tried that no such library needs; the worker has ended
  // From the parent again; the numbers above stay as they are.
  kMethodOf,  // u64 the runtime's handle of a method
  kHelper,    // u64 address where a function of the runtime begins
  kStatics,   // varuint count, u64 each: method tables
};

inline constexpr std::size_t kMostRead = 64 << 10;
inline constexpr std::size_t kMostRequest = 256 << 10;
inline constexpr std::size_t kMostAnswer = 16 << 20;
inline constexpr std::size_t kMostText = 16 << 10;
inline constexpr std::size_t kMostThreads = 100'000;
inline constexpr std::size_t kMostFields = 10'000;
inline constexpr std::size_t kMostSyncBlocks = 500'000;
inline constexpr std::size_t kMostFrames = 20'000;
inline constexpr std::size_t kMostTables = 30'000;  // asked for at once
inline constexpr std::size_t kMostStatics = 200'000;
inline constexpr std::size_t kMostMethods = 16'384;  // asked for at once

struct Message {
  Kind kind{};
  std::vector<std::uint8_t> body{};
};

// Never waits longer than the deadline for a peer that does not read. kGone when it is away.
Result<> send(int socket, Kind kind, Bytes body, const Deadline& deadline);
// A body larger than `most` is kCorrupt, and nothing of it is read.
Result<Message> receive(int socket, std::size_t most, const Deadline& deadline);

// What the worker knows of a method; `name` is in the library's own manner.
struct RawMethod {
  bool found = false;
  std::string type{};       // of its method table
  std::string name{};       // of the method alone; empty: not known by metadata
  std::string arguments{};  // "(int, string)", by metadata
  std::string full_name{};  // as the library puts it, for methods without metadata
  std::string module{};
  std::uint32_t token = 0;
  std::uint64_t method_desc = 0;
  std::uint64_t code_start = 0;
  std::uint64_t code_size = 0;
  std::uint64_t dynamic_object = 0;
};

struct RawFrame {
  std::uint64_t pc = 0;
  std::uint64_t sp = 0;
  bool managed = false;
  RawMethod method{};          // of a managed frame
  std::string runtime_name{};  // of another
};

// A static field; `type` is in the library's own manner.
struct RawStatic {
  std::string type{};
  std::string field{};
  std::uint64_t address = 0;
};

void put_text(ByteWriter& out, std::string_view text);
void put(ByteWriter& out, const RuntimeThread& thread);
void put(ByteWriter& out, const RawMethod& method);
void put(ByteWriter& out, const TypeInfo& type);
void put(ByteWriter& out, const SyncBlocks& blocks);
void put(ByteWriter& out, const RawFrame& frame);
void put(ByteWriter& out, const RawStatic& field);

// kCorrupt where the answer breaks a bound or its own format.
Result<std::vector<RuntimeThread>> read_threads(Bytes answer);
Result<std::vector<RawMethod>> read_methods(Bytes answer);
Result<TypeInfo> read_type(Bytes answer);
Result<SyncBlocks> read_sync_blocks(Bytes answer);
Result<std::vector<RawFrame>> read_frames(Bytes answer);
Result<std::vector<RawStatic>> read_statics(Bytes answer);
Result<std::optional<std::uint32_t>> read_il_offset(Bytes answer);
// A text for people: printable, cut where it is long.
std::string read_printable(Bytes answer);

}  // namespace clrscope::inspect::dac
