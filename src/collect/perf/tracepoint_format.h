// What tracefs says of a tracepoint, and its fields out of a sample's raw bytes.
//
// Pure: takes text and bytes. Values are views into the raw bytes they were decoded from. An id and
// a layout hold until the next boot only: always read the format of the running kernel.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace clrscope::collect::perf {

struct TracepointField {
  enum class Kind : std::uint8_t {
    kInt,          // 1, 2, 4 or 8 bytes
    kText,         // char[n], up to its zero
    kBytes,        // any other array or struct
    kDataLocText,  // u32: low half is the offset from the start of the raw bytes, high half the
                   // size
    kDataLocBytes,
    kRelLocText,  // the same, but the offset counts from the end of the field
    kRelLocBytes,
  };

  std::string name;
  std::string type;  // as the kernel writes it: "pid_t", "unsigned long[6]"
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  Kind kind = Kind::kInt;
  bool is_signed = false;
};

using FieldValue = std::variant<std::int64_t, std::uint64_t, std::string_view, Bytes>;

struct TracepointFormat {
  std::string system{};  // "sched"; the text does not say it
  std::string name{};
  std::uint32_t id = 0;
  std::vector<TracepointField> fields{};  // common_* first

  const TracepointField* find(std::string_view field) const;
  // Nothing when there is no such field, or the bytes are too short for it.
  std::optional<FieldValue> value(std::string_view field, Bytes raw) const;
  // An integer of either sign; nothing also when the field is no integer.
  std::optional<std::int64_t> integer(std::string_view field, Bytes raw) const;
};

// The text of events/SYSTEM/NAME/format.
Result<TracepointFormat> parse_tracepoint_format(std::string_view text);

std::optional<FieldValue> decode_field(const TracepointField& field, Bytes raw);

// "prev_comm=bash prev_pid=12 …", without the common_* fields.
std::string describe(const TracepointFormat& format, Bytes raw);

// "openat" for 257 on x86-64; empty when unknown.
std::string_view syscall_name(std::int64_t number);

}  // namespace clrscope::collect::perf
