#include "store/tenant_store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/private_folder.h"

namespace clrscope::store {
namespace {

constexpr std::size_t kLongestName = 32;
constexpr std::string_view kSqlite = "sqlite:", kClickhouse = "clickhouse:";
constexpr std::string_view kDatabase = "?database=";

bool is_letter(char c) { return c >= 'a' && c <= 'z'; }

Result<std::string> sqlite_file(const std::string& folder, const std::string& tenant) {
  struct stat state {};
  if (::stat(folder.c_str(), &state) == 0 && !S_ISDIR(state.st_mode))
    return fail(Errc::kUsage, "--store {}{}: with --tenants it must be a folder", kSqlite, folder)
        .hint("name a folder; to keep this file, move it to FOLDER/TENANT.db");
  TRY(make_private_folder(folder, Others::kNothing));
  return fmt::format("{}{}/{}.db", kSqlite, folder, tenant);
}

// The database of the first URL counts for all of them.
std::string clickhouse_urls(std::string_view urls, const std::string& tenant) {
  const auto comma = urls.find(',');
  auto first = urls.substr(0, comma);
  const auto others = comma == std::string_view::npos ? std::string_view{} : urls.substr(comma);
  std::string_view database = "clrscope";
  if (const auto at = first.find(kDatabase); at != std::string_view::npos) {
    database = first.substr(at + kDatabase.size());
    first = first.substr(0, at);
  }
  return fmt::format("{}{}{}{}_{}{}", kClickhouse, first, kDatabase, database, tenant, others);
}

}  // namespace

bool is_tenant_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && is_letter(name.front()) &&
         std::ranges::all_of(
             name, [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

Result<std::string> tenant_store(const std::string& where, const std::string& tenant) {
  if (!is_tenant_name(tenant))
    return fail(Errc::kUsage, "'{}' is not the name of a tenant", tenant)
        .hint("use 1 to 32 of a-z, 0-9 and _, a letter first");
  if (where.starts_with(kSqlite) && where.size() > kSqlite.size())
    return sqlite_file(where.substr(kSqlite.size()), tenant);
  if (where.starts_with(kClickhouse))
    return clickhouse_urls(std::string_view{where}.substr(kClickhouse.size()), tenant);
  return where;  // open_store() says what is wrong with it
}

}  // namespace clrscope::store
