// Answers of ClickHouse as they come: in pieces, damaged, broken off, given up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/cancel.h"
#include "store/clickhouse/clickhouse_store.h"
#include "store/testing/fake_clickhouse.h"

namespace clrscope::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::string_view kException =
    "Code: 241, e.displayText() = DB::Exception: Memory limit (for query) exceeded, e.what() = "
    "DB::Exception\n";

TEST(RowBinary, IsReadWhereverItsPiecesAreCut) {
  ByteWriter out;
  for (std::uint32_t i = 0; i < 3; ++i) {
    out.write(std::uint64_t{i});
    write_text(out, i == 1 ? std::string(200, 'x') : "");
    const std::uint64_t values[] = {i, 2, 3};
    write_array<std::uint64_t>(out, values);
    out.write(kRowEnd);
  }
  const std::string whole{as_text(out.bytes())};
  for (std::size_t cut = 1; cut < whole.size(); ++cut) {
    std::size_t at = 0;
    Rows rows{Pieces{.held = {}, .more = [&](std::string& into) -> Result<bool> {
                       if (at == whole.size()) return false;
                       into += whole.substr(at, cut);
                       at = std::min(whole.size(), at + cut);
                       return true;
                     }}};
    for (std::uint64_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(rows.more());
      EXPECT_EQ(rows.number<std::uint64_t>(), i);
      EXPECT_EQ(rows.text().size(), i == 1 ? 200U : 0U);
      EXPECT_THAT(rows.array<std::uint64_t>(), ElementsAre(i, 2, 3));
      rows.end_row();
    }
    EXPECT_FALSE(rows.more());
    ASSERT_TRUE(rows.done()) << "pieces of " << cut;
  }
}

TEST(RowBinary, KeepsWhyAPieceDidNotCome) {
  Rows rows{Pieces{.held = "ab", .more = [](std::string&) -> Result<bool> {
                     return fail(Errc::kSystem, "the server left");
                   }}};
  ASSERT_TRUE(rows.more());
  EXPECT_EQ(rows.number<std::uint64_t>(), 0U);
  EXPECT_FALSE(rows.more());
  EXPECT_EQ(rows.done().error().what, "the server left");
}

// Points by status, in two groups; `404` has more requests.
class ClickhousePoints : public testing::Test {
 protected:
  ClickhousePoints() {
    EXPECT_TRUE(migrate_schema(parse_clickhouse(server_.url()).value()));
    store_ = ClickhouseStore::open(server_.url(), {}, {}).value();
  }

  static void write_latency(ByteWriter& out, std::uint64_t requests) {
    out.write(requests);
    for (const std::uint64_t value : {0, 0}) out.write(value);
    const std::uint64_t ranks[] = {1, 2, 3, 4};
    write_array<std::uint64_t>(out, ranks);
    for (const std::uint64_t value : {5, 6, 7, 8}) out.write(value);
  }
  static std::string totals() {
    ByteWriter out;
    for (const auto* status : {"200", "404"}) {
      write_text(out, status);
      write_text(out, "");
      write_latency(out, status[0] == '4' ? 9 : 4);
      out.write(std::int64_t{1});
      out.write_varuint(0);
      out.write(kRowEnd);
    }
    return std::string{as_text(out.bytes())};
  }
  static std::string steps(std::int64_t count) {
    ByteWriter out;
    for (std::int64_t step = 0; step < count; ++step)
      for (const auto* status : {"200", "404"}) {
        write_text(out, status);
        write_text(out, "");
        out.write(step);
        write_latency(out, static_cast<std::uint64_t>(step) + 1);
        out.write(kRowEnd);
      }
    return std::string{as_text(out.bytes())};
  }
  // What the engine answers when it is asked for steps; others are answered as they should be.
  void on_steps(std::function<void(net::HttpReply&)> answer) {
    server_.change([&](FakeClickhouse::State& state) {
      state.take_over = [this, answer = std::move(answer)](std::string_view sql,
                                                           net::HttpReply& reply) {
        if (sql.starts_with("KILL QUERY")) ++kills_;
        if (sql.find(" AS point, count()") != std::string_view::npos) return answer(reply), true;
        if (sql.find("min(begin), emptyArrayUInt64()") == std::string_view::npos) return false;
        reply.send({.body = totals()});
        return true;
      };
    });
  }
  Result<> ask(const Store::OnPoint& on_point) {
    return store_->points({.selection = {.service = "shop"}, .by = GroupBy::kStatus, .step = 1s},
                          on_point);
  }
  Result<> collect() {
    rows_.clear();
    return ask([&](const std::string& group, const RoutePoint& point) -> Result<> {
      rows_.push_back(fmt::format("{} {} {}", point.time.time_since_epoch() / 1s, group,
                                  point.latency.requests));
      return {};
    });
  }

