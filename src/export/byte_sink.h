// Where a format's bytes go: a file, a pipe, or a string. Gathers them into large writes.
//
// A failure sticks: what is written after it goes nowhere, and finish() tells. Formats that write
// much look at ok() now and then, so that a full disk ends the work early. Belongs to one thread.
#pragma once

#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::exports {

class ByteSink {
 public:
  // Asked before so many bytes are written; its failure is the sink's.
  using Before = std::function<Result<>(std::uint64_t bytes)>;
  explicit ByteSink(int fd, Before before = {});  // lent: must stay open until finish()
  explicit ByteSink(std::string& memory);         // appended to
  ByteSink(const ByteSink&) = delete;
  ByteSink& operator=(const ByteSink&) = delete;

  ByteSink& write(std::string_view text) {
    if (text.empty()) return *this;
    if (text.size() > kCapacity - used_) return write_large(text);
    used_ +=
        text.copy(buffer_.get() + used_, text.size());  // unlike memcpy it takes null for nothing
    return *this;
  }

  template <class T>
  ByteSink& number(T value) {
    char* const begin = room(kDigits);
    used_ += static_cast<std::size_t>(std::to_chars(begin, begin + kDigits, value).ptr - begin);
    return *this;
  }

  // Thousandths behind the point, such as 12.345 for 12345: microseconds as milliseconds.
  ByteSink& thousandths(std::uint64_t value) {
    number(value / 1000);
    const auto rest = static_cast<unsigned>(value % 1000);
    if (rest == 0) return *this;
    char* const at = room(4);
    at[0] = '.';
    at[1] = static_cast<char>('0' + rest / 100);
    at[2] = static_cast<char>('0' + rest / 10 % 10);
    at[3] = static_cast<char>('0' + rest % 10);
    used_ += 4;
    return *this;
  }

  bool ok() const { return !error_; }
  std::uint64_t bytes() const { return flushed_ + used_; }  // taken so far

  // Passes on what is gathered; the first failure, if there was one.
  Result<> finish();

 private:
  static constexpr std::size_t kCapacity = 256 * 1024;
  static constexpr std::size_t kDigits = 32;  // enough for every number

  char* room(std::size_t size) {
    if (size > kCapacity - used_) flush();
    return buffer_.get() + used_;
  }
  ByteSink& write_large(std::string_view text);
  void flush();
  void pass_on(std::string_view text);

  std::unique_ptr<char[]> buffer_;
  std::size_t used_ = 0;
  std::uint64_t flushed_ = 0;
  int fd_ = -1;
  Before before_{};
  std::string* memory_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace clrscope::exports
