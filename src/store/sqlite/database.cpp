#include "store/sqlite/database.h"

#include <sqlite3.h>

#include "base/log.h"
#include "store/cancel.h"

namespace clrscope::store {
namespace {

constexpr int kBusyMs = 10'000;  // readers never wait in WAL; another writer may be a copy tool

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

void Statement::reset() { sqlite3_reset(statement_.get()); }

Result<bool> Statement::step() {
  const int got = sqlite3_step(statement_.get());
  if (got == SQLITE_ROW) return true;
  if (got == SQLITE_DONE) {
    reset();
    return false;
  }
  auto failure = database_->failure();
  reset();
  return failure;
}

Result<> Statement::run() {
  while (TRY(step())) {
  }
  return {};
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}
std::string Statement::text(int column) const { return std::string{as_text(blob(column))}; }
Bytes Statement::blob(int column) const {
  const auto* data =
      static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_.get(), column));
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void Statement::set(int at, std::int64_t value) {
  CHECK(sqlite3_bind_int64(statement_.get(), at, value) == SQLITE_OK);
}
void Statement::set(int at, const std::string& text) {
  CHECK(sqlite3_bind_text64(statement_.get(), at, text.data(), text.size(), SQLITE_STATIC,
                            SQLITE_UTF8) == SQLITE_OK);
}
void Statement::set(int at, Bytes blob) {
  const auto* data = blob.empty() ? reinterpret_cast<const std::uint8_t*>("") : blob.data();
  CHECK(sqlite3_bind_blob64(statement_.get(), at, data, blob.size(), SQLITE_STATIC) == SQLITE_OK);
}

Result<std::unique_ptr<Database>> Database::open(const std::string& path, Mode mode) {
  std::unique_ptr<Database> made{new Database{path}};  // its constructor is private
  sqlite3* raw = nullptr;
  const int flags =
      (mode == Mode::kWrite ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) |
      SQLITE_OPEN_NOMUTEX;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  made->database_.reset(raw);
  if (opened != SQLITE_OK) return made->failure();
  sqlite3_busy_timeout(raw, kBusyMs);
  return made;
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(database_.get(), sql.data(), static_cast<int>(sql.size()), 0, &raw,
                         nullptr) != SQLITE_OK)
    return failure();
  return Statement{this, raw};
}

Result<> Database::run(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failure();
  return {};
}

bool Database::in_transaction() const { return ::sqlite3_get_autocommit(database_.get()) == 0; }
void Database::interrupt() { sqlite3_interrupt(database_.get()); }

Failure Database::failure() const {
  const int code = database_ ? sqlite3_errcode(database_.get()) : SQLITE_NOMEM;
  if (code == SQLITE_INTERRUPT) return cancelled();
  const auto kind = code == SQLITE_FULL                               ? Errc::kNoRoom
                    : code == SQLITE_BUSY                             ? Errc::kBusy
                    : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? Errc::kCorrupt
                    : code == SQLITE_PERM || code == SQLITE_READONLY  ? Errc::kDenied
                                                                      : Errc::kSystem;
  return fail(kind, "{}: {}", path_,
              database_ ? sqlite3_errmsg(database_.get()) : sqlite3_errstr(code));
}

Result<Transaction> Transaction::begin(Database& database, const char* how) {
  TRY(database.run(how));
  return Transaction{&database};
}
Result<> Transaction::commit() {
  TRY(database_->run("COMMIT"));
  database_ = nullptr;
  return {};
}
Transaction::~Transaction() {
  // SQLite may have rolled back by itself, as it does when the disk is full.
  if (database_ != nullptr && !database_->run("ROLLBACK"))
    log(LogLevel::kDebug, "{}: was rolled back already", database_->path());
}

}  // namespace clrscope::store
