// Long-running work for clients: traces, dumps, sessions, examinations, profiles of requests;
// dotnet-monitor's /operations. Any thread.
//
// The code that does the work holds an OperationHandle; destroying it ends the operation. The last
// hundred ended operations are kept.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "archive/process_reference.h"
#include "base/clock.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/shape.h"
#include "ops/visibility.h"

namespace clrscope::archive {

enum class OperationStatus { kRunning, kStopping, kSucceeded, kFailed, kCancelled };
std::span<const std::string_view> names_of(OperationStatus);  // "Running", …

struct Operation {
  std::string id{};    // a GUID
  std::string kind{};  // "trace", "dump", "session", "doctor", "requests"
  Process process{};
  std::string tags{};  // separated by commas
  WallTime created{};
  OperationStatus status = OperationStatus::kRunning;
  std::string error{};
  std::string resource{};          // where its result is; empty: it was the answer
  std::function<void()> stop{};    // ends it in good order; empty: it cannot be
  std::function<void()> cancel{};  // gives it up
};

// dotnet-monitor's OperationSummary, and what we know beside.
struct OperationSummary {
  std::string id{};
  WallTime created{};
  OperationStatus status{};
  std::optional<std::string> egress_provider{};  // there are none yet
  bool stoppable = false;
  std::optional<ProcessReference> process{};
  std::vector<std::string> tags{};
  std::string kind{};
};
const Shape& shape_of(const OperationSummary*);
OperationSummary summary_of(const Operation& operation);

// dotnet-monitor's OperationStatus: one operation with its result.
struct OperationError {
  std::string message{};
};
const Shape& shape_of(const OperationError*);
struct OperationAnswer {
  std::string resource{};
  std::optional<OperationError> error{};
  OperationSummary summary{};
};
const Shape& shape_of(const OperationAnswer*);
OperationAnswer answer_of(const Operation& operation);

// Letters of a new GUID.
std::string new_guid();

class Operations;

class OperationHandle {
 public:
  OperationHandle(Operations& all, std::string id) : all_(&all), id_(std::move(id)) {}
  OperationHandle(const OperationHandle&) = delete;
  OperationHandle& operator=(const OperationHandle&) = delete;
  ~OperationHandle();  // without an end: it failed
  const std::string& id() const { return id_; }
  void succeed(std::string resource = {});
  void fail(std::string why);

 private:
  Operations* all_;
  std::string id_;
};

class Operations {
 public:
  // The id is made when it has none.
  std::unique_ptr<OperationHandle> begin(Operation operation);

  std::vector<Operation> list(const ops::Selector& selector, const std::string& tags) const;
  std::optional<Operation> find(const std::string& id) const;
  Result<> stop(const std::string& id);    // asks for it; it goes on until it has ended
  Result<> cancel(const std::string& id);  // likewise, but nothing is kept

 private:
  friend class OperationHandle;
  void end(const std::string& id, OperationStatus status, std::string error, std::string resource);

  Guarded<std::vector<Operation>> all_;  // the oldest first
};

}  // namespace clrscope::archive
