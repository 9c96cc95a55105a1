// Who describes an event type, and what it is called.
#include <algorithm>
#include <charconv>
#include <iterator>

#include "model/provider_names.h"
#include "nettrace/manifest.h"
#include "nettrace/payload_plan.h"

namespace clrscope::nettrace {
namespace {

struct TypeName {
  std::string_view name;
  Wire wire;
};

constexpr TypeName kTypes[] = {
    {"i8", Wire::kInt8},     {"u8", Wire::kUInt8},      {"i16", Wire::kInt16},
    {"u16", Wire::kUInt16},  {"i32", Wire::kInt32},     {"u32", Wire::kUInt32},
    {"i64", Wire::kInt64},   {"u64", Wire::kUInt64},    {"f32", Wire::kFloat32},
    {"f64", Wire::kFloat64}, {"bool", Wire::kBool32},   {"bool8", Wire::kBool8},
    {"guid", Wire::kGuid},   {"time", Wire::kFileTime}, {"wstr", Wire::kUtf16z},
    {"astr", Wire::kUtf8z},  {"var", Wire::kVarUInt},
};

template <class T>
T number(std::string_view text, int base) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

// One line of the table, cut into fields. The table is ours: what it holds is checked by a test.
class LineReader {
 public:
  LineReader(std::string_view line, std::uint32_t pointer_size)
      : line_(line), pointer_size_(pointer_size) {}

  std::vector<FieldSpec> fields() {
    std::vector<FieldSpec> specs;
    for (skip_blanks(); !line_.empty() && line_.front() != '}'; skip_blanks())
      specs.push_back(field());
    return specs;
  }

 private:
  void skip_blanks() {
    while (!line_.empty() && line_.front() == ' ') line_.remove_prefix(1);
  }

  std::string_view until(std::string_view stops) {
    const auto end = std::min(line_.find_first_of(stops), line_.size());
    const auto word = line_.substr(0, end);
    line_.remove_prefix(end);
    return word;
  }

  bool take(char c) {
    if (line_.empty() || line_.front() != c) return false;
    line_.remove_prefix(1);
    return true;
  }

  FieldSpec field() {
    FieldSpec spec{.name = std::string{until(":={[ }")}};
    if (take('{')) {
      spec.wire = Wire::kObject;
      spec.children = fields();
      take('}');
    } else if (take('=')) {
      spec.wire = Wire::kBits;
      spec.refers_to = until(">");
      until("0123456789");
      spec.shift = number<std::uint8_t>(until("&"), 10);
      take('&');
      spec.mask = number<std::uint64_t>(until("?:[ }"), 16);
      if (take('?')) spec.only_if = number<std::uint64_t>(until(":[ }"), 16);
    } else if (take(':')) {
      type(spec, until("&:[ }"));
      if (take('&')) spec.mask = number<std::uint64_t>(until(":[ }"), 16);
    }
    if (take(':')) spec.names = event_table().names(until("[ }"));
    return take('[') ? array(std::move(spec)) : spec;
  }

  void type(FieldSpec& spec, std::string_view name) const {
    if (name.ends_with('x')) {
      spec.hex = true;
      name.remove_suffix(1);
    }
    if (name == "ptr") name = pointer_size_ == 4 ? "u32" : "u64";
    if (name == "str16") {
      spec = array_of(std::move(spec.name), {.wire = Wire::kChar8}, Counted::kBefore16);
      return;
    }
    for (const auto& known : kTypes)
      if (known.name == name) spec.wire = known.wire;
  }

  FieldSpec array(FieldSpec element) {
    const auto count = until("]");
    take(']');
    auto name = std::move(element.name);
    element.name.clear();
    auto spec = array_of(std::move(name), std::move(element), Counted::kByField);
    if (count == "u16") {
      spec.counted = Counted::kBefore16;
    } else if (count.front() >= '0' && count.front() <= '9') {
      spec.counted = Counted::kFixed;
      spec.fixed_count = number<std::uint16_t>(count, 10);
    } else {
      spec.refers_to = count;
    }
    return spec;
  }

