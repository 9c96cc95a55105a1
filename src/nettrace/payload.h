// An event's payload, field by field: by name and type, whoever described it.
//
// A PayloadPlan is made once for each EventType (PayloadPlans keeps them) from, in this order: the
// fields the trace declares, the provider's manifest, our table. Reading then allocates nothing:
// values are views into the payload. A payload shorter than its plan gives its whole fields and
// says kTruncated; bytes after the last field are ignored (a later version added them).
//
//   PayloadPlans plans{info.pointer_size};
//   const PayloadPlan& plan = plans.of(event);
//   for_each_field(plan, event.payload, [&](const PayloadField& field, const Value& value) { … });
//   const auto reason = plan.find("Reason");                  // once for each type
//   if (auto value = read_field(plan, *reason, event.payload)) use(value->u);
//
// Text and JSON: payload_text.h. Structs for the events the analysis uses: payload_events.h
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "model/event.h"
#include "nettrace/payload_table.h"

namespace clrscope::nettrace {

class ManifestSet;

// How a value lies in the payload.
enum class Wire : std::uint8_t {
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat32,
  kFloat64,
  kBool8,
  kBool32,
  kChar8,
  kChar16,
  kGuid,
  kFileTime,    // 8 bytes, 100 ns since 1601
  kSystemTime,  // 8 × 16 bits: year, month, day of week, day, hour, minute, second, millisecond
  kDecimal,     // 16 bytes
  kUtf16z,
  kUtf8z,
  kVarInt,
  kVarUInt,
  kText16,  // counted UTF-16 units
  kText8,   // counted UTF-8 units
  kBytes,   // counted bytes
  kArray,   // counted elements; its one child describes them
  kObject,
  kBits,  // some bits of an earlier field, no bytes of its own
};

// Where the number of elements stands.
enum class Counted : std::uint8_t {
  kNot,
  kFixed,
  kBefore16,
  kBefore32,
  kByField,
  kRelLoc,
  kDataLoc
};

struct PayloadField {
  static constexpr std::uint32_t kUnknown = 0xffffffff;

  std::string_view name{};      // empty for an array's element
  std::string_view json_key{};  // "name": escaped
  Wire wire = Wire::kUInt8;
  Counted counted = Counted::kNot;
  bool hex = false;             // printed in hexadecimal
  std::int8_t kept_in = -1;     // the slot that later fields find its value in
  std::int8_t counted_by = -1;  // the slot of the count, or of the field the bits are of
  std::uint8_t shift = 0;
  std::uint16_t fixed_count = 0;
  std::uint32_t offset = kUnknown;  // from the payload's start, if it is the same in all
  std::uint32_t size = kUnknown;    // in bytes, likewise
  std::uint32_t min_size = 0;
  std::uint32_t first_child = 0;
  std::uint32_t children = 0;
  std::uint64_t mask = ~0ULL;
  std::uint64_t only_if = 0;  // bits are of a field that has one of these set, else 0
  const ValueNames* names = nullptr;
};

struct Value {
  enum class Kind : std::uint8_t {
    kInt,     // i
    kUInt,    // u
    kBool,    // u
    kFloat,   // f, was 32 bits
    kDouble,  // f
    kChar,    // u, a UTF-16 unit
    kGuid,    // bytes
    kTime,    // i, 100 ns since 1601 (UTC)
    kText16,  // bytes: UTF-16 units, perhaps unaligned; utf8_of() makes text of them
    kText8,   // bytes: UTF-8
    kBytes,   // bytes
    kArray,   // bytes: all elements; count; walk them with for_each_element
    kObject,  // bytes: all members; walk them with for_each_member
  };

  Kind kind = Kind::kUInt;
  std::uint32_t count = 0;
  union {
    std::int64_t i = 0;
    std::uint64_t u;
    double f;
  };
  Bytes bytes{};
};

// A text value as UTF-8; empty for other kinds.
std::string text_of(const Value& value);

enum class Schema : std::uint8_t { kUnknown, kTrace, kManifest, kTable };
enum class Decoded : std::uint8_t { kComplete, kTruncated };

class PayloadPlan {
 public:
  std::span<const PayloadField> fields() const { return {nodes_.data(), top_}; }
  std::span<const PayloadField> children(const PayloadField& field) const {
    return {nodes_.data() + field.first_child, field.children};
  }
  std::optional<std::size_t> find(std::string_view name) const;

  // Who described the payload; kUnknown has no fields.
  Schema schema() const { return schema_; }
  // As TraceEvent prints it: "GC/Start", "RequestStart" as "Request/Start". May be empty.
  const std::string& event_name() const { return event_name_; }
  const TableEvent* table() const { return table_; }
  // The same with truths of one byte, where the trace says truths but not how long they are.
  const PayloadPlan* narrow() const { return narrow_.get(); }

 private:
  friend class PlanBuilder;
  std::vector<PayloadField> nodes_;
  std::size_t top_ = 0;
  bool keeps_ = false;  // some field's value is needed by a later one
  Schema schema_ = Schema::kUnknown;
  const TableEvent* table_ = nullptr;
  std::string event_name_;
  std::vector<std::unique_ptr<std::string>> texts_;  // what names point into
  std::unique_ptr<PayloadPlan> narrow_;

