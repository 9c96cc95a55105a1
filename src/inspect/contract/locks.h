// The runtime's table of sync blocks: monitors that needed more than the object's header.
//
// The lock's layout is not in the descriptor; each entry is checked: the object's header names the
// entry, the owner is a thread of the list.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "inspect/contract/descriptor.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect {

class Locks {
 public:
  static Result<Locks> open(Memory& memory, const Descriptor& descriptor);

  // `threads` are those that may own one.
  Result<SyncBlocks> list(std::span<const RuntimeThread> threads);

 private:
  explicit Locks(Memory& memory) : memory_(&memory) {}
  // Whether the object's header says that it has this entry; nothing: it cannot be read.
  std::optional<bool> names_entry(std::uint64_t object, std::uint32_t index);
  bool read(std::uint64_t block, std::span<const RuntimeThread> threads, SyncBlock& lock);

  Memory* memory_;
  std::uint64_t table_ = 0;  // address of the variable
  std::uint32_t entry_size_ = 0;
  std::uint32_t block_ = 0;        // in an entry
  std::uint64_t header_back_ = 4;  // from an object back to its header's bits
};

}  // namespace clrscope::inspect
