// Makes payload plans out of what describes a payload. Used by payload.cpp's callers through
// PayloadPlans; here for the manifest reader and for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nettrace/payload.h"

namespace clrscope::nettrace {

// A field as somebody describes it; names not yet looked up, places not yet known.
struct FieldSpec {
  std::string name{};
  Wire wire = Wire::kUInt8;
  Counted counted = Counted::kNot;
  bool hex = false;
  std::uint16_t fixed_count = 0;
  std::string refers_to{};  // the field that counts it, or whose bits it is
  std::uint8_t shift = 0;
  std::uint64_t mask = ~0ULL;
  std::uint64_t only_if = 0;
  const ValueNames* names = nullptr;
  std::vector<FieldSpec> children{};
};

// An array of `element`: text or bytes if it is made of such units.
FieldSpec array_of(std::string name, FieldSpec element, Counted counted);

// The fields a trace declares; nothing if one of them cannot be decoded.
std::optional<std::vector<FieldSpec>> specs_of(const std::vector<Field>& fields);

// The same with truths of one byte; nothing if there are no others.
std::optional<std::vector<FieldSpec>> with_short_truths(std::vector<FieldSpec> specs);

// The fields of a table line, its bases first.
std::vector<FieldSpec> specs_of(const TableEvent& event, std::uint32_t pointer_size);

// Gives each field its place; nothing for what cannot be read safely: elements of no size, names
// that refer to nothing earlier, too many or too deep.
class PlanBuilder {
 public:
  static std::optional<PayloadPlan> build(const std::vector<FieldSpec>& specs, Schema schema);
  static void name(PayloadPlan& plan, std::string name, const TableEvent* table);
  static void add_narrow(PayloadPlan& plan, std::optional<PayloadPlan> narrow);

 private:
  bool place(const std::vector<FieldSpec>& specs, std::size_t first, unsigned depth);
  void fill(PayloadField& field, const FieldSpec& spec);
  std::optional<std::int8_t> slot_of(const std::string& name, std::size_t first,
                                     std::size_t before);

  static constexpr unsigned kDeepest = 16;
  static constexpr std::size_t kMostNodes = 4096;
  PayloadPlan plan_;
};

}  // namespace clrscope::nettrace
