#include "store/sqlite/sqlite_store.h"

namespace clrscope::store {

// Older servers do not know these tables and leave them alone.
Result<> SqliteStore::prepare_configurations() {
  return writer_->run(R"sql(
CREATE TABLE IF NOT EXISTS configuration(
  service TEXT NOT NULL, version INTEGER NOT NULL, time INTEGER NOT NULL, who TEXT NOT NULL,
  comment TEXT NOT NULL, percent INTEGER NOT NULL, settings TEXT NOT NULL, PRIMARY KEY(service, version)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS agent(
  service TEXT NOT NULL, host TEXT NOT NULL, instance TEXT NOT NULL, configuration INTEGER NOT NULL,
  trouble TEXT NOT NULL, time INTEGER NOT NULL, PRIMARY KEY(service, host, instance)) WITHOUT ROWID;
)sql");
}

Result<bool> SqliteStore::add_configuration(const ConfigurationChange& change) {
  const std::lock_guard lock{writing_};
  auto add =
      TRY(writer_->prepare("INSERT OR IGNORE INTO configuration(service, version, time, who, "
                           "comment, percent, settings) VALUES(?, ?, ?, ?, ?, ?, ?) "
                           "RETURNING version"));
  add.bind(change.service, change.version,
           static_cast<std::int64_t>(change.time.time_since_epoch().count()), change.who,
           change.comment, change.percent, change.settings);
  const bool added = TRY(add.step());
  TRY(add.run());
  return added;
}

Result<std::vector<ConfigurationChange>> SqliteStore::configurations() {
  return reading([&](Database& database) -> Result<std::vector<ConfigurationChange>> {
    auto rows =
        TRY(database.prepare("SELECT service, version, time, who, comment, percent, settings FROM "
                             "configuration ORDER BY service, version"));
    std::vector<ConfigurationChange> found;
    while (TRY(rows.step()))
      found.push_back({.service = rows.text(0),
                       .version = rows.count(1),
                       .time = WallTime{std::chrono::nanoseconds{rows.integer(2)}},
                       .who = rows.text(3),
                       .comment = rows.text(4),
                       .percent = static_cast<std::uint32_t>(rows.integer(5)),
                       .settings = rows.text(6)});
    return found;
  });
}

Result<> SqliteStore::note_agents(std::span<const AgentState> states) {
  const std::lock_guard lock{writing_};
  auto transaction = TRY(Transaction::begin(*writer_));
  auto note =
      TRY(writer_->prepare("INSERT OR REPLACE INTO agent(service, host, instance, configuration, "
                           "trouble, time) VALUES(?, ?, ?, ?, ?, ?)"));
  for (const auto& state : states)
    TRY(note.bind(state.service, state.host, state.instance, state.configuration, state.trouble,
                  static_cast<std::int64_t>(state.time.time_since_epoch().count()))
            .run());
  return transaction.commit();
}

Result<std::vector<AgentState>> SqliteStore::agents() {
  return reading([&](Database& database) -> Result<std::vector<AgentState>> {
    auto rows = TRY(
        database.prepare("SELECT service, host, instance, configuration, trouble, time FROM agent "
                         "ORDER BY service, host, instance"));
    std::vector<AgentState> found;
    while (TRY(rows.step()))
      found.push_back({.service = rows.text(0),
                       .host = rows.text(1),
                       .instance = rows.text(2),
                       .configuration = rows.count(3),
                       .trouble = rows.text(4),
                       .time = WallTime{std::chrono::nanoseconds{rows.integer(5)}}});
    return found;
  });
}

}  // namespace clrscope::store
