// A connection to SQLite and its statements. One connection belongs to one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace clrscope::store {

class Database;

class Statement {
 public:
  // Binds from 1 on.
  template <class... Args>
  Statement& bind(const Args&... args) {
    reset();
    int at = 0;
    (set(++at, args), ...);
    return *this;
  }
  Result<bool> step();  // true: a row is there
  Result<> run();       // to the end

  std::int64_t integer(int column) const;
  std::uint64_t count(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  std::string text(int column) const;
  Bytes blob(int column) const;  // lives until the next step
  void reset();

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(Database* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}
  void set(int at, std::int64_t value);
  void set(int at, std::uint64_t value) { set(at, static_cast<std::int64_t>(value)); }
  void set(int at, std::uint32_t value) { set(at, static_cast<std::int64_t>(value)); }
  void set(int at, const std::string& text);  // text; not copied
  void set(int at, Bytes blob);               // not copied

  Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  enum class Mode { kWrite, kRead };
  static Result<std::unique_ptr<Database>> open(const std::string& path, Mode mode);

  Result<Statement> prepare(std::string_view sql);
  Result<> run(const char* sql);  // several statements
  Failure failure() const;        // the last one
  const std::string& path() const { return path_; }
  void interrupt();  // any thread: ends the statement that runs
  bool in_transaction() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::unique_ptr<sqlite3, Close> database_;
};

// Rolls back unless it was committed.
class Transaction {
 public:
  static Result<Transaction> begin(Database& database, const char* how = "BEGIN IMMEDIATE");
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  Result<> commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_;
};

}  // namespace clrscope::store
