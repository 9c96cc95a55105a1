// One ClickHouse server, by its HTTP interface. Any thread.
//
// A statement runs with bounds on time and memory. What it answers is RowBinary unless the
// statement names another format.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/guarded.h"
#include "base/result.h"
#include "net/http_client.h"
#include "store/clickhouse/row_binary.h"
#include "store/store.h"

namespace clrscope::store {

struct ClickhouseAccess {
  std::string database = "clrscope";
  std::string user{};
  std::string password{};
  std::uint64_t query_memory = QueryLimits{}.memory;
};

// Bytes of an answer that is held in memory, whole or as what was made of it.
inline constexpr std::uint64_t kLargestHeld = 64 << 20;
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};  // of one that is passed on

class ClickhouseNode {
 public:
  ClickhouseNode(net::HttpUrl url, const ClickhouseAccess& access);

  // Reads; may be sent twice. A short answer is whole when it returns; of a long one the rest comes
  // as it is asked for. If it is given up before its end, the query is killed.
  Result<Pieces> select(const std::string& sql, std::uint64_t limit = kLargestHeld);
  // Small statements that may run twice: the ledger's, and DDL.
  Result<std::string> run(const std::string& sql, std::string_view rows = {});
  // Sent at most once: if the connection breaks, it is unknown whether the rows were stored.
  Result<> insert(const std::string& into, Bytes rows);
  // DDL of the database itself, which need not exist.
  Result<> create_database();

  // It did not answer lately: others go first.
  bool resting() const;
  std::string name() const { return url_.address.text(); }
  const std::string& database() const { return access_.database; }

 private:
  enum class Use : std::uint8_t { kSelect, kRun, kInsert, kOutside };
  using Client = std::unique_ptr<net::HttpClient>;

  class Statement;  // that runs, or whose answer is being read

  Result<std::string> ask(Use use, std::string_view body);
  Client take_client(Use use);
  void keep_client(Use use, Client client);
  Failure unanswered(const Error& error, std::chrono::nanoseconds waited);
  std::string path_for(Use use) const;

  const net::HttpUrl url_;
  const ClickhouseAccess access_;
  Guarded<std::vector<Client>> idle_[2];  // of kSelect and kRun
  std::atomic<std::int64_t> rests_until_{0};
};

// A value in SQL.
std::string quoted(std::string_view text);
// "{db}.request" → "clrscope.request"
std::string replace_all(std::string_view text, std::string_view from, std::string_view to);

}  // namespace clrscope::store
