#include "inspect/objects.h"

#include <algorithm>

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostTypes = 200'000;  // with what turned out to be none
constexpr std::uint64_t kLengthAt = 8;       // of arrays and strings, after the method table
constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::size_t kMostStatics = 4096;

}  // namespace

bool Objects::may_be_object(std::uint64_t address) const {
  if (address % 8 != 0 || address < 4096) return false;
  const auto* mapping = walker_.mapping_at(address);
  return mapping && mapping->writable && !mapping->executable;
}

const TypeInfo* Objects::type_of(std::uint64_t object) {
  if (!may_be_object(object)) return nullptr;
  const auto word = memory_.pointer(object);
  if (!word) return nullptr;
  return type_of_table(*word & ~std::uint64_t{7});  // the collector keeps marks in the low bits
}

const TypeInfo* Objects::type_of_table(std::uint64_t table) {
  if (table < 4096 || table % 8 != 0) return nullptr;
  auto known = types_.find(table);
  if (known == types_.end()) {
    if (types_.size() >= kMostTypes || !walker_.mapping_at(table)) return nullptr;
    auto type = reader_.type_of_table(table);
    known = types_.emplace(table, type ? std::optional{*std::move(type)} : std::nullopt).first;
  }
  return known->second ? &*known->second : nullptr;
}

std::string Objects::type_name(std::uint64_t object) {
  const auto* type = type_of(object);
  return type ? type->name : std::string{};
}

std::optional<std::uint32_t> Objects::length(std::uint64_t array) {
  const auto* type = type_of(array);
  if (!type || type->component_size == 0) return std::nullopt;
  return memory_.get<std::uint32_t>(array + kLengthAt);
}

std::uint64_t Objects::thread_static(const RuntimeThread& thread, std::string_view type_name) {
  for (const auto fields : references(reader_.thread_statics(thread), kMostStatics)) {
    const auto* const type = type_of(fields);
    if (type && type->name == type_name) return fields;
    if (!type || type->component_size == 0) continue;
    for (const auto one : references(fields, kMostStatics))
      if (const auto* const kind = type_of(one); kind && kind->name == type_name) return one;
  }
  return 0;
}

std::vector<std::uint64_t> Objects::references(std::uint64_t object, std::size_t most) {
  std::vector<std::uint64_t> found;
  const auto* type = type_of(object);
  if (!type) return found;
  std::uint64_t size = type->base_size;
  if (type->component_size != 0)
    size += std::uint64_t{length(object).value_or(0)} * type->component_size;
  // The base size counts the header, which lies before the object.
  size = std::min(size < 8 ? 0 : size - 8, kMostBytes);
  for (std::uint64_t at = 8; at + 8 <= size && found.size() < most; at += 8) {
    const auto word = memory_.pointer(object + at);
    if (!word) break;
    if (*word != 0 && *word != object && type_of(*word)) found.push_back(*word);
  }
  return found;
}

}  // namespace clrscope::inspect
