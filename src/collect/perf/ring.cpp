#include "collect/perf/ring.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

namespace clrscope::collect::perf {

RingReader::RingReader(perf_event_mmap_page* control, std::uint8_t* data, std::size_t data_size)
    : control_(control),
      data_(data),
      size_(data_size),
      tail_(control->data_tail),
      first_(tail_),
      given_back_(tail_) {
  CHECK(std::has_single_bit(data_size));
}

std::uint64_t RingReader::pending() const {
  return __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE) - tail_;
}

// Acquire: the records are written before the head that covers them.
std::uint64_t RingReader::begin() {
  return __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE);
}

Bytes RingReader::next(std::uint64_t head) {
  // Give back now and then, so that a long drain does not make the kernel lose records.
  if (tail_ - given_back_ >= size_ / 8) end();
  const auto left = head - tail_;
  if (left == 0) return {};
  const auto at = static_cast<std::size_t>(tail_) & (size_ - 1);
  perf_event_header header{};
  // Records are multiples of 8 bytes, so that a header never wraps.
  if (left >= sizeof header && left <= size_ && size_ - at >= sizeof header)
    std::memcpy(&header, data_ + at, sizeof header);
  if (header.size < sizeof header || header.size > left) {
    ++damaged_;
    tail_ = head;
    return {};
  }
  tail_ += header.size;
  const auto until_end = size_ - at;
  if (header.size <= until_end) return {data_ + at, header.size};
  joined_.resize(header.size);
  std::copy_n(data_ + at, until_end, joined_.begin());
  std::copy_n(data_, header.size - until_end,
              joined_.begin() + static_cast<std::ptrdiff_t>(until_end));
  return joined_;
}

// Release: we have read before the kernel may overwrite.
void RingReader::end() {
  __atomic_store_n(&control_->data_tail, tail_, __ATOMIC_RELEASE);
  given_back_ = tail_;
}

Result<Ring> Ring::map(int event_fd, std::size_t data_size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  for (auto size = std::max(std::bit_ceil(data_size), page); size >= page; size /= 2) {
    void* memory = ::mmap(nullptr, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, event_fd, 0);
    if (memory != MAP_FAILED) return Ring{memory, page + size, page, size};
    if (errno != EPERM && errno != ENOMEM) break;
  }
  const auto number = errno;
  return fail(errc_of(number), "cannot map a perf ring of {} bytes: {}", data_size,
              errno_text(number))
      .hint("raise kernel.perf_event_mlock_kb or the limit of locked memory (ulimit -l)");
}

Ring::Ring(void* memory, std::size_t mapped, std::size_t data_offset, std::size_t data_size)
    : memory_(memory),
      mapped_(mapped),
      data_size_(data_size),
      reader_(static_cast<perf_event_mmap_page*>(memory),
              static_cast<std::uint8_t*>(memory) + data_offset, data_size) {}

Ring::Ring(Ring&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      mapped_(other.mapped_),
      data_size_(other.data_size_),
      reader_(std::move(other.reader_)) {}

Ring::~Ring() {
  if (memory_ != nullptr) ::munmap(memory_, mapped_);
}

}  // namespace clrscope::collect::perf
