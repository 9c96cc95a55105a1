// The processes of a recording: what each has mapped, how to unwind its stacks, which of its native
// addresses were seen.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/result.h"
#include "collect/machine/method_range.h"
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

  const std::string& container() const { return container_; }  // empty: none
  void set_container(std::string name) { container_ = std::move(name); }

  Result<> map(const perf::Mapping& mapping, TraceTime time, unwind::CodeMap& code,
               UniversalWriter& out);
  // A fork begins with all that its parent has mapped; the kernel does not say so again. Told when
  // it is first seen there: most forks become another program at once.
  void inherit(const TracedProcess& parent);
  // Whether code may lie there, as far as we were told.
  bool covers(std::uint64_t address) const { return space_.find(address) != nullptr; }
  // Whether it has code of a file mapped whose path contains this.
  bool maps(std::string_view part_of_path) const;
  // An address led to where nothing is known to be: whether it is worth the time to look at all its
  // mappings again. Each time makes the next one rarer.
  bool may_look_again(TraceTime now);
  Result<> saw(std::uint64_t address, TraceTime time, UniversalWriter& out);
  // Which stubs are at the addresses that are new: the runtime may make others of them, and the
  // process may end.
  void look_at_stubs();
  // The names of the native functions and of the runtime's stubs that were seen, and of code
  // compiled ahead of time what the runtime leaves out: all of it, where it told nothing.
  using ImageNames = ReadyToRunNames::Which;
  struct ManagedNames {
    ImageNames which = ImageNames::kUntold;
    const FindMethod* find = nullptr;    // of other methods; may be null
    const FindMethod* helper = nullptr;  // of functions of the runtime; may be null
  };
  Result<> write_symbols(TraceTime time, const ManagedNames& managed, NameStore& names,
                         UniversalWriter& out);
  // Of that code what its lines are found by.
  Result<> write_image_lines(TraceTime time, NameStore& names, UniversalWriter& out) const;
  // It runs no more: gives back the instructions that were read of it.
  void forget_code() { code_.forget(); }
  // The same of what was not seen at the last call, for who reads the trace while it grows.
  Result<> write_new_symbols(TraceTime time, const ManagedNames& managed, NameStore& names,
                             UniversalWriter& out);
  // Likewise while it is recorded, until that time at the latest: false when some are left.
  // `unnamed` gains the addresses that only the runtime can name.
  Result<bool> write_some_symbols(TraceTime time, TraceTime until, NameStore& names,
                                  UniversalWriter& out, std::vector<std::uint64_t>& unnamed);

 private:
  struct Range {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t bias;
    std::uint64_t file_offset;
    std::string name;  // as the kernel tells it
    std::string build_id;
    unwind::CodeKind kind;
    int fd;             // of the file
    MappingId mapping;  // kNone: inherited, not told yet
  };
  std::size_t index_of(std::uint64_t address) const;  // into ranges_; their number: none
  struct Stub {
    std::uint64_t last;
    std::string_view name;
    MappingId mapping;
  };
  struct Naming {
    TraceTime until = TraceTime::max();             // the next file is left for later then
    std::vector<std::uint64_t>* unnamed = nullptr;  // of managed code; may be null
  };
  // Up to which address; nothing: all were done.
  Result<std::optional<std::uint64_t>> write_seen(TraceTime time, const ManagedNames& managed,
                                                  NameStore& names, UniversalWriter& out,
                                                  const Naming& naming);
  // The names that the runtime itself has for its functions.
  Result<> write_helpers(TraceTime time, const FindMethod& find, NameStore& names,
                         UniversalWriter& out);
  Result<> tell_inherited(std::uint64_t address, TraceTime time, UniversalWriter& out);

  ProcessId id_;
  std::string container_;
  unwind::AddressSpace space_;
  std::vector<Range> ranges_;  // by start
  bool inherited_ = false;     // some of them
  TraceTime next_look_{};      // at its mappings, not before
  std::chrono::nanoseconds pause_;
  std::unordered_set<std::uint64_t> seen_;
  std::unordered_set<std::uint64_t> told_;  // those seen whose names were written already
  std::set<std::pair<MappingId, std::uint64_t>> written_;  // functions, by their start
  // Of managed code, which its runtime may name yet.
  std::unordered_set<std::uint64_t> aside_;
  std::set<std::pair<MappingId, std::uint64_t>> written_aside_;
  std::vector<std::uint64_t> new_code_;  // seen in memory that a JIT fills, not looked at yet
  std::map<std::uint64_t, Stub> stubs_;  // by start; not written yet
  unwind::ProcessCode code_;
  unwind::Unwinder unwinder_;
};

class ProcessTable {
 public:
  TracedProcess& of(ProcessId id);
  const TracedProcess* find(ProcessId id) const;
  TracedProcess* at_or_after(ProcessId id);  // in the order of their numbers; null: none
  // It has ended: the number may be another's from now on.
  std::unique_ptr<TracedProcess> take(ProcessId id);
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
