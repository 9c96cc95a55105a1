#include <fmt/format.h>

#include <algorithm>

#include "store/clickhouse/clickhouse_store.h"

namespace clrscope::store {
namespace {

constexpr std::chrono::seconds kPatience{20};

std::int64_t unix_ns(WallTime time) { return time.time_since_epoch().count(); }

}  // namespace

// To another server if one does not answer. Rows may then be there twice: readers take one.
Result<> ClickhouseStore::insert_rows(const std::string& table, Bytes rows) {
  Error last{Errc::kSystem, "no ClickHouse server is named"};
  const Deadline deadline{kPatience};
  const auto first = preferred_.load();
  for (const bool resting : {false, true})
    for (std::size_t i = 0; i < nodes_.size() && !deadline.passed(); ++i) {
      auto& node = *nodes_[(first + i) % nodes_.size()];
      if (node.resting() != resting) continue;
      const auto done = node.insert(schema_.all(table), rows);
      if (done) return {};
      last = done.error();
    }
  return fail(std::move(last));
}

// Servers do not wait for each other: if two of them add the same version at the same instant,
// both rows are there, and all readers take the same one of them.
Result<bool> ClickhouseStore::add_configuration(const ConfigurationChange& change) {
  for (const auto& one : TRY(configurations()))
    if (one.service == change.service && one.version == change.version) return false;
  ByteWriter row;
  write_text(row, change.service);
  row.write(change.version);
  row.write(unix_ns(change.time));
  write_text(row, change.who);
  write_text(row, change.comment);
  row.write(change.percent);
  write_text(row, change.settings);
  TRY(insert_rows("configuration", row.bytes()));
  return true;
}

Result<std::vector<ConfigurationChange>> ClickhouseStore::configurations() {
  Rows rows{TRY(select(fmt::format(
      "SELECT service, version, time, who, comment, percent, settings FROM {} ORDER BY service, "
      "version, time, who, settings",
      schema_.all("configuration"))))};
  std::vector<ConfigurationChange> found;
  while (rows.more()) {
    ConfigurationChange one{.service = rows.text()};
    one.version = rows.number<std::uint64_t>();
    one.time = WallTime{std::chrono::nanoseconds{rows.number<std::int64_t>()}};
    one.who = rows.text();
    one.comment = rows.text();
    one.percent = rows.number<std::uint32_t>();
    one.settings = rows.text();
    if (!found.empty() && found.back().service == one.service &&
        found.back().version == one.version)
      continue;
    found.push_back(std::move(one));
  }
  TRY(rows.done());
  return found;
}

Result<> ClickhouseStore::note_agents(std::span<const AgentState> states) {
  ByteWriter rows;
  for (const auto& state : states) {
    write_text(rows, state.service);
    write_text(rows, state.host);
    write_text(rows, state.instance);
    rows.write(state.configuration);
    write_text(rows, state.trouble);
    rows.write(unix_ns(state.time));
  }
  return insert_rows("agent", rows.bytes());
}

Result<std::vector<AgentState>> ClickhouseStore::agents() {
  Rows rows{TRY(select(fmt::format(
      "SELECT service, host, instance, argMax(configuration, time), argMax(trouble, time), "
      "max(time) FROM {} GROUP BY service, host, instance ORDER BY service, host, instance",
      schema_.all("agent"))))};
  std::vector<AgentState> found;
  while (rows.more()) {
    AgentState one{.service = rows.text(), .host = rows.text(), .instance = rows.text()};
    one.configuration = rows.number<std::uint64_t>();
    one.trouble = rows.text();
    one.time = WallTime{std::chrono::nanoseconds{rows.number<std::int64_t>()}};
    found.push_back(std::move(one));
  }
  TRY(rows.done());
  return found;
}

}  // namespace clrscope::store
