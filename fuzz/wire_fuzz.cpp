// What clrscope reads of an agent: the ring, its records, names and replies, over any bytes.
//
// The first 8 bytes are where the writer says it is; the rest lies in the ring and in the arena.
// The corpus are records as the agent writes them; tests/data/fuzz/wire/.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>

#include "wire/control.h"
#include "wire/ring.h"

namespace {

using namespace clrscope::wire;

std::uint64_t read_all(const void* bytes, std::uint32_t size) {
  std::uint64_t sum = 0;
  const auto add = [&](const auto* record) {
    if (!record) return;
    for (std::uint32_t i = 0; i < record->frames; ++i) sum += frames_of(record)[i];
  };
  add(parse_record<ExceptionThrown>(RecordKind::kExceptionThrown, bytes, size));
  add(parse_record<ThreadStack>(RecordKind::kThreadStack, bytes, size));
  add(parse_record<Contention>(RecordKind::kContention, bytes, size));
  add(parse_record<Allocation>(RecordKind::kAllocation, bytes, size));
  add(parse_record<SampledObject>(RecordKind::kSampledObject, bytes, size));
  add(parse_record<ObjectsSeen>(RecordKind::kObjectsSeen, bytes, size));
  if (const auto* sample = parse_cpu_sample(bytes, size))
    for (std::uint32_t i = 0; i < sample->stack_bytes; ++i)
      sum += reinterpret_cast<const std::uint8_t*>(sample + 1)[i];
  if (const auto* caught = parse_record<ExceptionCaught>(RecordKind::kExceptionCaught, bytes, size))
    sum += caught->method;
  if (const auto* end = parse_record<SnapshotEnd>(RecordKind::kSnapshotEnd, bytes, size))
    sum += end->threads;
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  (void)is_request(data, size);
  (void)is_attach_data(data, size);
  if (is_reply(data, size, 1)) (void)parse_reply(data, size);
  if (size < 8) return 0;
  // Large, and only its first part is ever touched: made once.
  static const auto arena = std::make_unique<Arena>();
  auto& ring = arena->rings[0];
  std::memset(ring.bytes, 0, 4096);
  ring.head = 0;
  RingReader reader{ring};
  std::uint64_t head = 0;
  std::memcpy(&head, data, sizeof head);
  const auto count = std::min<std::size_t>(size - 8, 4096);
  std::memcpy(ring.bytes, data + 8, count);
  ring.head = head;
  volatile std::uint64_t sum = 0;
  reader.drain([&](const void* bytes, std::uint32_t one) { sum = sum + read_all(bytes, one); });

  char name[256];
  std::uint32_t words[2]{};
  std::memcpy(words, data, sizeof words);
  arena->names[1].offset = words[0];
  arena->names[1].size = words[1];
  sum = sum + copy_name(*arena, 1, name, sizeof name) + copy_name(*arena, words[0], name, 16);
  return 0;
}
