// A server that understands as much of ClickHouse's HTTP interface as migrations and retention ask,
// and that can fail at any statement.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "net/http_server.h"
#include "store/clickhouse/node.h"
#include "store/clickhouse/row_binary.h"

namespace clrscope::store {

class FakeClickhouse {
 public:
  struct Part {
    std::string table{};
    std::int64_t partition = 0;
    std::uint64_t bytes = 0;
  };
  struct Source {  // a row of a process
    std::string service = "shop", host = "web-1", instance = "0A";
    std::int64_t received = 0;
    std::string key() const {
      return "(" + store::quoted(service) + "," + store::quoted(host) + "," +
             store::quoted(instance) + ")";
    }
  };
  struct State {
    std::vector<std::uint32_t> versions{};           // of the tables
    std::vector<std::int64_t> rolled{};              // since when roll-ups are complete
    std::vector<std::int64_t> flames{};              // since when those of call paths are
    std::string engine = "18.16.1";                  // version of the server
    std::map<std::uint32_t, std::string> engines{};  // for which the views were made
    std::vector<Part> parts{};
    std::vector<Source> sources{};
    std::map<std::string, std::string> created{};  // text of CREATE, by name
    bool from_table = false;                       // a view of what a view writes reads the table
    // Asked first; true: it has answered.
    std::function<bool(std::string_view sql, ByteWriter& out)> answer{};
    // Asked before all else; true: it answers in its own way.
    std::function<bool(std::string_view sql, net::HttpReply& reply)> take_over{};
    std::size_t changes = 0;                   // statements that change something
    std::size_t fails_from = ~std::size_t{0};  // this change, and all that comes after it
  };

  FakeClickhouse() {
    net::HttpServerSetting setting;
    setting.endpoints.push_back({.address = {.host = "127.0.0.1", .port = "0"}});
    server_ =
        net::HttpServer::start(setting, [this](net::HttpRequest request, net::HttpReply reply) {
          if (is_hung_) return held_.with([&](auto& held) { held.push_back(std::move(reply)); });
          state_.with([&](State& state) {
            if (state.take_over && state.take_over(request.body, reply)) return;
            reply.send(answer(state, request.body));
          });
        }).value();
  }
  ~FakeClickhouse() { release(); }
  std::string url() const { return "http://" + server_->addresses()[0].text(); }
  State state() const {
    return state_.with([](const State& state) { return state; });
  }
  template <class F>
  void change(F&& how) {
    state_.with(how);
  }

  // Takes requests from now on, and does not answer.
  void hang() { is_hung_ = true; }
  std::size_t held() const {
    return held_.with([](const auto& held) { return held.size(); });
  }
  // Somebody still wants what it does not answer.
  bool is_waited_for() const {
    return held_.with([](const auto& held) {
      return std::ranges::any_of(held, [](const auto& reply) { return !reply.gone(); });
    });
  }
  void release() {
    is_hung_ = false;
    for (auto& reply : held_.with([](auto& held) { return std::exchange(held, {}); }))
      reply.send({.status = 500, .body = "Code: 999, e.displayText() = DB::Exception: it hung"});
  }

 private:
  static net::HttpResponse answer(State& state, std::string_view body) {
    if (!body.starts_with("SELECT")) ++state.changes;
    if (state.changes >= state.fails_from)
      return {.status = 500, .body = "Code: 999, e.displayText() = DB::Exception: it ends here"};
    const auto data = body.find(" FORMAT RowBinary\n");
    const auto sql = body.substr(0, data);
    const auto rows = data == std::string_view::npos ? std::string_view{} : body.substr(data + 18);
    ByteWriter out;
    run(state, sql, as_bytes(rows), out);
    return {.body = std::string{as_text(out.bytes())}};
  }

