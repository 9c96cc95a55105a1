// One request and its answer over a connection of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "ipc/endpoint.h"
#include "ipc/frame.h"

namespace clrscope::ipc {

struct Reply {
  UniqueFd connection;  // what follows the answer is still to be read from it
  std::vector<std::uint8_t> payload;
  std::optional<Refusal> refusal;

  bool unknown_command() const;
};

// The answer, be it a refusal; an Error when there is none in time or it is not one.
Result<Reply> exchange(Endpoint& runtime, const Command& command, Bytes payload,
                       const Deadline& deadline);

// The same over a connection that is there already.
Result<Reply> exchange_over(UniqueFd connection, Endpoint& runtime, const Command& command,
                            Bytes payload, const Deadline& deadline);

// A refusal is an Error too.
Result<Reply> demand(Endpoint& runtime, const Command& command, Bytes payload,
                     const Deadline& deadline);

// Reads `size` bytes that follow the answer; memory grows only with what really came.
Result<std::vector<std::uint8_t>> read_continuation(const Reply& reply, std::size_t size,
                                                    const Deadline& deadline);

}  // namespace clrscope::ipc
