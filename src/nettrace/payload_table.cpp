#include "nettrace/payload_table.h"

#include <algorithm>
#include <charconv>

namespace clrscope::nettrace {
namespace {

constexpr std::string_view kTables[] = {
#include "nettrace/tables/enums.events"
    ,
#include "nettrace/tables/clr.events"
    ,
#include "nettrace/tables/clr_rundown.events"
    ,
#include "nettrace/tables/clr_private.events"
    ,
#include "nettrace/tables/sources.events"
};

// Cuts the next word off `text`; empty at the end.
std::string_view next_word(std::string_view& text) {
  const auto begin = std::min(text.find_first_not_of(' '), text.size());
  const auto end = std::min(text.find(' ', begin), text.size());
  const auto word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

template <class T>
T number(std::string_view text, int base = 10) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

std::uint64_t keyword_mask(const TableProvider& provider, std::string_view names) {
  std::uint64_t mask = 0;
  while (!names.empty()) {
    const auto end = std::min(names.find('|'), names.size());
    const auto name = names.substr(0, end);
    if (name.starts_with("0x")) mask |= number<std::uint64_t>(name.substr(2), 16);
    for (const auto& keyword : provider.keywords)
      if (keyword.name == name) mask |= keyword.mask;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return mask;
}

ValueNames read_names(std::string_view kind, std::string_view line) {
  ValueNames names{.name = next_word(line), .flags = kind == "flags"};
  for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
    const auto equals = word.find('=');
    names.values.push_back({word.substr(0, equals), number<std::int64_t>(word.substr(equals + 1))});
  }
  std::stable_sort(names.values.begin(), names.values.end(),
                   [](const auto& a, const auto& b) { return a.value < b.value; });
  return names;
}

}  // namespace

void EventTable::read(std::string_view text) {
  TableEvent event;  // what all versions of one event have in common
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const bool is_version = line.front() == ' ';
    const auto first = next_word(line);
    if (is_version) {
      TableEvent version = event;
      version.version = number<std::uint32_t>(first);
      version.symbol = next_word(line);
      version.fields = line;
      providers_.back().events.push_back(version);
    } else if (first == "provider") {
      const auto name = next_word(line);
      providers_.push_back({.name = name, .guid = next_word(line)});
    } else if (first == "keywords") {
      for (auto word = next_word(line); !word.empty(); word = next_word(line)) {
        const auto equals = word.find('=');
        providers_.back().keywords.push_back(
            {word.substr(0, equals), number<std::uint64_t>(word.substr(equals + 1), 16)});
      }
    } else if (first == "enum" || first == "flags") {
      names_.push_back(read_names(first, line));
    } else {
      event = {.id_text = first, .id = number<std::uint32_t>(first)};
      event.name = next_word(line);
      event.level = number<std::uint8_t>(next_word(line));
      event.keywords = keyword_mask(providers_.back(), next_word(line));
    }
  }
}

// A version whose fields begin with "+" extends the one before it.
void EventTable::link() {
  for (auto& provider : providers_) {
    for (std::size_t i = 0; i < provider.events.size(); ++i) {
      auto& event = provider.events[i];
      const auto plus = event.fields.find_first_not_of(' ');
      if (plus == std::string_view::npos || event.fields[plus] != '+') continue;
      event.fields.remove_prefix(plus + 1);
      if (i > 0) event.base = &provider.events[i - 1];
    }
  }
}

EventTable::EventTable() {
  for (const auto table : kTables) read(table);
  link();
}

const TableProvider* EventTable::provider(std::string_view name) const {
  for (const auto& provider : providers_)
    if (provider.name == name) return &provider;
  return nullptr;
}

const TableEvent* EventTable::find(std::string_view provider_name, std::uint32_t id,
                                   std::uint32_t version, std::string_view name) const {
  const auto* found = provider(provider_name);
  if (found == nullptr) return nullptr;
  const TableEvent* best = nullptr;
  for (const auto& event : found->events) {
    const bool by_number = event.id_text.front() >= '0' && event.id_text.front() <= '9';
    if (by_number ? event.id != id : event.id_text != name) continue;
    if (best == nullptr || event.version <= version) best = &event;
  }
  // Self-describing sources number their events as they come.
  if (best == nullptr && !name.empty())
    for (const auto& event : found->events)
      if (event.symbol == name) best = &event;
  return best;
}

const ValueNames* EventTable::names(std::string_view name) const {
  for (const auto& names : names_)
    if (names.name == name) return &names;
  return nullptr;
}

const EventTable& event_table() {
  static const EventTable table;
  return table;
}

}  // namespace clrscope::nettrace
