#include "store/clickhouse/cascade.h"

#include "base/text.h"
#include "store/clickhouse/flame_rollup.h"
#include "store/clickhouse/row_binary.h"

namespace clrscope::store {
namespace {

constexpr std::string_view kTrial[] = {
    "CREATE TABLE IF NOT EXISTS cascade_in (x UInt8) ENGINE = Null",
    "CREATE TABLE IF NOT EXISTS cascade_middle (x UInt8) ENGINE = Null",
    "CREATE TABLE IF NOT EXISTS cascade_out (x UInt8) ENGINE = Memory",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS cascade_first TO {db}.cascade_middle AS SELECT x FROM "
    "{db}.cascade_in",
    "CREATE MATERIALIZED VIEW IF NOT EXISTS cascade_second TO {db}.cascade_out AS SELECT x FROM "
    "{db}.cascade_middle",
};
constexpr std::string_view kTrialTables[] = {"cascade_second", "cascade_first", "cascade_out",
                                             "cascade_middle", "cascade_in"};

struct Source {
  std::string_view feed{}, fives{};
};
Source source_of(Cascade cascade) {
  if (cascade == Cascade::kFromView) return {"request_to_flame_feed", "flame_feed_to_flame_5m"};
  return {"flame_feed", "flame_5m"};
}

Result<> drop(ClickhouseNode& node, std::span<const std::string_view> tables) {
  for (const auto table : tables) TRY(node.run(fmt::format("DROP TABLE IF EXISTS {}", table)));
  return {};
}

}  // namespace

Result<Cascade> cascade_of(ClickhouseNode& node) {
  TRY(drop(node, kTrialTables));  // of a migration that was interrupted
  for (const auto text : kTrial) TRY(node.run(replace_all(text, "{db}", node.database())));
  TRY(node.run("INSERT INTO cascade_in (x)", std::string_view{"\1", 1}));
  Rows rows{TRY(node.run("SELECT count() FROM cascade_out"))};
  const bool arrived = rows.number<std::uint64_t>() > 0;
  TRY(rows.done());
  TRY(drop(node, kTrialTables));
  return arrived ? Cascade::kFromTable : Cascade::kFromView;
}

Result<bool> has_stale_views(ClickhouseNode& node, Cascade cascade) {
  if (cascade == Cascade::kFromView) return false;
  Rows rows{TRY(node.run(
      fmt::format("SELECT create_table_query FROM system.tables WHERE database = {} AND name = "
                  "'flame_feed_to_flame_5m'",
                  quoted(node.database()))))};
  if (!rows.more()) return false;
  const auto text = rows.text();
  TRY(rows.done());
  return text.find(source_of(Cascade::kFromView).feed) != std::string::npos;
}

Result<> drop_stale_views(ClickhouseNode& node) {
  constexpr std::string_view kViews[] = {"flame_5m_to_flame_1h", "flame_feed_to_flame_5m"};
  return drop(node, kViews);
}

Result<> create_flame_views(ClickhouseNode& node, Cascade cascade) {
  const auto source = source_of(cascade);
  for (const auto view : kFlameViews) {
    auto text = replace_all(view, "{db}", node.database());
    text = replace_all(replace_all(text, "{feed}", source.feed), "{fives}", source.fives);
    TRY(node.run(text));
  }
  return {};
}

}  // namespace clrscope::store