  static void run(State& state, std::string_view sql, Bytes rows, ByteWriter& out) {
    const auto is = [&](std::string_view begin) { return sql.starts_with(begin); };
    ByteReader in{rows};
    if (state.answer && state.answer(sql, out)) return;
    if (is("SELECT count() FROM system.tables")) {
      out.write(std::uint64_t{state.versions.empty() ? 0U : 1U});
    } else if (is("SELECT version, cluster, ledger FROM meta")) {
      if (state.versions.empty()) return;
      out.write(*std::max_element(state.versions.begin(), state.versions.end()));
      write_text(out, "");
      out.write(std::uint32_t{1});
    } else if (is("SELECT max(since) FROM meta_rolled")) {
      out.write(latest(state.rolled));
    } else if (is("SELECT max(since) FROM meta_flame")) {
      out.write(latest(state.flames));
    } else if (is("INSERT INTO meta_flame ")) {
      state.flames.push_back(in.read<std::int64_t>());
    } else if (is("SELECT version()")) {
      write_text(out, state.engine);
    } else if (is("SELECT max(number) FROM meta_engine")) {
      out.write(state.engines.empty() ? std::uint32_t{0} : state.engines.rbegin()->first);
    } else if (is("INSERT INTO meta_engine ")) {
      const auto number = in.read<std::uint32_t>();
      state.engines[number] = std::string{as_text(in.take(in.read_varuint()))};
    } else if (is("SELECT engine, version() FROM meta_engine")) {
      if (state.engines.empty()) return;
      write_text(out, state.engines.rbegin()->second);
      write_text(out, state.engine);
    } else if (is("SELECT count() FROM system.columns")) {
      out.write(std::uint64_t{1});
    } else if (is("SELECT count() FROM system.mutations")) {
      out.write(std::uint64_t{0});
    } else if (is("INSERT INTO meta_rolled ")) {
      state.rolled.push_back(in.read<std::int64_t>());
    } else if (is("INSERT INTO meta ")) {
      state.versions.push_back(in.read<std::uint32_t>());
    } else if (is("CREATE TABLE ") || is("CREATE MATERIALIZED VIEW ")) {
      const auto begin = sql.find("EXISTS ") + 7;
      state.created.try_emplace(std::string{sql.substr(begin, sql.find(' ', begin) - begin)}, sql);
    } else if (is("DROP TABLE IF EXISTS ")) {
      state.created.erase(std::string{sql.substr(21)});
    } else if (is("SELECT create_table_query FROM system.tables")) {
      const auto found = state.created.find("flame_feed_to_flame_5m");
      if (found != state.created.end()) write_text(out, found->second);
    } else if (is("SELECT count() FROM cascade_out")) {
      out.write(std::uint64_t{state.from_table ? 1U : 0U});
    } else if (is("SELECT DISTINCT toInt64(partition) FROM system.parts")) {
      std::set<std::int64_t> found;
      for (const auto& part : state.parts)
        if (names(sql, part)) found.insert(part.partition);
      for (const auto one : found) out.write(one);
    } else if (is("SELECT table, toInt64OrZero(partition) AS day, sum(bytes_on_disk)")) {
      for (const auto& part : state.parts) {
        write_text(out, part.table);
        out.write(part.partition);
        out.write(part.bytes);
      }
    } else if (is("SELECT sum(bytes_on_disk)")) {
      std::uint64_t bytes = 0;
      for (const auto& part : state.parts) bytes += part.bytes;
      out.write(bytes);
    } else if (is("SELECT service, host, hex(instance) AS process FROM source")) {
      write_silent(state, number_after(sql, "max(received) < "), out);
    } else if (is("SELECT DISTINCT service, host, hex(instance) AS process FROM source")) {
      const auto since = number_after(sql, "received >= ");
      for (const auto& one : state.sources)
        if (one.received >= since && sql.find(one.key()) != std::string_view::npos)
          write_process(one, out);
    } else if (is("ALTER TABLE source DELETE WHERE ")) {
      const auto at = sql.find("received < ");
      std::erase_if(state.sources, [&](const Source& one) {
        return sql.find(one.key()) != std::string_view::npos &&
               (at == std::string_view::npos || one.received < number_after(sql, "received < "));
      });
    } else if (is("ALTER TABLE ")) {
      std::erase_if(state.parts, [&](const Part& part) {
        return sql ==
               "ALTER TABLE " + part.table + " DROP PARTITION " + std::to_string(part.partition);
      });
    }
  }

  static std::int64_t latest(const std::vector<std::int64_t>& times) {
    std::int64_t most = 0;
    for (const auto one : times) most = std::max(most, one);
    return most;
  }

  // Processes of which all rows are older.
  static void write_silent(const State& state, std::int64_t since, ByteWriter& out) {
    std::map<std::string, Source> latest;
    for (const auto& one : state.sources) {
      auto& last = latest.try_emplace(one.key(), one).first->second;
      last.received = std::max(last.received, one.received);
    }
    for (const auto& [key, one] : latest)
      if (one.received < since) write_process(one, out);
  }
  static void write_process(const Source& one, ByteWriter& out) {
    for (const auto& text : {one.service, one.host, one.instance}) write_text(out, text);
  }
  static std::int64_t number_after(std::string_view sql, std::string_view text) {
    const auto at = sql.find(text);
    return at == std::string_view::npos ? 0
                                        : std::stoll(std::string{sql.substr(at + text.size(), 20)});
  }
  static bool names(std::string_view sql, const Part& part) {
    return sql.find(store::quoted(part.table)) != std::string_view::npos;
  }

  Guarded<State> state_;
  std::atomic<bool> is_hung_{false};
  Guarded<std::vector<net::HttpReply>> held_;
  std::unique_ptr<net::HttpServer> server_;  // last: ends first
};

}  // namespace clrscope::store
