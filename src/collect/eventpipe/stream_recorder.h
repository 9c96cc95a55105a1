// Records one EventPipe session: the runtime's bytes to a descriptor, as they are, with a parse in
// passing that counts. Blocks of our own may be put between its blocks.
//
// Only whole blocks are written, so that what was written can be read however the recording ends,
// our own death included. Ends by itself when asked, at a limit, or when the target goes; a target
// that no longer answers is given up after a grace.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "collect/stop_reason.h"
#include "ipc/commands.h"
#include "nettrace/reader.h"

namespace clrscope::collect {

struct StreamLimits {
  std::optional<std::chrono::nanoseconds> duration{};
  std::optional<std::uint64_t> max_size{};
};

enum class Phase { kRecording, kStopping };

struct StreamStatus {
  Phase phase = Phase::kRecording;
  std::chrono::nanoseconds elapsed{};
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  std::uint64_t lost = 0;
  std::uint64_t samples = 0;  // of stacks
};

enum class Ending {
  kAsked,        // a limit or the user; the runtime wrote its last block
  kTargetEnded,  // the process ended in an orderly way; the runtime wrote its last block
  kTargetDied,   // the stream broke off
  kNoAnswer,     // the target does not answer any more: stopped or hung
  kWriteFailed,  // our side: the disk is full, the reader of the pipe went away
};

struct StreamOutcome {
  Ending ending = Ending::kAsked;
  std::optional<StopReason> stopped_by{};  // for kAsked
  std::chrono::nanoseconds recorded{};
  std::uint64_t bytes = 0;
  nettrace::Summary summary{};
  bool unreadable = false;       // no trace as we know it: the runtime's bytes as they came
  std::optional<Error> error{};  // for kWriteFailed
};

struct StreamJob {
  ipc::Endpoint& runtime;
  ipc::Session session;
  pid_t pid = 0;                           // as we see it; 0 when unknown
  std::function<Result<>(Bytes)> write{};  // whole blocks, in order
  StreamLimits limits{};
  std::span<const int> stop_fds{};              // one of them readable: stop
  std::function<std::uint64_t()> file_bytes{};  // for max_size; empty: what was handed to write()
  // Blocks of our own to be written behind so many bytes of the stream, at this time in its ticks;
  // none: nothing now. Asked for about five times a second, until the stop.
  std::function<std::vector<std::uint8_t>(std::uint64_t, std::int64_t)> insert{};
  std::function<void()> on_stop{};  // the stop has been asked for; the rundown follows
  std::function<void(const StreamStatus&)> on_status{};  // about five times a second
  std::function<bool(const nettrace::Batch&, const nettrace::Reader&)>
      on_batch{};  // true: stop (a stopping event)
};

Result<StreamOutcome> record_stream(StreamJob job);

}  // namespace clrscope::collect
