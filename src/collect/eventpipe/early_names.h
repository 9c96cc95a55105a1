// The names of methods, taken early and kept aside, for a recording whose target may die.
//
// A recording gets its method names when it stops, from a target that lives. Here two sessions of
// our own get them before: a short one whose only content is the rundown of what is loaded now, and
// one that stays open for what is loaded later. The runtime's work for the first is the same as at
// the end of any recording. Those of the methods that the recording's stacks lead into can be had
// while it goes on, in case we are killed ourselves.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "collect/eventpipe/wanted_methods.h"
#include "ipc/commands.h"
#include "ipc/endpoint.h"

namespace clrscope::collect {

class NamesFile;

// Which IL each piece of machine code came from costs the runtime more than the names do.
enum class Rundown { kNames, kLines };

// A session whose only content is the rundown that comes when it is stopped.
Result<ipc::Session> start_rundown(ipc::Endpoint& runtime, Rundown what,
                                   std::chrono::nanoseconds patience);

class EarlyNames {
 public:
  // Begins after `delay`, on a thread of its own. Names go to unlinked files in `folder`. Those
  // that are wanted are looked for so often at least.
  EarlyNames(ipc::Endpoint& runtime, std::string folder, std::chrono::nanoseconds delay,
             std::chrono::nanoseconds look_every = std::chrono::seconds{30});
  ~EarlyNames();
  EarlyNames(const EarlyNames&) = delete;
  EarlyNames& operator=(const EarlyNames&) = delete;

  // Stacks lead to these addresses. From any thread.
  void want(std::span<const std::uint64_t> addresses);
  // What names them, as far as it was found since the last call. From any thread.
  std::vector<NameEvent> take_found();

  struct Traces {
    Bytes loaded_before{};  // a rundown
    Bytes loaded_later{};
    bool empty() const { return loaded_before.empty() && loaded_later.empty(); }
  };
  // Ends the sessions; the traces live as long as this.
  Traces take();

 private:
  void run(std::stop_token stop, std::chrono::nanoseconds delay);
  void look_for_names(TraceTime now);

  ipc::Endpoint& runtime_;
  std::string folder_;
  std::chrono::nanoseconds look_every_;
  std::unique_ptr<NamesFile> before_;
  std::unique_ptr<NamesFile> later_;
  Guarded<std::vector<std::uint64_t>> wanted_;
  Guarded<std::vector<NameEvent>> found_;
  WantedMethods methods_;  // this and the next are the worker's
  TraceTime started_{};
  TraceTime next_look_{};
  off_t looked_at_ = 0;  // so much of what was loaded later
  std::jthread worker_;  // last: joins first
};

}  // namespace clrscope::collect
