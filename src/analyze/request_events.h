// Profiled requests as events of the provider Clrscope-Requests, and back.
//
// The spans, steps and parts of a request come before the event of the request itself, all with the
// time of its end. Format: docs/formats/requests.md
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>

#include "analyze/request_answers.h"
#include "nettrace/reader.h"
#include "nettrace/writer.h"

namespace clrscope::analyze {

class RequestEventWriter {
 public:
  // Borrows the writer, whose ticks are nanoseconds of the model's clock.
  RequestEventWriter(nettrace::Writer& writer, ProcessId process);

  Result<> write(const RequestBatch& batch);
  // Once, at the end: what the profile counted.
  Result<> finish(const RequestProfile& profile, TraceTime now);

 private:
  Result<> put(std::uint32_t type, ThreadId thread, Bytes payload);
  Result<> write_request(const RequestTrace& request);

  nettrace::Writer& writer_;
  nettrace::SourceId source_;
  ProcessId process_;
  std::vector<EventType> types_;
  std::size_t methods_ = 0;  // that are written
  TraceTime newest_{};
};

// Reads them from traces of any origin: nothing is trusted, what is held is bounded.
class RequestEventReader {
 public:
  using OnRequest = std::function<void(RequestTrace)>;

  // `on_request` gets each request as it is complete; its methods are indices of methods().
  explicit RequestEventReader(OnRequest on_request) : on_request_(std::move(on_request)) {}

  void on_event(const Event& event);
  void end_of_trace();

  const std::vector<std::string>& methods() const { return methods_; }
  // Counters of the last trace; nothing: it has none, or was cut short.
  const std::optional<RequestProfile>& summary() const { return summary_; }
  std::uint64_t damaged() const { return damaged_; }

 private:
  struct Pending {
    std::vector<RequestSpan> spans{};
    std::vector<RunningPart> parts{};
  };
  // Null: too much is held already.
  Pending* pending_of(std::uint64_t request);
  void on_span(const Event& event);
  void on_step(const Event& event);
  void on_part(const Event& event);
  void on_request(const Event& event);
  void on_method(const Event& event);
  void on_unmeasured(const Event& event);
  void on_summary(const Event& event);

  OnRequest on_request_;
  std::unordered_map<std::uint64_t, Pending> pending_;
  std::size_t held_ = 0;
  std::vector<std::string> methods_;
  std::size_t name_bytes_ = 0;                                  // of these
  std::unordered_map<std::uint32_t, std::uint32_t> method_of_;  // of this trace: index in methods_
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::vector<UnmeasuredMethod> unmeasured_;  // of the summary that follows
  std::optional<RequestProfile> summary_;
  std::uint64_t damaged_ = 0;
};

}  // namespace clrscope::analyze
