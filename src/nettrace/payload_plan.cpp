#include "nettrace/payload_plan.h"

#include <algorithm>

#include "base/json.h"
#include "nettrace/manifest.h"

namespace clrscope::nettrace {
namespace {

// Bytes of a value of fixed size, 0 for the others.
std::uint32_t size_of(Wire wire) {
  switch (wire) {
    case Wire::kInt8:
    case Wire::kUInt8:
    case Wire::kBool8:
    case Wire::kChar8:
      return 1;
    case Wire::kInt16:
    case Wire::kUInt16:
    case Wire::kChar16:
      return 2;
    case Wire::kInt32:
    case Wire::kUInt32:
    case Wire::kFloat32:
    case Wire::kBool32:
      return 4;
    case Wire::kInt64:
    case Wire::kUInt64:
    case Wire::kFloat64:
    case Wire::kFileTime:
      return 8;
    case Wire::kGuid:
    case Wire::kSystemTime:
    case Wire::kDecimal:
      return 16;
    default:
      return 0;
  }
}

bool is_integer(Wire wire) {
  return wire <= Wire::kUInt64 || wire == Wire::kVarInt || wire == Wire::kVarUInt;
}

// Adds sizes; what is unknown stays unknown.
std::uint32_t sum(std::uint32_t a, std::uint32_t b) {
  if (a == PayloadField::kUnknown || b == PayloadField::kUnknown) return PayloadField::kUnknown;
  const auto total = static_cast<std::uint64_t>(a) + b;
  return total < PayloadField::kUnknown ? static_cast<std::uint32_t>(total)
                                        : PayloadField::kUnknown;
}

std::uint32_t least_sum(std::uint32_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(a) + b, 0x7fffffff));
}

std::optional<Wire> wire_of(TypeCode type) {
  switch (type) {
    case TypeCode::kBool32:
      return Wire::kBool32;
    case TypeCode::kUtf16Unit:
      return Wire::kChar16;
    case TypeCode::kInt8:
      return Wire::kInt8;
    case TypeCode::kUInt8:
      return Wire::kUInt8;
    case TypeCode::kInt16:
      return Wire::kInt16;
    case TypeCode::kUInt16:
      return Wire::kUInt16;
    case TypeCode::kInt32:
      return Wire::kInt32;
    case TypeCode::kUInt32:
      return Wire::kUInt32;
    case TypeCode::kInt64:
      return Wire::kInt64;
    case TypeCode::kUInt64:
      return Wire::kUInt64;
    case TypeCode::kFloat32:
      return Wire::kFloat32;
    case TypeCode::kFloat64:
      return Wire::kFloat64;
    case TypeCode::kDecimal:
      return Wire::kDecimal;
    case TypeCode::kDateTime:
      return Wire::kFileTime;
    case TypeCode::kGuid:
      return Wire::kGuid;
    case TypeCode::kUtf16Text:
      return Wire::kUtf16z;
    case TypeCode::kVarInt:
      return Wire::kVarInt;
    case TypeCode::kVarUInt:
      return Wire::kVarUInt;
    case TypeCode::kUtf8Unit:
      return Wire::kChar8;
    case TypeCode::kBool8:
      return Wire::kBool8;
    default:
      return std::nullopt;
  }
}

