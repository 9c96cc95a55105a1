// Names of methods read from a process's memory, for runtimes that cannot be asked: their port is
// off, or they hang.
//
// Needs the right to read that memory; without it nothing has a name. Belongs to one thread.
#pragma once

#include <map>
#include <memory>

#include "collect/machine/method_range.h"
#include "inspect/runtime_reader.h"

namespace clrscope::ops {

class MemoryNames {
 public:
  std::optional<collect::MethodRange> find(ProcessId process, std::uint64_t address);

 private:
  struct Opened {
    std::unique_ptr<inspect::Target> target{};
    std::unique_ptr<inspect::RuntimeReader> reader{};  // null: cannot be read
  };
  std::map<ProcessId, Opened> opened_;
};

}  // namespace clrscope::ops