  friend std::optional<Value> read_field(const PayloadPlan&, std::size_t, Bytes);
};

// The plans of one reader's event types. Belongs to one thread.
class PayloadPlans {
 public:
  explicit PayloadPlans(std::uint32_t pointer_size, const ManifestSet* manifests = nullptr)
      : pointer_size_(pointer_size), manifests_(manifests) {}

  // What nobody described is asked again when a manifest has come since.
  const PayloadPlan& of(const EventType& type) {
    if (type.index < plans_.size() && plans_[type.index].plan &&
        (manifests_ == nullptr || plans_[type.index].plan->schema() != Schema::kUnknown))
      return *plans_[type.index].chosen;
    return make(type);
  }
  // Truths have four bytes, but one where the program wrote `bool`: the first payload that only
  // one of the two fits decides for its type.
  const PayloadPlan& of(const Event& event) {
    const auto& plan = of(*event.type);
    return plan.narrow() == nullptr || plans_[event.type->index].decided ? plan : decide(event);
  }

 private:
  struct Known {
    std::unique_ptr<PayloadPlan> plan{};
    const PayloadPlan* chosen = nullptr;
    bool decided = false;
  };
  const PayloadPlan& make(const EventType& type);
  const PayloadPlan& decide(const Event& event);

  std::uint32_t pointer_size_;
  const ManifestSet* manifests_;
  std::size_t manifests_seen_ = 0;
  std::vector<Known> plans_;
};

PayloadPlan make_plan(const EventType& type, std::uint32_t pointer_size,
                      const ManifestSet* manifests = nullptr);

// Reads the fields of one scope (the payload, or a structure in it) in their order.
class PayloadCursor {
 public:
  PayloadCursor(const PayloadPlan& plan, Bytes payload, std::size_t at = 0)
      : plan_(plan), payload_(payload), at_(at) {}

  // False when the field does not fit into what is left; then the cursor stays where it is.
  bool read(const PayloadField& field, Value& out);
  std::size_t at() const { return at_; }

 private:
  template <class T>
  bool load(T& out) {
    if (payload_.size() - at_ < sizeof(T)) return false;
    std::memcpy(&out, payload_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }
  template <class T>
  bool load_int(const PayloadField& field, Value& out);
  bool read_text(const PayloadField& field, Value& out);
  bool read_other(const PayloadField& field, Value& out);
  bool read_counted(const PayloadField& field, Value& out);
  bool read_object(const PayloadField& field, Value& out);
  bool elements(const PayloadField& field, std::uint64_t count, Value& out);

  const PayloadPlan& plan_;
  Bytes payload_;
  std::size_t at_;
  std::array<std::uint64_t, 8> kept_;  // written before it is read: see PlanBuilder
};

template <class T>
inline bool PayloadCursor::load_int(const PayloadField& field, Value& out) {
  T value;
  if (!load(value)) return false;
  if constexpr (std::is_signed_v<T>) {
    out.kind = Value::Kind::kInt;
    out.i = value;
  } else {
    out.kind = Value::Kind::kUInt;
    out.u = value;
  }
  if (field.kept_in >= 0) [[unlikely]]
    kept_[static_cast<std::uint8_t>(field.kept_in)] = static_cast<std::make_unsigned_t<T>>(value);
  out.u &= field.mask;
  return true;
}

inline bool PayloadCursor::read(const PayloadField& field, Value& out) {
  switch (field.wire) {
    case Wire::kUInt16:
      return load_int<std::uint16_t>(field, out);
    case Wire::kInt32:
      return load_int<std::int32_t>(field, out);
    case Wire::kUInt32:
      return load_int<std::uint32_t>(field, out);
    case Wire::kInt64:
      return load_int<std::int64_t>(field, out);
    case Wire::kUInt64:
      return load_int<std::uint64_t>(field, out);
    case Wire::kUtf16z:
      return read_text(field, out);
    default:
      return read_other(field, out);
  }
}

// visit(const PayloadField&, const Value&) for each field, in order.
template <class Visit>
Decoded for_each_field(const PayloadPlan& plan, Bytes payload, Visit&& visit) {
  PayloadCursor cursor{plan, payload};
  for (const PayloadField& field : plan.fields()) {
    Value value;
    if (!cursor.read(field, value)) return Decoded::kTruncated;
    visit(field, static_cast<const Value&>(value));
  }
  return Decoded::kComplete;
}

// One field of many: `index` from PayloadPlan::find(). Nothing when the payload ends before it.
std::optional<Value> read_field(const PayloadPlan& plan, std::size_t index, Bytes payload);

// visit(const PayloadField&, const Value&) for each member of an object.
template <class Visit>
void for_each_member(const PayloadPlan& plan, const PayloadField& field, const Value& object,
                     Visit&& visit) {
  PayloadCursor cursor{plan, object.bytes};
  for (const PayloadField& member : plan.children(field)) {
    Value value;
    if (!cursor.read(member, value)) return;
    visit(member, static_cast<const Value&>(value));
  }
}

// visit(const PayloadField& element, const Value&) for each element of an array.
template <class Visit>
void for_each_element(const PayloadPlan& plan, const PayloadField& field, const Value& array,
                      Visit&& visit) {
  if (field.children == 0) return;
  const PayloadField& element = plan.children(field).front();
  PayloadCursor cursor{plan, array.bytes};
  for (std::uint32_t i = 0; i < array.count; ++i) {
    Value value;
    if (!cursor.read(element, value)) return;
    visit(element, static_cast<const Value&>(value));
  }
}

}  // namespace clrscope::nettrace
