// Names of the kernel's functions, from /proc/kallsyms. Empty where the kernel hides its addresses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace clrscope::collect {

class KernelNames {
 public:
  static KernelNames read();
  static KernelNames parse(std::string_view kallsyms);

  struct Function {
    std::uint64_t start = 0;
    std::uint64_t last = 0;
    std::string name{};
  };
  // Null when nothing is known of the address.
  const Function* find(std::uint64_t address) const;
  bool empty() const { return functions_.empty(); }

 private:
  std::vector<Function> functions_;  // by start
};

}  // namespace clrscope::collect
