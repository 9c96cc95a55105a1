// The processes of a recording: what each has mapped, how to unwind its stacks, which of its native
// addresses were seen.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "collect/machine/name_store.h"
#include "collect/machine/universal.h"
#include "collect/perf/record.h"
#include "unwind/code_map.h"
#include "unwind/unwinder.h"

namespace clrscope::collect {

class TracedProcess {
 public:
  explicit TracedProcess(ProcessId id);
  TracedProcess(const TracedProcess&) = delete;
  TracedProcess& operator=(const TracedProcess&) = delete;

  ProcessId id() const { return id_; }
  unwind::Unwinder& unwinder() { return unwinder_; }
  const unwind::Unwinder& unwinder() const { return unwinder_; }

  Result<> map(const perf::Mapping& mapping, TraceTime time, unwind::CodeMap& code,
               UniversalWriter& out);
  void forget_mappings();  // it became another program
  void saw(std::uint64_t address) { seen_.insert(address); }
  // The names of the native functions that were seen.
  Result<> write_symbols(TraceTime time, NameStore& names, UniversalWriter& out) const;

 private:
  struct Range {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t bias;
    std::string path;  // empty: not a native file
    int fd;            // of that file
    MappingId mapping;
  };
  const Range* find(std::uint64_t address) const;

  ProcessId id_;
  unwind::AddressSpace space_;
  std::vector<Range> ranges_;  // by start
  std::unordered_set<std::uint64_t> seen_;
  unwind::ProcessCode code_;
  unwind::Unwinder unwinder_;
};

class ProcessTable {
 public:
  TracedProcess& of(ProcessId id);
  void forget(ProcessId id);
  // Stacks that ended before their root, by unwind::Stop; those of processes that have gone
  // included.
  std::array<std::uint64_t, unwind::kStopCount> stops() const;
  template <class F>
  Result<> for_each(F&& use) {
    for (auto& [id, process] : processes_) TRY(use(*process));
    return {};
  }

 private:
  std::map<ProcessId, std::unique_ptr<TracedProcess>> processes_;
  std::array<std::uint64_t, unwind::kStopCount> stops_of_gone_{};
};

}  // namespace clrscope::collect
