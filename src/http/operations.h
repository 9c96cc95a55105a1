// What is being done for clients and lasts: traces, dumps, sessions, examinations; dotnet-monitor's
// /operations. Any thread.
//
// Whoever does it holds an OperationHandle; when that goes, the operation has ended. The last
// hundred that have ended are remembered.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/guarded.h"
#include "base/json.h"
#include "http/processes.h"

namespace clrscope::http {

enum class OperationStatus { kRunning, kStopping, kSucceeded, kFailed, kCancelled };
std::string_view name_of(OperationStatus status);  // "Running", …

struct Operation {
  std::string id{};    // a GUID
  std::string kind{};  // "trace", "dump", "session", "doctor"
  Process process{};
  std::string tags{};  // separated by commas
  WallTime created{};
  OperationStatus status = OperationStatus::kRunning;
  std::string error{};
  std::string resource{};          // where its result is; empty: it was the answer
  std::function<void()> stop{};    // ends it in good order; empty: it cannot be
  std::function<void()> cancel{};  // gives it up
};

void write_operation(JsonWriter& json, const Operation& operation, bool whole);

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

  std::vector<Operation> list(const Selector& selector, const std::string& tags) const;
  std::optional<Operation> find(const std::string& id) const;
  Result<> stop(const std::string& id);    // asks for it; it goes on until it has ended
  Result<> cancel(const std::string& id);  // likewise, but nothing is kept

 private:
  friend class OperationHandle;
  void end(const std::string& id, OperationStatus status, std::string error, std::string resource);

  Guarded<std::vector<Operation>> all_;  // the oldest first
};

}  // namespace clrscope::http
