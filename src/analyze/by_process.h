// How much of what a report counts each process of a trace has.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyze/process_names.h"
#include "analyze/report.h"
#include "analyze/sites.h"

namespace clrscope::analyze {

struct ProcessCount {
  ProcessId pid{};
  std::string name{};  // empty: not known
  std::uint64_t count = 0;
};
const Shape& shape_of(const ProcessCount*);

class ByProcess {
 public:
  // Learns the processes' names, and counts these events.
  void on_batch(const nettrace::Batch& batch, std::initializer_list<nettrace::Known> counted = {});
  void add(ProcessId process) { ++counts_[{trace_, process}]; }
  void end_of_trace();

  std::vector<ProcessCount> all() const;  // most first
  // A table, where there are several.
  void add_table(Document& page, std::string_view what) const;

 private:
  // The same number in two traces is two processes.
  using Key = std::pair<std::size_t, ProcessId>;
  std::vector<std::pair<Key, std::uint64_t>> ranked() const;

  std::size_t trace_ = 0;
  KnownEvents known_;
  std::vector<ProcessNames> names_{1};  // by trace
  std::map<Key, std::uint64_t> counts_;
};

}  // namespace clrscope::analyze
