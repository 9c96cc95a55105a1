// A session's stream, read as it comes and counted.
#pragma once

#include <map>
#include <string>
#include <thread>
#include <utility>

#include "base/guarded.h"
#include "ipc/commands.h"

namespace clrscope::live {

struct Count {
  std::uint64_t events = 0;
  std::uint64_t with_stack = 0;
};

struct Tally {
  std::map<std::pair<std::string, std::uint32_t>, Count> kinds{};  // by provider and event id
  std::uint32_t format = 0;
  bool ended = false;  // the stream had its end mark
  bool readable = true;

  Count of(const std::string& provider) const;
};

class Recording {
 public:
  explicit Recording(UniqueFd stream);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // True when so many events of the provider have come.
  bool has(const std::string& provider, std::uint64_t events);
  // Stops the session and reads the stream to its end.
  Result<Tally> stop(ipc::Endpoint& runtime, std::uint64_t session);

 private:
  void run();

  UniqueFd stream_;
  Guarded<Tally> tally_;
  std::jthread thread_;  // last: the first to stop
};

}  // namespace clrscope::live
