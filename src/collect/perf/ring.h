// One perf ring: memory that the kernel fills and we empty.
//
// A Ring belongs to one thread. What drain() hands over is whole and contiguous, and lives until
// the callback returns. Whoever opened the event keeps its descriptor open meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

struct perf_event_mmap_page;

namespace clrscope::collect::perf {

// Walks records in ring memory; knows nothing of how it was mapped.
class RingReader {
 public:
  // `data_size` is a power of two.
  RingReader(perf_event_mmap_page* control, std::uint8_t* data, std::size_t data_size);

  // Calls on_record(Bytes) for every record that is there; gives the space back as it goes.
  // Returns how many there were. What is written meanwhile waits for the next call.
  template <class OnRecord>
  std::size_t drain(OnRecord&& on_record) {
    std::size_t count = 0;
    const auto head = begin();
    for (Bytes record; !(record = next(head)).empty(); ++count) on_record(record);
    end();
    return count;
  }

  // One record at a time, for who merges rings: the end as of now, then what lies before it. A
  // record lives until the next call; empty: there is no more.
  std::uint64_t begin();
  Bytes next(std::uint64_t head);
  void put_back(Bytes record) { tail_ -= record.size(); }  // the last one; next() gives it again
  void end();                                              // gives all that was taken back

  std::uint64_t pending() const;                      // bytes waiting
  std::uint64_t damaged() const { return damaged_; }  // times that the rest was thrown away
  std::uint64_t bytes_read() const { return tail_ - first_; }

 private:
  perf_event_mmap_page* control_;
  std::uint8_t* data_;
  std::size_t size_;
  std::uint64_t tail_;
  std::uint64_t first_;
  std::uint64_t given_back_;
  std::uint64_t damaged_ = 0;
  std::vector<std::uint8_t> joined_{};  // a record that wraps around
};

// RingReader over memory of its own.
class Ring {
 public:
  // Asks for `data_size` bytes (rounded up to a power of two of pages) and takes half, a quarter …
  // when the kernel grants no more: users may lock only so much memory.
  static Result<Ring> map(int event_fd, std::size_t data_size);

  Ring(Ring&& other) noexcept;
  Ring& operator=(Ring&&) = delete;
  ~Ring();

  std::size_t size() const { return data_size_; }
  RingReader& reader() { return reader_; }

 private:
  Ring(void* memory, std::size_t mapped, std::size_t data_offset, std::size_t data_size);

  void* memory_;
  std::size_t mapped_;
  std::size_t data_size_;
  RingReader reader_;
};

}  // namespace clrscope::collect::perf
