// What the runtime's data access library asks of its host: the target's memory, where the runtime
// is mapped, and the registers of a thread.
//
// Lives in the worker. Memory comes page by page from whoever is asked by `ReadPages`, and is kept
// until forget().
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "inspect/dac/abi.h"

namespace clrscope::inspect::dac {

class DataTarget {
 public:
  // Up to `size` bytes from a page's start on; fewer where the target has no more.
  using ReadPages = std::function<std::vector<std::uint8_t>(std::uint64_t page, std::size_t size)>;

  DataTarget(std::uint64_t runtime_base, ReadPages read_pages);

  void* as_object() { return &target_; }

  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out);
  bool read_word(std::uint64_t address, std::uint64_t& value);
  void forget() { pages_.clear(); }

  // The registers that GetThreadContext answers for this thread; for others it fails.
  void set_thread(std::uint32_t os_id, const Context& context) {
    thread_ = os_id;
    context_ = context;
  }
  void clear_thread() { thread_ = 0; }

 private:
  // An interface of ours as foreign code sees it: its table first, then the way back to us.
  struct Face {
    void* const* table = nullptr;
    DataTarget* owner = nullptr;
  };
  struct Table;

  const std::vector<std::uint8_t>& page_at(std::uint64_t page);

  ReadPages read_pages_;
  std::uint64_t runtime_base_;
  std::uint32_t thread_ = 0;
  Context context_{};
  std::unordered_map<std::uint64_t, std::vector<std::uint8_t>> pages_;
  Face target_;
  Face locator_;
};

}  // namespace clrscope::inspect::dac
