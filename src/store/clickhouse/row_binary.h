// ClickHouse's format RowBinary: numbers as they lie in memory, texts and arrays after their
// length.
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope::store {

inline void write_text(ByteWriter& out, std::string_view text) {
  out.write_varuint(text.size());
  out.put(text);
}

template <class T>
void write_array(ByteWriter& out, std::span<const T> values) {
  out.write_varuint(values.size());
  out.put(Bytes{reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
}

// The last column of a long answer, as SQL: what follows an exception in the middle of an answer,
// which is text, never passes for a row.
inline constexpr std::uint32_t kRowEnd = 0xff00fe01;
inline constexpr std::string_view kRowEndColumn = "toUInt32(4278255105)";

// An answer as it comes.
struct Pieces {
  std::string held{};  // what is there
  // Appends what follows; false: nothing does.
  std::function<Result<bool>(std::string& into)> more{};
};

// Rows of an answer, with no more of it in memory than a piece and the value that is being read.
// `while (rows.more()) { rows.number<std::uint64_t>(); … }`, then check done().
class Rows {
 public:
  explicit Rows(Pieces pieces) : pieces_(std::move(pieces)) {}
  explicit Rows(std::string body) : Rows(Pieces{.held = std::move(body)}) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  bool more() { return ok() && has(1); }
  template <class T>
  T number() {
    T value{};
    if (const auto bytes = this->bytes(sizeof(T)); !bytes.empty())
      std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  std::uint64_t number_of_elements() {  // of an array that follows; unsigned LEB128
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = number<std::uint8_t>();
      value |= static_cast<std::uint64_t>(byte & 0x7fU) << shift;
      if ((byte & 0x80U) == 0) return ok() ? value : 0;
    }
    damaged();
    return 0;
  }
  bool ok() const { return state_.has_value(); }
  std::string text() { return std::string{as_text(bytes(number_of_elements()))}; }
  // They live until the next call.
  Bytes bytes(std::uint64_t count) {
    if (!ok()) return {};
    if (count > kLargestValue || !has(count)) {
      damaged();
      return {};
    }
    const auto taken = as_bytes(pieces_.held).subspan(at_, count);
    at_ += count;
    return taken;
  }
  template <class T>
  std::vector<T> array() {
    const auto count = number_of_elements();
    if (count > kLargestValue / sizeof(T)) {
      damaged();
      return {};
    }
    const auto bytes = this->bytes(count * sizeof(T));
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  // Of a row with kRowEndColumn.
  void end_row() {
    if (number<std::uint32_t>() != kRowEnd) damaged();
  }
  Result<> done() const { return state_; }

 private:
  static constexpr std::uint64_t kLargestValue = 64 << 20;

  // Whether so many bytes are there, or come.
  bool has(std::uint64_t count) {
    while (pieces_.held.size() - at_ < count) {
      if (!pieces_.more) return false;
      pieces_.held.erase(0, at_);
      at_ = 0;
      const auto more = pieces_.more(pieces_.held);
      if (!more) state_ = fail(Error{more.error()});
      if (!more || !*more) pieces_.more = {};
      if (!more) return false;
    }
    return true;
  }
  void damaged() {
    if (ok()) state_ = fail(Errc::kCorrupt, "the answer of ClickHouse is damaged");
  }

  Pieces pieces_;
  std::size_t at_ = 0;  // in what is held
  Result<> state_{};
};

}  // namespace clrscope::store
