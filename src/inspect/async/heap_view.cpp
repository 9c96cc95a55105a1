#include "inspect/async/heap_view.h"

#include <algorithm>

namespace clrscope::inspect {
namespace {

// Of a method table, the same on .NET 8, 9 and 10: what it was instantiated with. The numbers of
// dictionaries and of arguments lie before the dictionaries.
constexpr std::uint64_t kDictionariesAt = 48;
constexpr std::uint16_t kMostDictionaries = 64;
constexpr std::uint16_t kMostArguments = 64;

}  // namespace

std::uint32_t HeapView::at(std::uint64_t address) const {
  if (address == 0) return kNone;
  const auto& all = graph_.addresses;
  const auto found = std::ranges::lower_bound(all, address);
  if (found == all.end() || *found != address) return kNone;
  return static_cast<std::uint32_t>(found - all.begin());
}

const TypeInfo* HeapView::type(std::uint32_t type) {
  auto& info = infos_[type];
  if (!info.asked) {
    info.asked = true;
    if (const auto id = graph_.types[type].id; id != 0)
      if (auto found = reader_.type_of_table(id)) info.type = *std::move(found);
  }
  return info.type ? &*info.type : nullptr;
}

std::string HeapView::text(std::uint32_t string, std::size_t most) {
  if (string == kNone || type_name(string) != "System.String") return {};
  const auto start = graph_.addresses[string];
  const auto length = memory_.get<std::uint32_t>(start + 8).value_or(0);
  return memory_.text16(start + 12, std::min<std::size_t>(length, most));
}

const TypeInfo* HeapView::last_argument(const TypeInfo& type) {
  const auto dictionaries = memory_.pointer(type.method_table + kDictionariesAt).value_or(0);
  if (dictionaries < 4096 || dictionaries % 8 != 0) return nullptr;
  const auto count = memory_.get<std::uint16_t>(dictionaries - 4).value_or(0);
  const auto arguments = memory_.get<std::uint16_t>(dictionaries - 2).value_or(0);
  if (count == 0 || count > kMostDictionaries || arguments == 0 || arguments > kMostArguments)
    return nullptr;
  const auto own = memory_.pointer(dictionaries + 8 * (std::uint64_t{count} - 1)).value_or(0);
  const auto table = memory_.pointer(own + 8 * (std::uint64_t{arguments} - 1)).value_or(0);
  if (own < 4096 || table < 4096 || table % 8 != 0) return nullptr;
  auto& info = arguments_[table];
  if (!info.asked) {
    info.asked = true;
    if (auto found = reader_.type_of_table(table)) info.type = *std::move(found);
  }
  if (!info.type) return nullptr;
  // The name of the whole has its name.
  const std::string_view name{info.type->name};
  return type.name.find(name.substr(0, name.find('['))) != std::string::npos ? &*info.type
                                                                             : nullptr;
}

}  // namespace clrscope::inspect
