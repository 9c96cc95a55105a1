// From an address to the managed code that holds it: jitted code by the code heaps' nibble maps,
// ReadyToRun code by the images' tables. Contract: ExecutionManager 2 (.NET 10).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inspect/contract/descriptor.h"
#include "unwind/unwind_table.h"

namespace clrscope::inspect {

// A method's code around an address.
struct CodeBlock {
  enum class Kind : std::uint8_t { kJitted, kReadyToRun, kStub };
  Kind kind = Kind::kJitted;
  std::uint64_t method_desc = 0;  // 0 for stubs
  std::uint64_t start = 0;
  std::uint64_t size = 0;  // 0: unknown
  // Of the function or funclet that holds the address: where it begins, and its unwind info.
  std::uint64_t function_start = 0;
  std::uint64_t unwind_info = 0;
  std::uint64_t image_base = 0;
  std::uint64_t debug_info = 0;  // of jitted code; 0: none
  std::uint64_t module = 0;      // of ReadyToRun code
  std::uint32_t function = 0;    // of ReadyToRun code: number of the method's first function
};

class Code {
 public:
  static Result<Code> open(Memory& memory, const Descriptor& descriptor);

  // Nothing when the runtime does not know the address.
  std::optional<CodeBlock> find(std::uint64_t pc);
  // The target went on: ranges may have come and gone.
  void forget() { recent_.clear(); }
  // How the frame at `pc` in the block is left.
  std::optional<unwind::UnwindRule> rule(const CodeBlock& block, std::uint64_t pc);

 private:
  struct Range {
    std::uint64_t begin, end;  // of the whole section
    std::uint32_t flags;
    std::uint64_t heap, module;
  };
  struct Function {
    std::uint32_t begin, end, unwind;
  };
  static_assert(sizeof(Function) == 12);

  explicit Code(Memory& memory) : memory_(&memory) {}
  std::optional<Range> range_of(std::uint64_t pc);
  std::optional<CodeBlock> jitted(const Range& range, std::uint64_t pc);
  std::uint64_t jitted_start(const Range& range, std::uint64_t pc);
  std::optional<CodeBlock> ready_to_run(const Range& range, std::uint64_t pc);
  std::uint64_t ready_to_run_size(std::uint64_t unwind_info);
  std::uint64_t hashed(std::uint64_t map, std::uint64_t key);

  Memory* memory_;
  std::uint64_t map_ = 0;  // address of the first level's table
  struct {
    std::uint32_t begin, end, section, next;
  } fragment_{};
  struct {
    std::uint32_t begin, end, flags, heap, module;
  } section_{};
  struct {
    std::uint32_t start, end, map_base, map;
  } heap_{};
  struct {
    std::uint32_t method, unwind_count, unwinds, gc_info;
  } header_{};
  struct {
    std::uint32_t composite, count, functions, entry_points, in_module;
  } ready_{};
  struct {
    std::uint32_t buckets, bucket_size, keys, values;
    std::uint64_t slots, mask;
  } hash_{};
  std::uint64_t last_stub_kind_ = 0;
  bool knows_gc_info_ = false;
  std::vector<Range> recent_;  // sections that were found, by begin
};

}  // namespace clrscope::inspect