  std::string_view line_;
  std::uint32_t pointer_size_;
};

// As .NET prints TraceEvent's enumeration of opcodes.
std::string opcode_name(std::uint8_t opcode) {
  constexpr const char* kNames[] = {"Info",
                                    "Start",
                                    "Stop",
                                    "DataCollectionStart",
                                    "DataCollectionStop",
                                    "Extension",
                                    "Reply",
                                    "Resume",
                                    "Suspend",
                                    "Transfer"};
  return opcode < std::size(kNames) ? kNames[opcode] : std::to_string(opcode);
}

bool ends_ignoring_case(std::string_view text, std::string_view end) {
  if (text.size() < end.size()) return false;
  text.remove_prefix(text.size() - end.size());
  for (std::size_t i = 0; i < end.size(); ++i)
    if ((text[i] | 0x20) != (end[i] | 0x20)) return false;
  return true;
}

// As TraceEvent names an event that its trace or a manifest describes.
std::string described_name(std::string_view name, std::uint32_t id, std::uint8_t opcode) {
  if (name.empty()) return id == 0 ? "EventWriteString" : "EventID(" + std::to_string(id) + ")";
  if (opcode == 0 && ends_ignoring_case(name, "Start")) opcode = 1;
  if (opcode == 0 && ends_ignoring_case(name, "Stop")) opcode = 2;
  if (opcode == 1 && ends_ignoring_case(name, "Start")) name.remove_suffix(5);
  if (opcode == 2 && ends_ignoring_case(name, "Stop")) name.remove_suffix(4);
  std::string full{name};
  if (opcode != 0) full += "/" + opcode_name(opcode);
  return full;
}

// The runtime's own providers: events without a name, described by the table alone.
bool named_by_table(const TableEvent* table, const EventType& type) {
  return table != nullptr && (type.name.empty() || type.provider.starts_with(kRuntimeProvider) ||
                              type.provider == kSamplerProvider);
}

}  // namespace

std::vector<FieldSpec> specs_of(const TableEvent& event, std::uint32_t pointer_size) {
  std::vector<FieldSpec> specs;
  if (event.base != nullptr) specs = specs_of(*event.base, pointer_size);
  auto own = LineReader{event.fields, pointer_size}.fields();
  // Bits have no bytes: they stay behind the fields that have.
  const auto bits = std::find_if(specs.begin(), specs.end(),
                                 [](const auto& spec) { return spec.wire == Wire::kBits; });
  specs.insert(bits, std::make_move_iterator(own.begin()), std::make_move_iterator(own.end()));
  return specs;
}

PayloadPlan make_plan(const EventType& type, std::uint32_t pointer_size,
                      const ManifestSet* manifests) {
  const auto* table = event_table().find(type.provider, type.id, type.version, type.name);
  std::optional<PayloadPlan> plan;
  auto name = named_by_table(table, type) ? std::string{table->name}
                                          : described_name(type.name, type.id, type.opcode);
  if (!type.fields.empty()) {
    if (const auto specs = specs_of(type.fields)) {
      plan = PlanBuilder::build(*specs, Schema::kTrace);
      if (const auto narrow = with_short_truths(*specs); plan && narrow)
        PlanBuilder::add_narrow(*plan, PlanBuilder::build(*narrow, Schema::kTrace));
    }
  } else if (const auto* event = manifests ? manifests->find(type) : nullptr) {
    plan = PlanBuilder::build(event->fields, Schema::kManifest);
    if (type.name.empty() && table == nullptr)
      name = described_name(event->name, type.id, event->opcode);
  } else if (table != nullptr) {
    plan = PlanBuilder::build(specs_of(*table, pointer_size), Schema::kTable);
  }
  if (!plan) plan = PlanBuilder::build({}, Schema::kUnknown);
  PlanBuilder::name(*plan, std::move(name), table);
  return std::move(*plan);
}

const PayloadPlan& PayloadPlans::make(const EventType& type) {
  if (type.index >= plans_.size()) plans_.resize(type.index + 1);
  auto& known = plans_[type.index];
  if (known.plan && manifests_->size() == manifests_seen_) return *known.plan;
  manifests_seen_ = manifests_ ? manifests_->size() : 0;
  known.plan = std::make_unique<PayloadPlan>(make_plan(type, pointer_size_, manifests_));
  known.chosen = known.plan.get();
  return *known.plan;
}

namespace {

bool fits(const PayloadPlan& plan, Bytes payload) {
  PayloadCursor cursor{plan, payload};
  for (const auto& field : plan.fields()) {
    Value ignored;
    if (!cursor.read(field, ignored)) return false;
  }
  return cursor.at() == payload.size();
}

}  // namespace

const PayloadPlan& PayloadPlans::decide(const Event& event) {
  auto& known = plans_[event.type->index];
  if (fits(*known.plan, event.payload)) {
    known.decided = true;
  } else if (fits(*known.plan->narrow(), event.payload)) {
    known.decided = true;
    known.chosen = known.plan->narrow();
  }
  return *known.chosen;
}

}  // namespace clrscope::nettrace