std::optional<FieldSpec> spec_of(const Field& field, unsigned depth) {
  FieldSpec spec{.name = field.name};
  if (depth == 0) return std::nullopt;
  switch (field.type) {
    case TypeCode::kObject:
      spec.wire = Wire::kObject;
      for (const auto& child : field.children) {
        auto member = spec_of(child, depth - 1);
        if (!member) return std::nullopt;
        spec.children.push_back(std::move(*member));
      }
      return spec;
    case TypeCode::kArray:
    case TypeCode::kFixedArray:
    case TypeCode::kRelLoc:
    case TypeCode::kDataLoc: {
      if (field.children.size() != 1) return std::nullopt;
      auto element = spec_of(field.children.front(), depth - 1);
      if (!element) return std::nullopt;
      const auto counted = field.type == TypeCode::kArray        ? Counted::kBefore16
                           : field.type == TypeCode::kFixedArray ? Counted::kFixed
                           : field.type == TypeCode::kRelLoc     ? Counted::kRelLoc
                                                                 : Counted::kDataLoc;
      spec = array_of(field.name, std::move(*element), counted);
      spec.fixed_count = field.count;
      return spec;
    }
    default: {
      const auto wire = wire_of(field.type);
      if (!wire) return std::nullopt;
      spec.wire = *wire;
      // The manner of TraceEvent: every unsigned 64-bit number is an address.
      spec.hex = *wire == Wire::kUInt64 || *wire == Wire::kVarUInt;
      return spec;
    }
  }
}

// False when there was none.
bool shorten_truths(FieldSpec& spec) {
  bool any = spec.wire == Wire::kBool32;
  if (any) spec.wire = Wire::kBool8;
  for (auto& child : spec.children) any = shorten_truths(child) || any;
  return any;
}

void narrow(FieldSpec& spec) {
  (void)shorten_truths(spec);
  if (spec.wire == Wire::kDecimal) spec.wire = Wire::kFloat64;
  for (auto& child : spec.children) narrow(child);
}

}  // namespace

FieldSpec array_of(std::string name, FieldSpec element, Counted counted) {
  FieldSpec array{.name = std::move(name), .wire = Wire::kArray, .counted = counted};
  if (element.wire == Wire::kChar16) array.wire = Wire::kText16;
  if (element.wire == Wire::kChar8) array.wire = Wire::kText8;
  if (element.wire == Wire::kUInt8) array.wire = Wire::kBytes;
  array.children.push_back(std::move(element));
  return array;
}

std::optional<std::vector<FieldSpec>> specs_of(const std::vector<Field>& fields) {
  std::vector<FieldSpec> specs;
  for (const auto& field : fields) {
    auto spec = spec_of(field, 16);
    if (!spec) return std::nullopt;
    specs.push_back(std::move(*spec));
  }
  // EventSource.Write<T> describes one object without a name; its truths are one byte and its
  // decimals doubles, whatever the description says.
  if (specs.size() == 1 && specs.front().name.empty() && specs.front().wire == Wire::kObject)
    narrow(specs.front());
  return specs;
}

std::optional<std::vector<FieldSpec>> with_short_truths(std::vector<FieldSpec> specs) {
  bool any = false;
  for (auto& spec : specs) any = shorten_truths(spec) || any;
  return any ? std::optional{std::move(specs)} : std::nullopt;
}

std::optional<std::int8_t> PlanBuilder::slot_of(const std::string& name, std::size_t first,
                                                std::size_t before) {
  std::int8_t next = 0;
  for (auto i = first; i < before; ++i)
    next = std::max<std::int8_t>(next, static_cast<std::int8_t>(plan_.nodes_[i].kept_in + 1));
  for (auto i = first; i < before; ++i) {
    auto& field = plan_.nodes_[i];
    if (field.name != name || !is_integer(field.wire)) continue;
    if (field.kept_in < 0) {
      if (next >= 8) return std::nullopt;
      field.kept_in = next;
    }
    plan_.keeps_ = true;
    return field.kept_in;
  }
  return std::nullopt;
}

