#include "store/clickhouse/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "base/log.h"
#include "base/text.h"
#include "store/cancel.h"

namespace clrscope::store {
namespace {

constexpr std::chrono::seconds kRest{2};  // after it did not answer, at least
constexpr int kSelectSeconds = 30;
constexpr std::uint64_t kLargestAnswer = 64 << 20;

std::chrono::seconds patience_of_select() { return std::chrono::seconds{kSelectSeconds + 5}; }

// "Code: 241, e.displayText() = DB::Exception: Memory limit …, e.what() = …"
Error error_of(std::string_view node, int status, std::string_view body) {
  std::uint64_t code = 0;
  if (body.starts_with("Code: "))
    code = parse_number(body.substr(6, body.find_first_not_of("0123456789", 6) - 6)).value_or(0);
  constexpr std::string_view kBegin = "DB::Exception: ";
  auto text = body;
  if (const auto at = text.find(kBegin); at != std::string_view::npos)
    text.remove_prefix(at + kBegin.size());
  text = text.substr(0, std::min({text.find(", e.what()"), text.find('\n'), std::size_t{300}}));
  // Too many rows, timeout, memory, too many bytes.
  if (code == 158 || code == 159 || code == 241 || code == 307)
    return {Errc::kTooLarge, fmt::format("ClickHouse {}: the query needs too much: {}", node, text),
            code == 241 ? "choose a shorter time, or start the fleet server with a larger "
                          "--query-memory"
                        : "choose a shorter time"};
  if (code == 516 || code == 192 || code == 193 || status == 401 || status == 403)
    return {Errc::kDenied, fmt::format("ClickHouse {}: {}", node, text),
            "set CLRSCOPE_CLICKHOUSE_USER and CLRSCOPE_CLICKHOUSE_PASSWORD"};
  // No such database or table.
  if (code == 81 || code == 60)
    return {Errc::kNotFound, fmt::format("ClickHouse {}: {}", node, text),
            "create the tables with: clrscope fleet migrate --store clickhouse:URL"};
  return {Errc::kSystem, fmt::format("ClickHouse {}: {} (code {})", node, text, code)};
}

std::string new_query_id() {
  static const auto process = std::random_device{}();
  static std::atomic<std::uint64_t> last{0};
  return fmt::format("clrscope-{:08x}-{}", process, ++last);
}

std::int64_t steady_ns() { return TraceClock::now().time_since_epoch().count(); }

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    if (c == '\0')
      out += "\\0";
    else
      out += c;
  }
  return out + "'";
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (auto at = text.find(from); at != std::string_view::npos; at = text.find(from)) {
    out.append(text.substr(0, at)).append(to);
    text.remove_prefix(at + from.size());
  }
  return out.append(text);
}

ClickhouseNode::ClickhouseNode(net::HttpUrl url, const ClickhouseAccess& access)
    : url_(std::move(url)), access_(access) {}

bool ClickhouseNode::resting() const { return steady_ns() < rests_until_; }

std::string ClickhouseNode::path_for(Use use) const {
  auto path = url_.path.substr(0, url_.path.find('?'));
  path += "?wait_end_of_query=1&default_format=RowBinary";
  if (use != Use::kOutside) path += "&database=" + access_.database;
  const auto spill = access_.query_memory / 2;  // then GROUP BY goes to disk
  if (use == Use::kSelect)
    path += fmt::format(
        "&readonly=2&max_execution_time={}&max_memory_usage={}&max_bytes_before_external_group_by="
        "{}&max_bytes_before_external_sort={}&max_query_size=16000000&max_ast_elements=10000000&"
        "max_expanded_ast_elements=10000000&distributed_product_mode=deny",
        kSelectSeconds, access_.query_memory, spill, spill);
  if (use == Use::kRun) path += "&max_execution_time=10&max_query_size=16000000";
  if (use == Use::kInsert)
    path +=
        "&insert_distributed_sync=1&max_execution_time=30&insert_distributed_timeout=30&"
        "parallel_view_processing=1";
  return path;
}

