// Payload decoding on hostile input: payloads under the table's plans, payloads under field
// descriptions that are hostile too, and manifests. First byte: which; see below.
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "ctf/event_class.h"
#include "nettrace/manifest.h"
#include "nettrace/payload.h"
#include "nettrace/payload_events.h"
#include "nettrace/payload_text.h"

namespace {

using namespace clrscope;
using namespace clrscope::nettrace;

void decode(const PayloadPlan& plan, Bytes payload) {
  std::size_t fields = 0;
  const auto decoded = for_each_field(plan, payload, [&](const auto&, const Value& value) {
    ++fields;
    // What a value points to lies in the payload.
    if (!value.bytes.empty() &&
        (value.bytes.data() < payload.data() ||
         value.bytes.data() + value.bytes.size() > payload.data() + payload.size()))
      __builtin_trap();
  });
  if ((decoded == Decoded::kComplete) != (fields == plan.fields().size())) __builtin_trap();
  // A field behind a reference that points outside may still be read by its place.
  for (std::size_t i = 0; i < plan.fields().size(); ++i)
    if (!read_field(plan, i, payload).has_value() && i < fields) __builtin_trap();
  std::string out;
  append_text(out, plan, payload);
  out.clear();
  append_json(out, plan, payload);
  if (!read_json(out)) __builtin_trap();
  std::vector<std::uint8_t> bytes;
  ctf::append_payload(bytes, plan, payload);
  (void)ctf::describe(plan);
}

template <class... T>
void read_all(Bytes payload, const EventType& type, std::uint32_t pointer_size) {
  ((void)read_payload<T>(payload, type, pointer_size), ...);
}

// Fields as the input describes them: type, number of children, count.
std::vector<Field> read_fields(ByteReader& in, std::size_t count, unsigned depth) {
  std::vector<Field> fields;
  for (std::size_t i = 0; i < count && in.ok() && !in.at_end(); ++i) {
    Field field;
    field.name = std::string(1, static_cast<char>('a' + i % 26));
    field.type = static_cast<TypeCode>(in.read<std::uint8_t>() % 28);
    if (depth > 0 && (field.type == TypeCode::kObject || field.type == TypeCode::kArray ||
                      field.type == TypeCode::kFixedArray || field.type >= TypeCode::kRelLoc)) {
      const bool object = field.type == TypeCode::kObject;
      if (field.type == TypeCode::kFixedArray) field.count = in.read<std::uint8_t>();
      field.children = read_fields(in, object ? in.read<std::uint8_t>() % 8 : 1, depth - 1);
    }
    fields.push_back(std::move(field));
  }
  return fields;
}

void by_table(ByteReader& in) {
  const auto providers = event_table().providers();
  const auto& provider = providers[in.read<std::uint8_t>() % providers.size()];
  const auto& event = provider.events[in.read<std::uint16_t>() % provider.events.size()];
  const std::uint32_t pointer_size = (in.read<std::uint8_t>() & 1) != 0 ? 4 : 8;
  EventType type;
  type.provider = provider.name;
  type.id = event.id;
  type.name = event.symbol;
  type.version = event.version;
  const auto payload = in.rest();
  decode(make_plan(type, pointer_size), payload);
  read_all<GcStart, GcEnd, GcSuspend, GcHeapStats, GcTriggered, GcGlobalHistory, GcDynamic,
           AllocationTick, AllocationSampled, MethodEvent, MethodJittingStarted, R2RGetEntryPoint,
           ModuleEvent, ExceptionThrown, ContentionStart, ContentionStop, LockCreated, WaitStart,
           ThreadPoolWorker, WorkerAdjustment, WorkerSample, PoolMinMax, IoThread, PoolWork,
           ThreadSample, TaskEvent>(payload, type, pointer_size);
}

void by_fields(ByteReader& in) {
  EventType type;
  type.provider = "Fuzz";
  type.name = "Fuzz";
  type.fields = read_fields(in, in.read<std::uint8_t>() % 16, 18);
  decode(make_plan(type, 8), in.rest());
}

void by_manifest(ByteReader& in) {
  const auto split = in.read<std::uint16_t>();
  const auto xml = in.take(std::min<std::size_t>(split, in.remaining()));
  const auto payload = in.rest();
  for (const auto& manifest : parse_manifest(as_text(xml))) {
    for (const auto& event : manifest.events)
      if (const auto plan = PlanBuilder::build(event.fields, Schema::kManifest))
        decode(*plan, payload);
  }
  ManifestSet manifests;
  manifests.add("Fuzz", xml);
  manifests.add("Fuzz", payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteReader in{{data, size}};
  switch (in.read<std::uint8_t>() % 3) {
    case 0:
      by_table(in);
      break;
    case 1:
      by_fields(in);
      break;
    default:
      by_manifest(in);
  }
  return 0;
}
