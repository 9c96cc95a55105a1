// The rows of event and metadata blocks, V4 to V6: a header of changes against the row before, then
// the payload. The hot loop of the room: everything here is inlined into its two users.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "model/event.h"
#include "nettrace/cursor.h"

namespace clrscope::nettrace {

enum class RowFormat { kV4, kV4Plain, kV6, kV6Plain };

constexpr bool is_v6(RowFormat f) { return f == RowFormat::kV6 || f == RowFormat::kV6Plain; }
constexpr bool is_plain(RowFormat f) {
  return f == RowFormat::kV4Plain || f == RowFormat::kV6Plain;
}

// What a row may bring anew; else it is as in the row before.
namespace change {
constexpr unsigned kType = 1;
constexpr unsigned kCapture = 2;
constexpr unsigned kThread = 4;
constexpr unsigned kStack = 8;
constexpr unsigned kActivity = 16;  // V6: the label list
constexpr unsigned kRelated = 32;
constexpr unsigned kSize = 128;
constexpr unsigned kAll = 0xff;
}  // namespace change

struct Row {
  unsigned changed = 0;
  std::uint32_t type = 0;
  std::uint32_t sequence = 0;
  std::uint64_t capture = 0;  // V4: thread ids, V6: thread indices
  std::uint32_t processor = 0;
  std::uint64_t thread = 0;
  std::uint32_t stack = 0;
  std::int64_t ticks = 0;
  const std::uint8_t* activity = nullptr;
  const std::uint8_t* related = nullptr;
  std::uint32_t labels = 0;
  std::uint32_t payload_size = 0;
  std::uint32_t padding = 0;
};

inline void add_ticks(Row& row, std::uint64_t delta) {
  row.ticks = static_cast<std::int64_t>(static_cast<std::uint64_t>(row.ticks) + delta);
}

template <RowFormat F>
[[gnu::always_inline]] inline void decode_packed(Row& row, Cursor& in) {
  const unsigned flags = in.byte();
  row.changed = flags;
  if (flags & change::kType) row.type = in.varuint32();
  if (flags & change::kCapture) {
    row.sequence += in.varuint32() + 1;
    row.capture = in.varuint64();
    row.processor = in.varuint32();
  } else if (row.type != 0) {
    ++row.sequence;
  }
  if (flags & change::kThread) row.thread = in.varuint64();
  if (flags & change::kStack) row.stack = in.varuint32();
  add_ticks(row, in.varuint64());
  if constexpr (is_v6(F)) {
    if (flags & change::kActivity) row.labels = in.varuint32();
  } else {
    if (flags & change::kActivity) row.activity = in.skip(sizeof(Guid));
    if (flags & change::kRelated) row.related = in.skip(sizeof(Guid));
  }
  if (flags & change::kSize) row.payload_size = in.varuint32();
}

template <RowFormat F>
[[gnu::always_inline]] inline void decode_plain(Row& row, Cursor& in) {
  row.changed = change::kAll;
  const auto* begin = in.at();
  const std::uint64_t size = in.fixed<std::uint32_t>() + std::uint64_t{4};
  row.type = in.fixed<std::uint32_t>() & 0x7fffffff;  // the highest bit is about sorting
  row.sequence = in.fixed<std::uint32_t>();
  row.thread = in.fixed<std::uint64_t>();
  row.capture = in.fixed<std::uint64_t>();
  row.processor = in.fixed<std::uint32_t>();
  row.stack = in.fixed<std::uint32_t>();
  row.ticks = in.fixed<std::int64_t>();
  if constexpr (is_v6(F)) {
    row.labels = in.fixed<std::uint32_t>();
  } else {
    row.activity = in.skip(sizeof(Guid));
    row.related = in.skip(sizeof(Guid));
  }
  row.payload_size = in.fixed<std::uint32_t>();
  // Some writers pad a row to four bytes and count that in its size, some do not.
  const auto used = static_cast<std::uint64_t>(in.at() - begin) + row.payload_size;
  row.padding = size > used && size - used < 4 ? static_cast<std::uint32_t>(size - used) : 0;
}

// Calls on_row(row, payload) for every whole row. Returns the bytes read: fewer than there are when
// a row is malformed or cut short.
template <RowFormat F, class OnRow>
[[gnu::always_inline]] inline std::size_t for_each_row(Bytes rows, OnRow&& on_row) {
  const auto* at = rows.data();
  const auto* const end = at + rows.size();
  PaddedTail tail;
  Row row;
  while (at < end) {
    const auto left = static_cast<std::size_t>(end - at);
    const auto* const begin = left >= kMaxRowHeader ? at : tail.fill(at, left);
    Cursor in{begin};
    if constexpr (is_plain(F))
      decode_plain<F>(row, in);
    else
      decode_packed<F>(row, in);
    const auto header = static_cast<std::size_t>(in.at() - begin);
    if (!in.ok() || header > left || row.payload_size > left - header) break;
    if constexpr (!is_v6(F)) {
      if (row.changed & change::kActivity) row.activity = at + (row.activity - begin);
      if (row.changed & change::kRelated) row.related = at + (row.related - begin);
    }
    at += header;
    __builtin_prefetch(at + row.payload_size +
                       1024);  // rows with long payloads outrun the processor's own
    on_row(row, Bytes{at, row.payload_size});
    at += row.payload_size;
    if constexpr (is_plain(F)) {
      const auto rest = static_cast<std::size_t>(end - at);
      at += row.padding < rest ? row.padding : rest;
    }
  }
  return static_cast<std::size_t>(at - rows.data());
}

// The format of a block's rows from its header, which is taken from `in`; fails the reader when the
// header makes no sense.
inline RowFormat read_block_header(ByteReader& in, bool v6) {
  const auto header_size = in.read<std::uint16_t>();
  const auto flags = in.read<std::uint16_t>();
  if (header_size < 20)
    in.fail();
  else
    in.skip(header_size - std::size_t{4});
  const bool packed = (flags & 1) != 0;
  if (v6) return packed ? RowFormat::kV6 : RowFormat::kV6Plain;
  return packed ? RowFormat::kV4 : RowFormat::kV4Plain;
}

}  // namespace clrscope::nettrace
