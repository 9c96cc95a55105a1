// Names of methods read from a process's memory: for runtimes whose port is off or that hang, and
// for code that was compiled from expressions.
//
// Requires permission to read that memory; without it nothing has a name. Belongs to one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "collect/machine/method_range.h"
#include "inspect/objects.h"
#include "inspect/runtime_reader.h"

namespace clrscope::ops {

class MemoryNames {
 public:
  std::optional<collect::MethodRange> find(ProcessId process, std::uint64_t address);
  // A compiled expression, with the application's method that it calls; of others nothing.
  std::optional<collect::MethodRange> find_lambda(ProcessId process, std::uint64_t address);
  // A function of the runtime that compiled code calls, by its start; of others nothing.
  std::optional<collect::MethodRange> find_helper(ProcessId process, std::uint64_t start);

 private:
  struct Opened {
    std::unique_ptr<inspect::Target> target{};
    std::unique_ptr<inspect::RuntimeReader> reader{};  // null: cannot be read
    std::unique_ptr<inspect::Walker> walker{};         // these two when first needed
    std::optional<inspect::Objects> objects{};
    bool tried_library = false;
    std::unique_ptr<inspect::RuntimeReader> library{};  // the runtime's own; null: not to be had
  };
  Opened& open(ProcessId process);
  std::map<ProcessId, Opened> opened_;
};

}  // namespace clrscope::ops
