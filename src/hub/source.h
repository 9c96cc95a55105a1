// A process that sends events: opens a session in it with certain providers.
//
// The EventPipe implementation is in collect/eventpipe/live_source.h.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/result.h"
#include "hub/block.h"
#include "hub/request.h"
#include "nettrace/reader.h"

namespace clrscope::hub {

struct SourceRequest {
  std::vector<ProviderRequest> providers{};
  bool stacks = false;

  friend bool operator==(const SourceRequest&, const SourceRequest&) = default;
};

// Called on the thread that reads the session.
struct SourceEvents {
  std::function<void(const nettrace::Reader& reader, const nettrace::Batch& batch,
                     const std::shared_ptr<const void>& owner)>
      on_batch{};
  std::function<void(const std::string& why)> on_end{};  // once; why: "asked", "target ended", …
};

// A session in the process: ends when destroyed, after its last events have been handed over.
class SourceSession {
 public:
  virtual ~SourceSession() = default;
};

class Source {
 public:
  virtual ~Source() = default;
  virtual const std::shared_ptr<const SourceInfo>& info() const = 0;
  virtual Result<std::unique_ptr<SourceSession>> open(const SourceRequest& request,
                                                      SourceEvents events) = 0;
  // Asked where somebody wants counters by a pattern, and again from time to time; it may take as
  // long as the process takes to answer.
  virtual CounterSources counter_sources() { return {}; }
};

}  // namespace clrscope::hub
