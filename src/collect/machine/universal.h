// Writes what the kernel knows as Universal.System and Universal.Events, the providers that
// PerfView and TraceEvent read.
//
// Processes, mappings and symbols are events of Universal.System, samples by those of
// Universal.Events. Who owns the Writer may write other sources into it too. Payloads:
// docs/formats/nettrace.md
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "collect/eventpipe/stopping_event.h"
#include "model/event.h"
#include "nettrace/writer.h"
#include "symbols/il_map.h"

namespace clrscope::collect {

struct Who {
  ProcessId process{};
  ThreadId thread{};
  std::uint32_t processor = 0xffffffff;
};

struct MappedRange {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::string_view path{};
};

enum class MappingId : std::uint64_t { kNone = 0 };

class UniversalWriter {
 public:
  explicit UniversalWriter(nettrace::Writer& writer);

  Result<> process_exists(TraceTime time, ProcessId process, std::string_view name,
                          std::string_view container);
  Result<> process_created(TraceTime time, ProcessId process, std::string_view name,
                           std::string_view container);
  Result<> process_exited(TraceTime time, ProcessId process);
  // `build_id` in hexadecimal; empty when it is not known.
  Result<MappingId> mapping(TraceTime time, ProcessId process, const MappedRange& range,
                            std::string_view build_id);
  // Both ends belong to the symbol.
  Result<> symbol(TraceTime time, ProcessId process, MappingId mapping, std::uint64_t first,
                  std::uint64_t last, std::string_view name);

  // Likewise of a method that its runtime names better, if it lives to do so: other readers, which
  // take the first name they hear, do not see this one.
  Result<> image_symbol(TraceTime time, ProcessId process, MappingId mapping, std::uint64_t first,
                        std::uint64_t last, std::string_view name);

  // From which IL the code of a method came that begins there: one that was compiled ahead of time,
  // whose image need not be there when the trace is read.
  Result<> il_map(TraceTime time, ProcessId process, std::uint64_t start, const IlMap& map);

  // A thread ran: one sample, and for how long it stands.
  Result<> cpu_sample(TraceTime time, const Who& who, std::uint64_t ns,
                      std::span<const std::uint64_t> stack);
  // Any event of Universal.Events that is one number.
  Result<> sample(std::string_view name, TraceTime time, const Who& who, std::uint64_t value,
                  std::span<const std::uint64_t> stack);
  // A thread that did not run: for how long, where it stopped, whether it wanted to, and whether it
  // runs again or had not when the recording ended.
  struct Wait {
    std::uint64_t ns = 0;
    bool preempted = false;
    bool unfinished = false;
  };
  Result<> waited(TraceTime time, const Who& who, const Wait& wait,
                  std::span<const std::uint64_t> stack);
  // What the recorder itself has to say about a process: what it left out, and how much of it.
  Result<> told(std::string_view name, TraceTime time, ProcessId process, std::uint64_t value);
  // Any other kind of event: given once, then written by what this returns.
  const EventType& add_type(EventType type);
  Result<> event(const EventType& type, TraceTime time, const Who& who, Bytes payload,
                 std::span<const std::uint64_t> stack) {
    return write(type, time, who, payload, stack);
  }
  // An event of this kind is watched for.
  void stop_at(const StoppingEventRequest& request) { stopping_.emplace(request); }
  bool stop_found() const { return stop_found_; }
  // So many events of the kernel did not reach us.
  void add_lost(std::uint64_t count);

 private:
  const EventType& sample_type(std::string_view name);
  Result<> write(const EventType& type, TraceTime time, const Who& who, Bytes payload,
                 std::span<const std::uint64_t> stack);

  nettrace::Writer& writer_;
  nettrace::SourceId source_;
  std::vector<std::unique_ptr<EventType>> types_;
  std::map<std::string, const EventType*, std::less<>> sample_types_;
  const EventType* il_map_type_ = nullptr;        // made when the first is written
  const EventType* image_symbol_type_ = nullptr;  // likewise
  std::optional<StoppingEvent> stopping_;
  bool stop_found_ = false;
  TraceTime newest_system_{};  // events of one capture thread must not go back in time
  std::uint64_t next_mapping_ = 1;
  std::uint64_t next_metadata_ = 1;
  std::uint64_t next_symbol_ = 1;
};

}  // namespace clrscope::collect
