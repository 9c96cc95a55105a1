// What is known of the runtime's and its libraries' events without being told by the trace: names,
// keywords, levels, fields, and the names of values. Kept as text in tables/*.events, read once on
// first use, never changed. What a line means: tables/README.md
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace clrscope::nettrace {

struct ValueName {
  std::string_view name;
  std::int64_t value;
};

// The names of an enumeration's values, or of a flag word's bits, smallest value first.
struct ValueNames {
  std::string_view name;
  bool flags = false;
  std::vector<ValueName> values{};
};

struct TableEvent {
  std::string_view id_text{};  // a number; the event's name where ids are not stable
  std::uint32_t id = 0;
  std::uint32_t version = 0;
  std::uint8_t level = 0;
  std::uint64_t keywords = 0;
  std::string_view name{};           // as TraceEvent prints it: "GC/Start"
  std::string_view symbol{};         // as the runtime's manifest has it: "GCStart_V2"
  std::string_view fields{};         // its own; those of `base` come first
  const TableEvent* base = nullptr;  // the version it extends
};

struct KeywordName {
  std::string_view name;
  std::uint64_t mask;
};

struct TableProvider {
  std::string_view name;
  std::string_view guid;
  std::vector<KeywordName> keywords{};
  std::vector<TableEvent> events{};  // by id, then version
};

class EventTable {
 public:
  EventTable();
  EventTable(const EventTable&) = delete;
  EventTable& operator=(const EventTable&) = delete;

  std::span<const TableProvider> providers() const { return providers_; }
  const TableProvider* provider(std::string_view name) const;

  // The version asked for; else the highest below it, since later versions only add at the end;
  // else the lowest there is. `name` (the trace's) finds events whose ids are not stable.
  const TableEvent* find(std::string_view provider, std::uint32_t id, std::uint32_t version,
                         std::string_view name = {}) const;
  const ValueNames* names(std::string_view name) const;
  std::span<const ValueNames> all_names() const { return names_; }

 private:
  void read(std::string_view text);
  void link();

  std::vector<TableProvider> providers_;
  std::vector<ValueNames> names_;
};

const EventTable& event_table();

}  // namespace clrscope::nettrace
