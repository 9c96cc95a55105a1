#include "nettrace/encode.h"

#include <algorithm>

#include "base/result.h"
#include "nettrace/block_checks.h"

namespace clrscope::nettrace {
namespace {

constexpr std::size_t kMaxRow =
    0xffff - 16;  // a row says its size in 16 bits, its number needs some
constexpr std::size_t kMaxName = 4096;

void put_type(ByteWriter& out, const Field& field);

bool put_fields(ByteWriter& out, const std::vector<Field>& fields) {
  if (fields.size() > 0xffff) return false;
  out.write(static_cast<std::uint16_t>(fields.size()));
  for (const auto& field : fields) {
    const auto begin = out.size();
    out.write(std::uint16_t{0});
    put_text(out, field.name);
    put_type(out, field);
    const auto size = out.size() - begin - 2;
    if (size > kMaxRow) return false;
    out.patch(begin, static_cast<std::uint16_t>(size));
  }
  return out.size() <= kMaxRow;
}

void put_type(ByteWriter& out, const Field& field) {
  out.write(field.type);
  if (field.type == TypeCode::kObject)
    (void)put_fields(out, field.children);  // too long shows in the size of what holds it
  else if (!field.children.empty())
    put_type(out, field.children.front());
  if (field.type == TypeCode::kFixedArray) out.write(field.count);
}

std::string_view cut(std::string_view text) { return text.substr(0, kMaxName); }

void put_options(ByteWriter& out, const EventType& type, bool with_texts) {
  const auto begin = out.size();
  out.write(std::uint16_t{0});
  const auto option = [&](std::uint8_t kind, const auto& value) {
    out.write(kind);
    if constexpr (std::is_convertible_v<decltype(value), std::string_view>)
      put_text(out, cut(value));
    else
      out.write(value);
  };
  if (type.opcode != 0) option(1, type.opcode);
  if (type.keywords != 0) option(3, type.keywords);
  option(8, type.level);
  option(9, static_cast<std::uint8_t>(type.version));
  if (type.provider_guid) option(7, *type.provider_guid);
  if (with_texts) {
    if (!type.message.empty()) option(4, type.message);
    if (!type.description.empty()) option(5, type.description);
    for (const auto& [key, value] : type.attributes) {
      option(6, key);
      put_text(out, cut(value));
    }
  }
  const auto size = out.size() - begin - 2;
  out.patch(begin, static_cast<std::uint16_t>(std::min(size, kMaxRow)));
}

std::string as_string(const ByteWriter& out) { return std::string{as_text(out.bytes())}; }

}  // namespace

void put_text(ByteWriter& out, std::string_view text) {
  out.write_varuint(text.size());
  out.put(text);
}

void put_wall_time(ByteWriter& out, WallTime time) {
  using namespace std::chrono;
  const auto day_start = floor<days>(time);
  const year_month_day date{day_start};
  const hh_mm_ss clock{floor<milliseconds>(time - day_start)};
  const auto put = [&](auto value) { out.write(static_cast<std::uint16_t>(value)); };
  put(static_cast<int>(date.year()));
  put(static_cast<unsigned>(date.month()));
  put(weekday{day_start}.c_encoding());
  put(static_cast<unsigned>(date.day()));
  put(clock.hours().count());
  put(clock.minutes().count());
  put(clock.seconds().count());
  put(clock.subseconds().count());
}

void put_trace_header(ByteWriter& out, const TraceInfo& info) {
  out.put("Nettrace");
  out.write(std::uint32_t{0});
  out.write(std::uint32_t{6});
  out.write(std::uint32_t{0});

  auto properties = info.properties;
  const auto add = [&](std::string_view key, std::int64_t value) {
    const auto same = [&](const auto& p) { return p.first == key; };
    if (value != 0 && std::ranges::none_of(properties, same))
      properties.emplace_back(key, std::to_string(value));
  };
  add("ProcessId", static_cast<std::int32_t>(info.process));
  add("HardwareThreadCount", info.processors);
  add("ExpectedCPUSamplingRate", info.sampling_ns);
  add("ClrscopeWindowStart", info.window_ns);
  add(kChecksProperty, 1);

  ByteWriter content;
  put_wall_time(content, info.start);
  content.write(info.sync_ticks);
  content.write(info.ticks_per_second);
  content.write(info.pointer_size);
  content.write(static_cast<std::uint32_t>(properties.size()));
  for (const auto& [key, value] : properties) {
    put_text(content, key);
    put_text(content, value);
  }
  put_block(out, BlockKind::kTrace, content.bytes());
}

void put_block(ByteWriter& out, BlockKind kind, Bytes content) {
  CHECK(content.size() < kMaxBlock);
  out.write(static_cast<std::uint32_t>(content.size()) | static_cast<std::uint32_t>(kind) << 24);
  out.put(content);
}

void put_check(ByteWriter& out, std::size_t begin) {
  BlockChecks checks;
  for (auto rest = out.bytes().subspan(begin); !rest.empty();) {
    const auto head = ByteReader{rest}.read<std::uint32_t>();
    const auto size = std::size_t{head & 0xffffff};
    checks.add(static_cast<BlockKind>(head >> 24), rest.subspan(4, size));
    rest = rest.subspan(4 + size);
  }
  ByteWriter content;
  content.write(checks.blocks());
  content.write(checks.sum());
  put_block(out, BlockKind::kCheck, content.bytes());
}

void put_source(ByteWriter& out, const Summary& read, std::span<const Damage> damage) {
  if (!read.truncated && read.damaged == 0 && read.undefined == 0) return;
  ByteWriter content;
  content.write(static_cast<std::uint8_t>(read.truncated ? kSourceTruncated : 0));
  content.write_varuint(read.damaged);
  content.write_varuint(read.skipped_bytes);
  content.write_varuint(read.undefined);
  const auto told = damage.first(std::min(damage.size(), kMaxSourceNotes));
  content.write_varuint(told.size());
  for (const auto& one : told) {
    content.write_varuint(one.offset);
    put_text(content, cut(one.what));
  }
  put_block(out, BlockKind::kSource, content.bytes());
}

std::string encode_type(const EventType& type) {
  ByteWriter head;
  put_text(head, cut(type.provider));
  head.write_varuint(type.id);
  put_text(head, cut(type.name));

  ByteWriter fields;
  if (!put_fields(fields, type.fields)) {
    fields.clear();
    fields.write(std::uint16_t{0});
  }
  for (const bool with_texts : {true, false}) {
    ByteWriter all;
    all.put(head.bytes());
    all.put(fields.bytes());
    put_options(all, type, with_texts);
    if (all.size() <= kMaxRow) return as_string(all);
  }
  head.write(std::uint16_t{0});
  put_options(head, type, false);
  return as_string(head);
}

void put_metadata_row(ByteWriter& out, std::uint32_t number, std::string_view encoded_type) {
  const auto begin = out.size();
  out.write(std::uint16_t{0});
  out.write_varuint(number);
  out.put(encoded_type);
  out.patch(begin, static_cast<std::uint16_t>(out.size() - begin - 2));
}

void put_thread_row(ByteWriter& out, std::uint64_t index, ProcessId process, ThreadId thread,
                    std::string_view name) {
  const auto begin = out.size();
  out.write(std::uint16_t{0});
  out.write_varuint(index);
  if (!name.empty()) {
    out.write(std::uint8_t{1});
    put_text(out, cut(name));
  }
  out.write(std::uint8_t{2});
  out.write_varuint(static_cast<std::uint32_t>(process));
  out.write(std::uint8_t{3});
  out.write_varuint(static_cast<std::uint64_t>(thread));
  out.patch(begin, static_cast<std::uint16_t>(out.size() - begin - 2));
}

void encode_labels(ByteWriter& out, const Event& event) {
  std::size_t last = 0;
  const auto kind = [&](std::uint8_t k) {
    last = out.size();
    out.write(k);
  };
  const auto begin = out.size();
  if (event.activity) kind(1), out.write(*event.activity);
  if (event.related) kind(2), out.write(*event.related);
  if (const auto* labels = event.labels) {
    if (labels->trace_id) kind(3), out.write(*labels->trace_id);
    if (labels->span_id) kind(4), out.write(*labels->span_id);
    if (labels->opcode) kind(7), out.write(*labels->opcode);
    if (labels->keywords) kind(8), out.write(*labels->keywords);
    if (labels->level) kind(9), out.write(*labels->level);
    if (labels->version) kind(10), out.write(*labels->version);
    for (const auto& [key, value] : labels->texts)
      kind(5), put_text(out, key), put_text(out, value);
    for (const auto& [key, value] : labels->numbers) {
      kind(6);
      put_text(out, key);
      const auto bits = static_cast<std::uint64_t>(value);
      out.write_varuint((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
    }
  }
  if (out.size() > begin) out.patch(last, static_cast<std::uint8_t>(out.bytes()[last] | 0x80));
}

}  // namespace clrscope::nettrace
