// Writes JSON text, value by value, with the commas in the right places. Invalid UTF-8 in strings
// is replaced.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace clrscope {

// `text` between quotes, escaped, appended to `out`; safe inside <script> too.
void append_json_string(std::string& out, std::string_view text);

class JsonWriter {
 public:
  JsonWriter() = default;
  // `on_text` is called again and again with what is written so far, and may take it away: long
  // texts need not be held.
  explicit JsonWriter(std::function<void(std::string&)> on_text) : on_text_(std::move(on_text)) {}

  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view{text}); }
  JsonWriter& value(bool truth);
  JsonWriter& value(double number);  // not finite: null
  JsonWriter& value(std::int64_t number);
  JsonWriter& value(std::uint64_t number);
  template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>) JsonWriter& value(T number) {
    if constexpr (std::is_signed_v<T>)
      return value(static_cast<std::int64_t>(number));
    else
      return value(static_cast<std::uint64_t>(number));
  }
  JsonWriter& null();
  JsonWriter& raw(std::string_view json);  // a whole value, written before

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  const std::string& text() const { return out_; }
  std::string take() && { return std::move(out_); }
  void clear() { out_.clear(), first_.clear(), after_key_ = false; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::function<void(std::string&)> on_text_{};
  std::string out_;
  std::vector<bool> first_;  // per open bracket: nothing written in it yet
  bool after_key_ = false;
};

}  // namespace clrscope
