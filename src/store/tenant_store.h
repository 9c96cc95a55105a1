// Where each tenant's requests lie: a store of its own, so that no query can reach another's.
//
// sqlite:FOLDER holds one file per tenant, clickhouse:URL one database per tenant.
// docs/adr/0009-tenants.md
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace clrscope::store {

// Names become file and database names: 1 to 32 of a-z, 0-9 and _, a letter first.
bool is_tenant_name(std::string_view name);

// For open_store() and migrate_store(). Creates the folder of a SQLite store.
Result<std::string> tenant_store(const std::string& where, const std::string& tenant);

}  // namespace clrscope::store
