#include "nettrace/v4_blocks.h"

#include "nettrace/framing.h"
#include "nettrace/rows.h"

namespace clrscope::nettrace {
namespace {

constexpr std::uint32_t kFirstNumber = 0x7f000000;  // runtimes count types from 1
constexpr std::uint64_t kCaptureThread = 0x7fffffff'c1500000;
constexpr std::uint32_t kObjectVersion = 2;
constexpr std::size_t kHeader = 20;
constexpr std::size_t kBlock = 64 << 10;  // about as much as runtimes write
constexpr std::uint8_t kBegin = 5;

void put_utf16z(ByteWriter& out, std::string_view text) {
  for (const char16_t unit : utf16_of(text)) out.write(static_cast<std::uint16_t>(unit));
  out.write(std::uint16_t{0});
}

ByteWriter declaration(std::uint32_t number, const EventType& type) {
  ByteWriter out;
  out.write(number);
  put_utf16z(out, type.provider);
  out.write(type.id);
  put_utf16z(out, type.name);
  out.write(type.keywords);
  out.write(type.version);
  out.write(std::uint32_t{type.level});
  out.write(std::uint32_t{0});  // fields
  return out;
}

// The header takes up what is missing to a multiple of 4: readers go by its size.
void put_block(ByteWriter& out, std::uint64_t offset, std::string_view name, std::int64_t ticks,
               Bytes rows) {
  out.write(kBegin);
  out.write(kBegin);
  out.write(kNullTag);
  out.write(kObjectVersion);
  out.write(kObjectVersion);
  out.write(static_cast<std::uint32_t>(name.size()));
  out.put(name);
  out.write(kEndObjectTag);
  const auto size_at = out.size();
  out.write(std::uint32_t{0});
  while ((offset + out.size()) % 4 != 0) out.write(std::uint8_t{0});
  const auto content = out.size();
  const auto more = (0 - (content + kHeader + rows.size() + 1)) % 4;
  out.write(static_cast<std::uint16_t>(kHeader + more));
  out.write(std::uint16_t{1});  // packed
  out.write(ticks);
  out.write(ticks);
  for (std::size_t i = 0; i < more; ++i) out.write(std::uint8_t{0});
  out.put(rows);
  out.patch(size_at, static_cast<std::uint32_t>(out.size() - content));
  out.write(kEndObjectTag);
}

}  // namespace

std::uint32_t V4Blocks::number_of(const EventType& type) {
  const auto next = kFirstNumber + static_cast<std::uint32_t>(numbers_.size());
  const auto [place, fresh] = numbers_.try_emplace({type.provider, type.id, type.version}, next);
  if (fresh) {
    const auto declared = declaration(next, type);
    new_types_.write(static_cast<std::uint8_t>(change::kSize));
    new_types_.write_varuint(0);  // time
    new_types_.write_varuint(declared.size());
    new_types_.put(declared.bytes());
  }
  return place->second;
}

void V4Blocks::add(const Event& event) {
  rows_.push_back(
      {number_of(*event.type), event.thread, {event.payload.begin(), event.payload.end()}});
}

std::vector<std::uint8_t> V4Blocks::take(std::uint64_t offset, std::int64_t ticks) {
  ByteWriter out;
  if (rows_.empty()) return {};
  if (new_types_.size() > 0) put_block(out, offset, "MetadataBlock", 0, new_types_.bytes());
  new_types_.clear();

  ByteWriter rows;
  const auto flush = [&] {
    put_block(out, offset, "EventBlock", ticks, rows.bytes());
    rows.clear();
  };
  for (const auto& row : rows_) {
    const bool first = rows.size() == 0;
    rows.write(static_cast<std::uint8_t>(change::kType | (first ? change::kCapture : 0) |
                                         change::kThread | change::kSize));
    rows.write_varuint(row.type);
    if (first) {
      rows.write_varuint(events_);  // the sequence number before
      rows.write_varuint(kCaptureThread);
      rows.write_varuint(0);  // processor
    }
    rows.write_varuint(static_cast<std::uint64_t>(row.thread));
    rows.write_varuint(first ? static_cast<std::uint64_t>(ticks) : 0);
    rows.write_varuint(row.payload.size());
    rows.put(row.payload);
    ++events_;
    if (rows.size() >= kBlock) flush();
  }
  rows_.clear();
  if (rows.size() > 0) flush();
  return std::move(out).take();
}

}  // namespace clrscope::nettrace
