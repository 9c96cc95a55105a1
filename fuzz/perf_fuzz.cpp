// Perf records, ring memory, tracepoint formats and lines of maps, from whoever may have made them.
//
// The first byte says what follows; tests/data/fuzz/perf/. R: u64 sample type, u64 mask of
// registers, records as a kernel wrote them. G: u64 head, u64 tail, 256 bytes of ring. T: 64 bytes
// of raw fields, text of a format file. M: a line of /proc/PID/maps.
#include <linux/perf_event.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "collect/machine/tracepoint_type.h"
#include "collect/perf/record.h"
#include "collect/perf/ring.h"
#include "collect/perf/snapshot.h"
#include "collect/perf/tracepoint_format.h"
#include "nettrace/payload.h"

namespace {

using namespace clrscope;
using namespace clrscope::collect::perf;

bool inside(Bytes part, Bytes whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

std::uint64_t touch(const StackView& stack) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < stack.size(); ++i) sum += stack[i];
  return sum;
}

void examine(const Record& record, Bytes bytes) {
  (void)origin_of(record);
  if (const auto* sample = std::get_if<Sample>(&record)) {
    CHECK(inside(sample->stack, bytes));
    CHECK(inside(sample->raw, bytes));
    CHECK(inside(sample->callchain.user.bytes(), bytes));
    CHECK(inside(sample->callchain.kernel.bytes(), bytes));
    (void)touch(sample->callchain.user);
    (void)touch(sample->callchain.kernel);
    for (unsigned bit = 0; bit < 70; ++bit) (void)sample->registers.get(bit);
  } else if (const auto* mapping = std::get_if<Mapping>(&record)) {
    CHECK(mapping->build_id.size() <= 20);
    CHECK(inside(mapping->build_id, bytes));
    CHECK(inside(as_bytes(mapping->path), bytes));
  } else if (const auto* name = std::get_if<ThreadName>(&record)) {
    CHECK(inside(as_bytes(name->name), bytes));
  }
}

void parse_records(Bytes bytes) {
  ByteReader in{bytes};
  const RecordLayout layout{.sample_type = in.read<std::uint64_t>(),
                            .user_registers = in.read<std::uint64_t>()};
  if (!in.ok()) return;
  const RecordParser single{layout};
  RecordParser shared;
  for (std::uint64_t id = 0; id < 64; ++id) shared.add(EventId{id}, EventIndex{0}, layout);
  while (in.remaining() >= sizeof(perf_event_header)) {
    const auto rest = bytes.subspan(in.offset());
    perf_event_header header{};
    std::memcpy(&header, rest.data(), sizeof header);
    const auto size = std::clamp<std::size_t>(header.size, sizeof header, rest.size());
    const auto record_bytes = in.take(size);
    if (const auto record = single.parse(record_bytes)) examine(*record, record_bytes);
    if (const auto record = shared.parse(record_bytes)) examine(*record, record_bytes);
  }
}

void read_ring(Bytes bytes) {
  constexpr std::size_t kSize = 256;
  ByteReader in{bytes};
  perf_event_mmap_page control{};
  control.data_head = in.read<std::uint64_t>();
  control.data_tail = in.read<std::uint64_t>();
  std::vector<std::uint8_t> data(kSize);
  const auto rest = in.rest();
  std::copy_n(rest.begin(), std::min(rest.size(), kSize), data.begin());
  RingReader reader{&control, data.data(), kSize};
  std::uint64_t sum = 0;
  reader.drain([&](Bytes record) {
    for (const auto byte : record) sum += byte;
  });
  CHECK(control.data_tail == control.data_head);
}

void read_format(Bytes bytes) {
  constexpr std::size_t kRaw = 64;
  if (bytes.size() < kRaw) return;
  const auto raw = bytes.first(kRaw);
  const auto format = parse_tracepoint_format(as_text(bytes.subspan(kRaw)));
  if (!format) return;
  for (const auto& field : format->fields) {
    const auto value = decode_field(field, raw);
    if (!value) continue;
    if (const auto* text = std::get_if<std::string_view>(&*value))
      CHECK(inside(as_bytes(*text), raw));
    else if (const auto* part = std::get_if<Bytes>(&*value))
      CHECK(inside(*part, raw));
    (void)format->integer(field.name, raw);
  }
  (void)describe(*format, raw);
  ByteWriter payload;
  collect::put_tracepoint(*format, raw, payload);
  const auto plan = nettrace::make_plan(collect::type_of_tracepoint(*format), 8);
  CHECK(nettrace::for_each_field(plan, payload.bytes(), [](auto&&...) {}) ==
        nettrace::Decoded::kComplete);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes rest{data + 1, size - 1};
  switch (data[0]) {
    case 'R':
      parse_records(rest);
      break;
    case 'G':
      read_ring(rest);
      break;
    case 'T':
      read_format(rest);
      break;
    case 'M':
      if (const auto mapping = parse_maps_line(as_text(rest)))
        CHECK(mapping->path == "//anon" || inside(as_bytes(mapping->path), rest));
      break;
    default:
      break;
  }
  return 0;
}