  std::atomic<int> kills_{0};
  std::vector<std::string> rows_;
  FakeClickhouse server_;
  std::unique_ptr<ClickhouseStore> store_;
};

TEST_F(ClickhousePoints, AreInTheOrderOfTheSeries) {
  on_steps([](net::HttpReply& reply) { reply.send({.body = steps(2)}); });
  const auto done = collect();
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_THAT(rows_, ElementsAre("0 404 1", "0 200 1", "1 404 2", "1 200 2"));
}

TEST_F(ClickhousePoints, OfAnExceptionInTheMiddleAreAnErrorWhereverItComes) {
  const auto whole = steps(2);
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    on_steps([&](net::HttpReply& reply) {
      reply.send({.body = whole.substr(0, cut) + std::string{kException}});
    });
    const auto done = collect();
    ASSERT_FALSE(done) << "after " << cut << " bytes";
    EXPECT_EQ(done.error().code, Errc::kCorrupt);
  }
}

TEST_F(ClickhousePoints, OfAConnectionThatBreaksAreAnErrorAtARowsEndToo) {
  for (const std::int64_t count : {0, 1, 10'000}) {  // the last: after the first piece
    on_steps([&](net::HttpReply& reply) { (void)reply.stream({.body = steps(count)}); });
    const auto done = collect();
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::kSystem);
    EXPECT_THAT(done.error().what, HasSubstr("truncated"));
    EXPECT_LE(rows_.size(), 2 * static_cast<std::size_t>(count));
    server_.change([&](auto&) { kills_ = 0; });
  }
}

TEST_F(ClickhousePoints, AreMoreThanAnAnswerThatIsHeldMayBe) {
  ByteWriter row;  // of a group that is not among the others: it is not asked for
  write_text(row, std::string(1 << 20, 'x'));
  write_text(row, "");
  row.write(std::int64_t{1});
  write_latency(row, 1);
  row.write(kRowEnd);
  auto body = std::make_shared<std::string>();
  while (body->size() <= kLargestHeld) *body += as_text(row.bytes());
  *body += steps(3).substr(steps(2).size());
  on_steps([&](net::HttpReply& reply) { reply.send({.shared_body = body}); });
  const auto done = collect();
  ASSERT_TRUE(done) << done.error().what;
  EXPECT_THAT(rows_, ElementsAre("2 404 3", "2 200 3"));
  const auto held =
      store_->series({.selection = {.service = "shop"}, .by = GroupBy::kStatus, .step = 1s});
  EXPECT_EQ(held.error().code, Errc::kTooLarge);
}

TEST_F(ClickhousePoints, ThatNobodyTakesEndTheQueryInTheEngine) {
  std::shared_ptr<net::HttpStream> endless;
  on_steps([&](net::HttpReply& reply) { endless = reply.stream({.body = steps(10'000)}); });
  const auto done = ask([](const std::string&, const RoutePoint&) -> Result<> {
    return fail(Errc::kGone, "the client left");
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().what, "the client left");
  EXPECT_EQ(kills_, 1);
}

TEST_F(ClickhousePoints, AreCancelledWhileTheRestIsWaitedFor) {
  std::shared_ptr<net::HttpStream> endless;
  on_steps([&](net::HttpReply& reply) { endless = reply.stream({.body = steps(10'000)}); });
  std::stop_source stop;
  const CancelScope scope{stop.get_token()};
  std::int64_t rows = 0;
  const auto done = ask([&](const std::string&, const RoutePoint&) -> Result<> {
    if (++rows == 10'000) stop.request_stop();
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::kGone);
  EXPECT_LT(rows, 20'000);
  EXPECT_EQ(kills_, 1);
}

}  // namespace
}  // namespace clrscope::store
