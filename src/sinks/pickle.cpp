#include "sinks/pickle.h"

#include <bit>
#include <utility>

#include "base/bytes.h"

namespace clrscope::sinks {
namespace {

// The opcodes of pickletools that it takes.
constexpr std::string_view kBegin = "\x80\x02](";  // protocol 2, an empty list, a mark
constexpr std::string_view kEnd = "e.";            // what follows the mark to the list; stop
constexpr char kUnicode = 'X';                     // length in 4 bytes, UTF-8
constexpr char kInt = 'J';                         // 4 bytes
constexpr char kLong = '\x8a';                     // length in 1 byte, little end first
constexpr char kFloat = 'G';                       // 8 bytes, big end first
constexpr char kTuple2 = '\x86';
constexpr std::size_t kFrame = 4;

template <class T>
void append_big(std::string& out, T value) {
  for (int shift = static_cast<int>(sizeof value) * 8 - 8; shift >= 0; shift -= 8)
    out += static_cast<char>(value >> shift);
}

template <class T>
void append_little(std::string& out, T value) {
  for (unsigned i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

}  // namespace

bool PicklePacker::add(std::string_view path, std::int64_t second, double value) {
  std::string item{kUnicode};
  append_little(item, static_cast<std::uint32_t>(path.size()));
  item += path;
  if (const auto small = static_cast<std::int32_t>(second); small == second) {
    item += kInt;
    append_little(item, static_cast<std::uint32_t>(small));
  } else {
    item += kLong;
    item += '\x08';
    append_little(item, static_cast<std::uint64_t>(second));
  }
  item += kFloat;
  append_big(item, std::bit_cast<std::uint64_t>(value));
  item += kTuple2;
  item += kTuple2;
  const auto around = kFrame + kBegin.size() + kEnd.size();
  if (item.size() + around > most_) return false;
  if (messages_.empty() || messages_.back().text.size() + item.size() + around > most_)
    messages_.emplace_back();
  messages_.back().text += item;
  ++messages_.back().items;
  return true;
}

std::vector<Message> PicklePacker::take() {
  for (auto& message : messages_) {
    std::string framed;
    append_big(framed,
               static_cast<std::uint32_t>(kBegin.size() + message.text.size() + kEnd.size()));
    framed += kBegin;
    framed += message.text;
    framed += kEnd;
    message.text = std::move(framed);
  }
  return std::exchange(messages_, {});
}

}  // namespace clrscope::sinks
