// Address to native code over time, for one process (or the kernel): which file was mapped there
// and which symbol of it covers the address.
//
// Fed by Universal.System's mappings and symbols in any order; a symbol belongs to a mapping and
// holds as long as that. A mapping holds until another one takes its place. One map belongs to one
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"

namespace clrscope {

constexpr std::uint64_t kKernelStart = 0xffff800000000000;
constexpr bool is_kernel_address(std::uint64_t address) { return address >= kKernelStart; }

class UniversalMap {
 public:
  // `end` is the first address behind it; `offset` where in the file it begins.
  void mapping(std::uint64_t id, std::uint64_t start, std::uint64_t end, std::string_view path,
               TraceTime when, std::uint64_t offset = 0, std::string_view build_id = {});
  // Both ends belong to the symbol. `mapping` 0: it counts where nothing is mapped.
  void symbol(std::uint64_t mapping, std::uint64_t first, std::uint64_t last,
              std::string_view name);

  // Empty texts where nothing is known. `always` says that the answer is the same for all times.
  // The texts live until the map grows.
  struct Found {
    std::string_view path{};
    std::string_view symbol{};
    std::string_view build_id{};    // of the file
    std::uint64_t file_offset = 0;  // of the address
    bool mapped = false;
    bool always = true;
  };
  Found find(std::uint64_t address, TraceTime when);

 private:
  struct Symbol {
    std::uint64_t first;
    std::uint64_t last;
    std::string name;
  };
  struct Symbols {
    std::vector<Symbol> all;
    bool sorted = true;

    void add(Symbol symbol);
    std::string_view find(std::uint64_t address);
  };
  struct Mapping {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t max_end;  // of this one and all that start before it
    TraceTime from;
    std::uint64_t offset;
    std::string path;
    std::string build_id;
    Symbols* symbols;
  };
  void settle();

  std::vector<Mapping> mappings_;  // by start, then by time, once settled
  bool settled_ = true;
  std::unordered_map<std::uint64_t, Symbols> symbols_;  // by mapping's id; 0: of no mapping
  std::size_t symbol_count_ = 0;
};

}  // namespace clrscope
