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
constexpr std::size_t kFirstPiece =
    256 << 10;  // a server that breaks off within it is replaced by another one

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

ClickhouseNode::Client ClickhouseNode::take_client(Use use) {
  Client client;
  if (use == Use::kSelect || use == Use::kRun)
    client = idle_[use == Use::kSelect ? 0 : 1].with([](auto& clients) -> Client {
      if (clients.empty()) return nullptr;
      auto one = std::move(clients.back());
      clients.pop_back();
      return one;
    });
  if (client) return client;
  auto url = url_;
  url.path = path_for(use);
  return std::make_unique<net::HttpClient>(std::move(url));
}

void ClickhouseNode::keep_client(Use use, Client client) {
  if (use != Use::kSelect && use != Use::kRun) return;
  idle_[use == Use::kSelect ? 0 : 1].with([&](auto& clients) {
    if (clients.size() < 8) clients.push_back(std::move(client));
  });
}

Failure ClickhouseNode::unanswered(const Error& error, std::chrono::nanoseconds waited) {
  if (error.code == Errc::kTooLarge) {
    rests_until_ = 0;
    return fail(Errc::kTooLarge, "ClickHouse {}: the answer is larger than {} MB", name(),
                kLargestHeld >> 20)
        .hint("choose a shorter time");
  }
  // One that hangs costs more than one that refuses: it is left alone longer.
  rests_until_ = steady_ns() + std::max<std::int64_t>(std::chrono::nanoseconds{kRest}.count(),
                                                      3 * waited.count());
  return fail(Errc::kSystem, "ClickHouse {}: {}", name(), error.what)
      .hint("check that the server runs and that --store has its HTTP address");
}

class ClickhouseNode::Statement {
 public:
  Statement(ClickhouseNode& node, Use use, std::uint64_t limit)
      : node_(node),
        use_(use),
        stop_(stops(use) ? CancelScope::current() : std::stop_token{}),
        left_(use == Use::kRun ? std::chrono::seconds{10} : patience_of_select()),
        client_(node.take_client(use)) {
    client_->limit_answer(limit);
    if (use != Use::kSelect) return;
    query_ = new_query_id();
    client_->set_path(node.path_for(use) + "&query_id=" + query_);
  }
  ~Statement() { give_up(); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Until the engine has the answer.
  Result<> begin(std::string_view body) {
    if (stop_.stop_requested()) {
      client_.reset();
      return cancelled();
    }
    std::vector<net::HttpField> fields;
    if (!node_.access_.user.empty()) fields.push_back({"X-ClickHouse-User", node_.access_.user});
    if (!node_.access_.password.empty())
      fields.push_back({"X-ClickHouse-Key", node_.access_.password});
    const auto head = TRY(waiting(
        [&](const Deadline& deadline) { return client_->begin("POST", fields, body, deadline); }));
    if (head.status == 200) return {};
    std::string problem;
    while (TRY(more(problem))) {
    }
    return fail(error_of(node_.name(), head.status, problem));
  }

  // Appends what follows; false: nothing does.
  Result<bool> more(std::string& into) {
    if (!client_) return false;
    const bool any =
        TRY(waiting([&](const Deadline& deadline) { return client_->more(into, deadline); }));
    if (any) return true;
    node_.rests_until_ = 0;
    node_.keep_client(use_, std::move(client_));
    return false;
  }

 private:
  static bool stops(Use use) {
    return use == Use::kSelect ||
           (use == Use::kRun && CancelScope::what() == CancelScope::What::kAll);
  }

  template <class Step>
  auto waiting(Step&& step) -> decltype(step(std::declval<const Deadline&>())) {
    const auto began = steady_ns();
    auto result = [&] {
      const std::stop_callback leave{stop_, [&] { client_->interrupt(); }};
      return step(Deadline{left_});
    }();
    const std::chrono::nanoseconds waited{steady_ns() - began};
    left_ -= waited;
    if (stop_.stop_requested()) {
      give_up();
      return cancelled();
    }
    if (!result) {
      client_.reset();  // the engine sees that the connection is closed
      return node_.unanswered(result.error(), waited);
    }
    return result;
  }

  // The engine would go on.
  void give_up() {
    if (!client_) return;
    client_.reset();
    if (use_ != Use::kSelect || CancelScope::what() == CancelScope::What::kAll) return;
    const CancelScope none{{}};
    const auto kill = fmt::format("KILL QUERY WHERE query_id = {} ASYNC", quoted(query_));
    if (const auto done = node_.run(kill); !done) log_error(done.error());
  }

  ClickhouseNode& node_;
  const Use use_;
  const std::stop_token stop_;
  std::chrono::nanoseconds left_;  // to wait for the server, in all
  Client client_;                  // none: it ended
  std::string query_;              // its id in the engine
};

Result<std::string> ClickhouseNode::ask(Use use, std::string_view body) {
  Statement statement{*this, use, kLargestHeld};
  TRY(statement.begin(body));
  std::string answer;
  while (TRY(statement.more(answer))) {
  }
  return answer;
}

Result<Pieces> ClickhouseNode::select(const std::string& sql, std::uint64_t limit) {
  const auto statement = std::make_shared<Statement>(*this, Use::kSelect, limit);
  TRY(statement->begin(sql));
  Pieces pieces;
  while (pieces.held.size() < kFirstPiece)
    if (!TRY(statement->more(pieces.held))) return pieces;
  pieces.more = [statement](std::string& into) { return statement->more(into); };
  return pieces;
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
