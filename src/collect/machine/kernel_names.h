// Names of the kernel's functions, from /proc/kallsyms. Empty where the kernel hides its addresses.
//
// There are more than a hundred thousand: they are kept in one text, and read piece by piece.
#pragma once

#include <cstdint>
#include <optional>
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
    std::string_view name{};  // lives as long as these names
  };
  // Nothing when nothing is known of the address.
  std::optional<Function> find(std::uint64_t address) const;
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    std::uint64_t start;
    std::uint32_t name;  // where it begins in names_
  };
  void add_line(std::string_view line);
  void sort();

  std::vector<Entry> entries_;  // by start
  std::string names_;           // each ends with a zero
};

}  // namespace clrscope::collect
