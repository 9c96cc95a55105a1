// Pieces of pages. Whatever text goes in is escaped on its way.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "base/result.h"
#include "http/route.h"

namespace clrscope::http {

// A page's address: base path, and the process that was chosen. `query` is further "a=1&b=2".
std::string page_link(const Call& call, std::string_view path, std::string_view query = {});
std::string page_link(const Call& call, std::string_view path, pid_t pid,
                      std::string_view query = {});
// <a href=…>words</a>; `address` is whole.
std::string anchor(std::string_view address, std::string_view words, std::string_view css = {});

// A paragraph that says what is missing, and below it what to do.
std::string notice(std::string_view what, std::string_view hint = {},
                   std::string_view css = "note");
std::string trouble(const Error& error);

// A value as a query part has it: letters and digits stay, the rest is %XX.
std::string query_escaped(std::string_view text);

// A table from JSON, as the data routes give it.
struct Column {
  std::string_view key;    // member of each row; "a.b" goes into objects
  std::string_view title;  // of the column
  enum class As : std::uint8_t { kWords, kNumber, kCount, kMs, kBytes, kPercent, kTime, kCode };
  As as = As::kWords;
};
// Rows beyond `most` are counted below. No rows: empty text.
std::string table_of(const JsonValue& rows, const std::vector<Column>& columns,
                     std::string_view caption, std::size_t most = 200);
// One value as a cell shows it, escaped.
std::string cell_of(const JsonValue& value, Column::As as);
// Down the members of objects: "a.b"; null when there is none.
const JsonValue* find_below(const JsonValue& value, std::string_view path);

// What a route of ours answers to this caller: pages are made of what tools get. `path` may have a
// query of its own; without one it is the request's.
Result<HttpResponse> ask(Call& call, std::string_view path, std::string_view type);
Result<JsonValue> ask_json(Call& call, std::string_view path);
Result<std::string> ask_text(Call& call, std::string_view path);
bool has_route(const Call& call, std::string_view path);

}  // namespace clrscope::http
