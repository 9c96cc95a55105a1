#include "inspect/contract/descriptor.h"

#include <fmt/format.h>

#include "base/json_reader.h"
#include "base/text.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kMagic = 0x0043414443434e44;  // "DNCCDAC"
constexpr std::uint32_t kMostJson = 4 << 20;
constexpr std::uint32_t kMostPointers = 4096;
constexpr std::int64_t kMostOffset = 1 << 20;

struct Header {
  std::uint64_t magic;
  std::uint32_t flags;  // bit 0: pointers have 64 bits
  std::uint32_t json_size;
  std::uint64_t json;
  std::uint32_t pointer_count;
  std::uint32_t padding;
  std::uint64_t pointers;
};
static_assert(sizeof(Header) == 40);

// An offset or a literal: 8, [8, "pointer"], "0x8", ["0x8", "uint8"].
std::optional<std::uint64_t> number_of(const JsonValue& value) {
  if (const auto* const list = value.array()) {
    if (list->empty() || list->front().array()) return {};
    return number_of(list->front());
  }
  if (const auto number = value.integer())
    return *number < 0 ? std::nullopt : std::optional{static_cast<std::uint64_t>(*number)};
  return value.text() ? parse_number(*value.text()) : std::nullopt;
}

// The slot of an indirect global: [[3], "pointer"] or [3].
std::optional<std::int64_t> slot_of(const JsonValue& value) {
  const auto* const list = value.array();
  if (!list || list->empty()) return {};
  if (const auto* const inner = list->front().array())
    return inner->size() == 1 ? inner->front().integer() : std::nullopt;
  return list->size() == 1 ? list->front().integer() : std::nullopt;
}

}  // namespace

Result<Descriptor> Descriptor::parse(std::string_view json,
                                     std::span<const std::uint64_t> pointers) {
  const auto root = TRY(read_json(json));
  const auto* const version = root.find("version");
  if (!version || version->integer() != 0)
    return fail(Errc::kUnsupported, "unknown version of the runtime's data descriptor");
  if (const auto* const base = root.find("baseline");
      base && (!base->text() || *base->text() != "empty"))
    return fail(Errc::kUnsupported, "the runtime's data descriptor is built on an unknown one: {}",
                base->text() ? *base->text() : "?");
  const auto* const types = root.find("types");
  const auto* const globals = root.find("globals");
  const auto* const contracts = root.find("contracts");
  if (!types || !types->object() || !globals || !globals->object() || !contracts ||
      !contracts->object())
    return fail(Errc::kCorrupt, "the runtime's data descriptor lacks types, globals or contracts");

  Descriptor made;
  for (const auto& type : *types->object()) {
    if (!type.value.object()) return fail(Errc::kCorrupt, "type {} has no fields", type.name);
    ++made.types_;
    for (const auto& field : *type.value.object()) {
      const auto offset = number_of(field.value);
      if (!offset || *offset > kMostOffset)
        return fail(Errc::kCorrupt, "field {}.{} has no offset", type.name, field.name);
      made.offsets_[fmt::format("{}.{}", type.name, field.name)] =
          static_cast<std::uint32_t>(*offset);
    }
  }
  for (const auto& global : *globals->object()) {
    if (const auto slot = slot_of(global.value)) {
      if (*slot < 0 || static_cast<std::uint64_t>(*slot) >= pointers.size())
        return fail(Errc::kCorrupt, "global {} is number {} of {} pointers", global.name, *slot,
                    pointers.size());
      made.addresses_[global.name] = pointers[static_cast<std::size_t>(*slot)];
    } else if (const auto number = number_of(global.value)) {
      made.values_[global.name] = *number;
    }  // else a text, such as the name of the processor
  }
  for (const auto& contract : *contracts->object()) {
    const auto number = number_of(contract.value);
    if (!number || *number > 1'000'000)
      return fail(Errc::kCorrupt, "contract {} has no version", contract.name);
    made.contracts_[contract.name] = static_cast<std::uint32_t>(*number);
  }
  return made;
}

Result<Descriptor> Descriptor::read(Memory& memory, std::uint64_t address) {
  const auto header = memory.get<Header>(address);
  if (!header || header->magic != kMagic)
    return fail(Errc::kCorrupt, "no data descriptor at {:#x}", address);
  if ((header->flags & 2) != 0)
    return fail(Errc::kUnsupported, "the runtime is a 32-bit one, which is not supported");
  if (header->json_size > kMostJson || header->pointer_count > kMostPointers)
    return fail(Errc::kCorrupt, "invalid data descriptor of {} bytes with {} pointers",
                header->json_size, header->pointer_count);
  const auto json = memory.block(header->json, header->json_size);
  const auto table = memory.block(header->pointers, std::size_t{8} * header->pointer_count);
  if (json.size() != header->json_size || table.size() != std::size_t{8} * header->pointer_count)
    return fail(Errc::kCorrupt, "the data descriptor at {:#x} cannot be read whole", address);
  std::vector<std::uint64_t> pointers;
  for (ByteReader in{table}; in.remaining() >= 8;) pointers.push_back(in.read<std::uint64_t>());
  return parse(as_text(json), pointers);
}

std::optional<std::uint32_t> Descriptor::offset(std::string_view type,
                                                std::string_view field) const {
  const auto found = offsets_.find(fmt::format("{}.{}", type, field));
  return found == offsets_.end() ? std::nullopt : std::optional{found->second};
}

std::optional<std::uint64_t> Descriptor::address(std::string_view global) const {
  const auto found = addresses_.find(global);
  return found == addresses_.end() ? std::nullopt : std::optional{found->second};
}

std::optional<std::uint64_t> Descriptor::value(std::string_view global) const {
  const auto found = values_.find(global);
  return found == values_.end() ? std::nullopt : std::optional{found->second};
}

std::optional<std::uint32_t> Descriptor::contract(std::string_view name) const {
  const auto found = contracts_.find(name);
  return found == contracts_.end() ? std::nullopt : std::optional{found->second};
}

Result<> Descriptor::require(std::string_view contract_name, std::uint32_t version) const {
  const auto found = contract(contract_name);
  if (!found) return fail(Errc::kUnsupported, "the runtime has no contract {}", contract_name);
  if (*found != version)
    return fail(Errc::kUnsupported, "unknown contract {} version {}", contract_name, *found)
        .hint("this runtime is newer than this clrscope: use a newer one");
  return {};
}

std::uint32_t Needs::field(std::string_view type, std::string_view name) {
  const auto found = descriptor_.offset(type, name);
  if (!found) miss(type, name);
  return found.value_or(0);
}

std::uint64_t Needs::variable(std::string_view global) {
  const auto found = descriptor_.address(global);
  if (!found) miss(global, "");
  return found.value_or(0);
}

std::uint64_t Needs::number(std::string_view global) {
  const auto found = descriptor_.value(global);
  if (!found) miss(global, "");
  return found.value_or(0);
}

void Needs::miss(std::string_view what, std::string_view part) {
  if (missing_.empty())
    missing_ = part.empty() ? std::string{what} : fmt::format("{}.{}", what, part);
}

Result<> Needs::met() const {
  if (missing_.empty()) return {};
  return fail(Errc::kUnsupported, "the runtime's data descriptor has no {}", missing_);
}

}  // namespace clrscope::inspect