ClickhouseNode::Client ClickhouseNode::make_client(Use use) const {
  auto url = url_;
  url.path = path_for(use);
  auto client = std::make_unique<net::HttpClient>(std::move(url));
  client->limit_answer(kLargestAnswer);
  return client;
}

Result<std::string> ClickhouseNode::ask(Use use, std::string_view body) {
  const bool kept = use == Use::kSelect || use == Use::kRun;
  auto& idle = idle_[use == Use::kSelect ? 0 : 1];
  Client client;
  if (kept)
    client = idle.with([](auto& clients) -> Client {
      if (clients.empty()) return nullptr;
      auto one = std::move(clients.back());
      clients.pop_back();
      return one;
    });
  if (!client) client = make_client(use);
  std::vector<net::HttpField> fields;
  if (!access_.user.empty()) fields.push_back({"X-ClickHouse-User", access_.user});
  if (!access_.password.empty()) fields.push_back({"X-ClickHouse-Key", access_.password});
  const Deadline deadline{use == Use::kRun ? std::chrono::seconds{10} : patience_of_select()};
  const auto began = steady_ns();
  const bool stops =
      use == Use::kSelect || (use == Use::kRun && CancelScope::what() == CancelScope::What::kAll);
  const auto stop = stops ? CancelScope::current() : std::stop_token{};
  if (stop.stop_requested()) return cancelled();
  std::string query;
  if (use == Use::kSelect) {
    query = new_query_id();
    client->set_path(path_for(use) + "&query_id=" + query);
  }
  auto answer = [&] {
    const std::stop_callback leave{stop, [&] { client->interrupt(); }};
    return client->ask("POST", fields, body, deadline);
  }();
  if (stop.stop_requested()) {
    if (CancelScope::what() == CancelScope::What::kAll) return cancelled();
    const CancelScope none{{}};  // the engine would go on
    const auto kill = fmt::format("KILL QUERY WHERE query_id = {} ASYNC", quoted(query));
    if (const auto done = ask(Use::kRun, kill); !done) log_error(done.error());
    return cancelled();
  }
  if (!answer && answer.error().code == Errc::kTooLarge) {
    rests_until_ = 0;
    return fail(Errc::kTooLarge, "ClickHouse {}: the answer is larger than {} MB", name(),
                kLargestAnswer >> 20)
        .hint("choose a shorter time");
  }
  if (!answer) {
    // One that hangs costs more than one that refuses: it is left alone longer.
    const auto lost = steady_ns() - began;
    rests_until_ = steady_ns() + std::max(std::chrono::nanoseconds{kRest}.count(), 3 * lost);
    return fail(Errc::kSystem, "ClickHouse {}: {}", name(), answer.error().what)
        .hint("check that the server runs and that --store has its HTTP address");
  }
  rests_until_ = 0;
  if (kept)
    idle.with([&](auto& clients) {
      if (clients.size() < 8) clients.push_back(std::move(client));
    });
  if (answer->status != 200) return fail(error_of(name(), answer->status, answer->body));
  return std::move(answer->body);
}

Result<std::string> ClickhouseNode::select(const std::string& sql) {
  return ask(Use::kSelect, sql);
}

Result<std::string> ClickhouseNode::run(const std::string& sql, std::string_view rows) {
  if (rows.empty()) return ask(Use::kRun, sql);
  return ask(Use::kRun, fmt::format("{} FORMAT RowBinary\n{}", sql, rows));
}

Result<> ClickhouseNode::insert(const std::string& into, Bytes rows) {
  auto body = fmt::format("INSERT INTO {} FORMAT RowBinary\n", into);
  body.append(as_text(rows));
  TRY(ask(Use::kInsert, body));
  return {};
}

Result<> ClickhouseNode::create_database() {
  TRY(ask(Use::kOutside, "CREATE DATABASE IF NOT EXISTS " + access_.database));
  return {};
}

}  // namespace clrscope::store
