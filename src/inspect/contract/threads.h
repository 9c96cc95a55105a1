// The runtime's list of threads. Contracts: Thread 1, Exception 1.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "inspect/contract/descriptor.h"
#include "inspect/contract/types.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect {

class Threads {
 public:
  static Result<Threads> open(Memory& memory, const Descriptor& descriptor, Types& types);

  enum class Detail : std::uint8_t {
    kIds,  // addresses, ids and states: what says who owns a lock
    kAll,  // also names, exceptions, allocation: each is elsewhere in memory
  };
  // Fails when the list does not have as many as the runtime counts: it changed meanwhile, or is
  // damaged.
  Result<std::vector<RuntimeThread>> list(Detail detail = Detail::kAll);
  // 0 when this runtime does not say where they are.
  std::uint64_t statics_of(const RuntimeThread& thread);
  // Where the runtime keeps what a thread has in its [ThreadStatic] fields: two 32-bit counts, of
  // fields and of collectible ones, then the array of the former. 0: unknown.
  std::uint64_t local_data(const RuntimeThread& thread);
  // Where a thread keeps the first of its explicit frames.
  std::uint64_t first_frame_address(const RuntimeThread& thread) const {
    return thread.address + in_thread_.frame;
  }

 private:
  Threads(Memory& memory, Types& types) : memory_(&memory), types_(&types) {}
  bool read(std::uint64_t address, RuntimeThread& thread);
  void read_details(RuntimeThread& thread);
  std::uint64_t object_of_handle(std::uint64_t handle_address);
  std::uint64_t current_exception(std::uint64_t address);

  Memory* memory_;
  Types* types_;
  std::uint64_t store_ = 0;  // address of the variable
  struct {
    std::uint32_t first, count;
  } in_store_{};
  struct {
    std::uint32_t id, os_id, state, cooperative, exposed, tracker, next, frame;
  } in_thread_{};
  std::uint32_t thrown_ = 0;                 // in ExceptionInfo
  std::optional<std::uint64_t> local_data_;  // in Thread
  std::optional<std::uint32_t> own_data_;    // in Thread
  std::uint32_t allocation_ = 0;             // in what own_data_ points to
};

}  // namespace clrscope::inspect
