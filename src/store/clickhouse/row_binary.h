// ClickHouse's format RowBinary: numbers as they lie in memory, texts and arrays after their
// length.
#pragma once

#include <span>
#include <string>
#include <string_view>

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

// Rows of an answer. `while (rows.more()) { rows.number<std::uint64_t>(); … }`, then check done().
class Rows {
 public:
  explicit Rows(std::string body) : body_(std::move(body)), in_(as_bytes(body_)) {}
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  bool more() const { return in_.ok() && !in_.at_end(); }
  template <class T>
  T number() {
    return in_.read<T>();
  }
  std::uint64_t number_of_elements() { return in_.read_varuint(); }  // of an array that follows
  bool ok() const { return in_.ok(); }
  std::string text() { return std::string{as_text(in_.take(in_.read_varuint()))}; }
  Bytes bytes(std::size_t count) { return in_.take(count); }
  template <class T>
  std::vector<T> array() {
    const auto count = in_.read_varuint();
    if (count > in_.remaining() / sizeof(T)) {
      in_.fail();
      return {};
    }
    std::vector<T> values(count);
    const auto bytes = in_.take(count * sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  Result<> done() const {
    if (in_.ok()) return {};
    return fail(Errc::kCorrupt, "the answer of ClickHouse is damaged");
  }

 private:
  std::string body_;
  ByteReader in_;
};

}  // namespace clrscope::store
