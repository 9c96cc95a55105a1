// An event, its type, and the shape of its payload: the words every room speaks about traces.
//
// Data only. An Event owns nothing: it is a view into the block it was read from, and lives as long
// as the reader that made it says. An EventType lives as long as its reader.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "model/ids.h"

namespace clrscope {

// 16 bytes as they stand in a trace: the first three groups are little-endian.
struct Guid {
  std::array<std::uint8_t, 16> bytes{};

  bool empty() const { return *this == Guid{}; }
  friend bool operator==(const Guid&, const Guid&) = default;
};

// "e13c0d23-ccbc-4e12-931b-d9cc2eee27e4"
std::string to_string(const Guid& guid);

// How a value lies in a payload. The numbers are those of the nettrace format.
enum class TypeCode : std::uint8_t {
  kNone = 0,
  kObject = 1,     // children are its members, one after the other
  kBool32 = 3,     // 4 bytes
  kUtf16Unit = 4,  // one UTF-16 code unit
  kInt8 = 5,
  kUInt8 = 6,
  kInt16 = 7,
  kUInt16 = 8,
  kInt32 = 9,
  kUInt32 = 10,
  kInt64 = 11,
  kUInt64 = 12,
  kFloat32 = 13,
  kFloat64 = 14,
  kDecimal = 15,
  kDateTime = 16,    // 8 bytes, 100 ns since 1601
  kGuid = 17,        // 16 bytes
  kUtf16Text = 18,   // up to a zero unit
  kArray = 19,       // u16 count, then the elements; children[0] is the element
  kVarInt = 20,      // zigzag LEB128
  kVarUInt = 21,     // LEB128
  kFixedArray = 22,  // `count` elements; children[0] is the element
  kUtf8Unit = 23,    // one UTF-8 code unit
  kRelLoc = 24,      // u16 offset from the end of this field, u16 bytes; children[0] is the element
  kDataLoc = 25,     // u16 offset from the payload's start, u16 bytes; children[0] is the element
  kBool8 = 26,       // 1 byte
};

struct Field {
  std::string name;  // empty for the element of an array
  TypeCode type = TypeCode::kNone;
  std::uint16_t count = 0;  // of a fixed array
  std::vector<Field> children{};

  friend bool operator==(const Field&, const Field&) = default;
};

// What the trace says of a kind of event. The runtime's own providers say no fields: their payloads
// are known by (provider, id, version).
struct EventType {
  std::uint32_t index = 0;  // dense, from 0, in order of appearance: for flat tables of your own
  std::string provider;
  std::string name;  // may be empty
  std::uint32_t id = 0;
  std::uint32_t version = 0;
  std::uint8_t level = 0;
  std::uint8_t opcode = 0;
  std::uint64_t keywords = 0;
  std::vector<Field> fields{};
  std::optional<Guid> provider_guid{};
  std::string message{};
  std::string description{};
  std::vector<std::pair<std::string, std::string>> attributes{};
};

// What a V6 trace may say of an event beside its activity. What is absent is as the type says.
struct EventLabels {
  Guid activity{};
  Guid related{};
  std::optional<Guid> trace_id{};  // W3C, in wire order
  std::optional<std::uint64_t> span_id{};
  std::optional<std::uint8_t> opcode{};
  std::optional<std::uint64_t> keywords{};
  std::optional<std::uint8_t> level{};
  std::optional<std::uint8_t> version{};
  std::vector<std::pair<std::string, std::string>> texts{};
  std::vector<std::pair<std::string, std::int64_t>> numbers{};
};

struct Event {
  const EventType* type = nullptr;  // never null in a batch
  TraceTime time{};
  std::int64_t ticks = 0;  // as the trace has it
  ThreadId thread{};
  std::uint64_t capture_thread = 0;  // who wrote it: sequence numbers count per capture thread
  Bytes payload{};
  const Guid* activity = nullptr;  // null when there is none
  const Guid* related = nullptr;
  const EventLabels* labels = nullptr;  // V6 only
  ProcessId process{};
  std::uint32_t processor = 0xffffffff;  // all ones when unknown
  std::uint32_t sequence = 0;
  StackId stack = StackId::kNone;  // ask the reader, while the batch lives
};

// Addresses of a stack, leaf first, as they lie in the trace: perhaps unaligned, perhaps 4 bytes
// each.
class StackView {
 public:
  StackView() = default;
  StackView(Bytes bytes, std::uint32_t pointer_size) : bytes_(bytes), pointer_size_(pointer_size) {}

  std::size_t size() const { return bytes_.size() / pointer_size_; }
  bool empty() const { return size() == 0; }
  Bytes bytes() const { return bytes_; }
  std::uint64_t operator[](std::size_t i) const {
    std::uint64_t address = 0;
    std::memcpy(&address, bytes_.data() + i * pointer_size_, pointer_size_);
    return address;
  }
  void copy_to(std::vector<std::uint64_t>& out) const {
    out.resize(size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (*this)[i];
  }

 private:
  Bytes bytes_{};
  std::uint32_t pointer_size_ = 8;  // 4 or 8
};

}  // namespace clrscope