void PlanBuilder::fill(PayloadField& field, const FieldSpec& spec) {
  const auto& text = plan_.texts_.emplace_back(std::make_unique<std::string>(spec.name));
  field.name = *text;
  auto& key = *plan_.texts_.emplace_back(std::make_unique<std::string>());
  append_json_string(key, field.name);
  key.push_back(':');
  field.json_key = key;
  field.wire = spec.wire;
  field.counted = spec.counted;
  field.hex = spec.hex;
  field.fixed_count = spec.fixed_count;
  field.shift = spec.shift;
  field.mask = spec.mask;
  field.only_if = spec.only_if;
  field.names = spec.names;
  if (const auto size = size_of(spec.wire); size != 0) field.size = field.min_size = size;
  if (spec.wire == Wire::kUtf16z) field.min_size = 2;
  if (spec.wire == Wire::kUtf8z || spec.wire == Wire::kVarInt || spec.wire == Wire::kVarUInt)
    field.min_size = 1;
  if (spec.wire == Wire::kBits) field.size = field.min_size = 0;
}

bool PlanBuilder::place(const std::vector<FieldSpec>& specs, std::size_t first, unsigned depth) {
  if (depth > kDeepest) return false;
  std::uint32_t offset = depth == 0 ? 0 : PayloadField::kUnknown;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto& spec = specs[i];
    PayloadField field;
    fill(field, spec);
    if (!spec.refers_to.empty()) {
      const auto slot = slot_of(spec.refers_to, first, first + i);
      if (!slot) return false;
      field.counted_by = *slot;
    }
    if (!spec.children.empty()) {
      field.first_child = static_cast<std::uint32_t>(plan_.nodes_.size());
      field.children = static_cast<std::uint32_t>(spec.children.size());
      if (plan_.nodes_.size() + spec.children.size() > kMostNodes) return false;
      plan_.nodes_.resize(plan_.nodes_.size() + spec.children.size());
      if (!place(spec.children, field.first_child, depth + 1)) return false;
    }
    const auto children = plan_.children(field);
    if (spec.wire == Wire::kObject) {
      field.size = 0;
      for (const auto& child : children) {
        field.size = sum(field.size, child.size);
        field.min_size = least_sum(field.min_size, child.min_size);
      }
    } else if (spec.counted != Counted::kNot) {
      if (children.size() != 1 || children.front().min_size == 0) return false;
      const auto& element = children.front();
      const bool elsewhere = spec.counted == Counted::kRelLoc || spec.counted == Counted::kDataLoc;
      if (elsewhere && (depth > 0 || element.size == PayloadField::kUnknown)) return false;
      if (elsewhere) {
        field.size = field.min_size = 4;
      } else if (spec.counted == Counted::kFixed) {
        const auto bytes = static_cast<std::uint64_t>(element.min_size) * spec.fixed_count;
        field.min_size =
            least_sum(0, static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 0x7fffffff)));
        if (element.size != PayloadField::kUnknown && bytes < 0x7fffffff)
          field.size = static_cast<std::uint32_t>(bytes);
      } else {
        field.min_size = spec.counted == Counted::kBefore16   ? 2
                         : spec.counted == Counted::kBefore32 ? 4
                                                              : 0;
      }
    }
    field.offset = offset;
    offset = sum(offset, field.size);
    plan_.nodes_[first + i] = field;
  }
  return true;
}

std::optional<PayloadPlan> PlanBuilder::build(const std::vector<FieldSpec>& specs, Schema schema) {
  PlanBuilder builder;
  if (specs.size() > kMostNodes) return std::nullopt;
  builder.plan_.nodes_.resize(specs.size());
  builder.plan_.top_ = specs.size();
  builder.plan_.schema_ = schema;
  if (!builder.place(specs, 0, 0)) return std::nullopt;
  return std::move(builder.plan_);
}

void PlanBuilder::name(PayloadPlan& plan, std::string name, const TableEvent* table) {
  if (plan.narrow_) PlanBuilder::name(*plan.narrow_, name, table);
  plan.event_name_ = std::move(name);
  plan.table_ = table;
}

void PlanBuilder::add_narrow(PayloadPlan& plan, std::optional<PayloadPlan> narrow) {
  if (narrow) plan.narrow_ = std::make_unique<PayloadPlan>(std::move(*narrow));
}

}  // namespace clrscope::nettrace
