// Flame graphs against what the spans of the batches sum up to, over random requests and random
// questions: before chunks are merged, while they are, and after.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "store/sqlite/database.h"
#include "store/testing/test_store.h"

namespace clrscope::store {
namespace {

struct Totals {
  std::uint64_t self = 0, calls = 0;
  bool operator==(const Totals&) const = default;
};
// By call path, as text.
struct Answer {
  std::map<std::string, Totals> paths{};
  std::uint64_t requests = 0, spans = 0;
  std::int64_t total = 0, shortest = 0, longest = 0;
  bool operator==(const Answer&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  out << answer.requests << " requests, " << answer.spans << " spans, total " << answer.total
      << ", " << answer.shortest << " to " << answer.longest << "\n";
  for (const auto& [path, sum] : answer.paths)
    out << path << " " << sum.self << " " << sum.calls << "\n";
  return out;
}

Answer answer_of(const Flame& flame) {
  Answer answer{.requests = flame.requests,
                .spans = flame.spans,
                .total = flame.total.count(),
                .shortest = flame.shortest.count(),
                .longest = flame.longest.count()};
  std::vector<std::string> open;
  for (std::size_t i = 0; i < flame.depth.size(); ++i) {
    open.resize(flame.depth[i]);
    const auto before = open.empty() ? std::string{} : open.back();
    open.push_back(before + ";" + flame.names[flame.name[i]]);
    if (flame.calls[i] > 0) answer.paths[open.back()] = {flame.self_ns[i], flame.calls[i]};
  }
  return answer;
}

bool takes(const Selection& selection, const Batch& batch, const BatchRequest& request) {
  const auto& method = batch.names[request.method - 1];
  const auto& route = batch.names[request.route - 1];
  return request.begin >= selection.range.from && request.begin < selection.range.to &&
         (selection.route.empty() || selection.route == route ||
          selection.route == method + " " + route) &&
         (selection.host.empty() || selection.host == batch.source.host) &&
         (selection.version.empty() || selection.version == batch.source.version) &&
         request.status >= selection.status_from && request.status <= selection.status_to;
}

Answer expected(const std::vector<Batch>& batches, const FlameQuery& query) {
  std::vector<std::uint64_t> durations;
  for (const auto& batch : batches)
    for (const auto& request : batch.requests)
      if (takes(query.selection, batch, request)) durations.push_back(request.duration);
  if (durations.empty()) return {};
  std::sort(durations.begin(), durations.end());
  const auto rank = [&](double p) {
    const auto at = std::ceil(p / 100 * static_cast<double>(durations.size()));
    return durations[static_cast<std::size_t>(std::max(at, 1.0)) - 1];
  };
  const auto low = query.from_percentile <= 0 ? 0 : rank(query.from_percentile);
  const auto high = query.to_percentile >= 100 ? ~0ULL : rank(query.to_percentile);
  Answer answer;
  std::uint64_t shortest = ~0ULL, longest = 0;
  for (const auto& batch : batches) {
    std::size_t span = 0;
    for (const auto& request : batch.requests) {
      const auto first = span;
      span += request.spans;
      if (!takes(query.selection, batch, request) || request.spans == 0) continue;
      if (request.duration < low || request.duration > high) continue;
      ++answer.requests;
      shortest = std::min(shortest, request.duration);
      longest = std::max(longest, request.duration);
      std::vector<std::string> paths;
      for (auto at = first; at < span; ++at) {
        const auto parent = batch.spans.parent[at];
        paths.push_back((parent == 0 ? "" : paths[parent - 1]) + ";" +
                        batch.names[batch.spans.method[at] - 1]);
        auto& sum = answer.paths[paths.back()];
        sum.self += batch.spans.self[at];
        ++sum.calls;
        ++answer.spans;
        answer.total += static_cast<std::int64_t>(batch.spans.self[at]);
      }
    }
  }
  if (answer.requests > 0)
    answer.shortest = static_cast<std::int64_t>(shortest),
    answer.longest = static_cast<std::int64_t>(longest);
  return answer;
}

class FlameTest : public SqliteStoreTest, public testing::WithParamInterface<std::uint32_t> {
 protected:
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  Batch random_batch(std::uint64_t number, std::uint64_t methods) {
    Batch batch;
    batch.id = fmt::format("batch-{:06}", number);
    const auto host = pick(4);
    batch.source = {.host = fmt::format("web-{}", host),
                    .service = "shop",
                    .version = fmt::format("{}.0", host / 2),
                    .instance = fmt::format("instance-{}", host)};
    batch.created = kBegin;
    batch.names = {"GET", "POST", "/a", "/b", "/c"};
    for (std::uint64_t i = 0; i < methods; ++i) batch.names.push_back(fmt::format("M{}", i));
    for (auto requests = 1 + pick(60); requests > 0; --requests) {
      BatchRequest request{.begin = kBegin + static_cast<std::int64_t>(pick(2'400'000'000'000)),
                           .duration = 1 + pick(1'000'000),
                           .method = static_cast<std::uint32_t>(1 + pick(2)),
                           .route = static_cast<std::uint32_t>(3 + pick(3)),
                           .spans = static_cast<std::uint32_t>(pick(5) == 0 ? 0 : pick(30)),
                           .status = static_cast<std::uint16_t>(pick(8) == 0 ? 500 : 200),
                           .flags = kSampled};
      auto& spans = batch.spans;
      for (std::uint32_t i = 0; i < request.spans; ++i) {
        spans.method.push_back(static_cast<std::uint32_t>(6 + pick(methods)));
        spans.parent.push_back(
            static_cast<std::uint32_t>(pick(4) == 0 ? pick(i + 1) : std::min(i, 2U)));
        spans.begin.push_back(pick(1'000'000));
        spans.duration.push_back(pick(1'000'000));
        spans.self.push_back(pick(50) == 0 ? pick(1ULL << 40) : pick(100'000));
        spans.queued.push_back(pick(3) == 0 ? pick(1'000) : 0);
        spans.thread.push_back(static_cast<std::uint32_t>(pick(10)));
        spans.kind.push_back(static_cast<std::uint32_t>(pick(8)));
        spans.steps.push_back(0);
      }
      batch.requests.push_back(request);
    }
    EXPECT_TRUE(check_batch(batch));
    return batch;
  }

  FlameQuery random_query() {
    FlameQuery query{.selection = {.service = "shop"}};
    auto& selection = query.selection;
    if (pick(2) == 0)
      selection.route = std::vector<std::string>{"/a", "GET /b", "POST /c", "/no"}[pick(4)];
    if (pick(4) == 0) selection.host = fmt::format("web-{}", pick(5));
    if (pick(4) == 0) selection.version = fmt::format("{}.0", pick(3));
    if (pick(5) == 0) selection.status_from = 500, selection.status_to = 599;
    if (pick(2) == 0) {
      const auto unit = pick(2) == 0 ? 1 : 600'000'000'000;  // also whole windows
      selection.range.from =
          kBegin + static_cast<std::int64_t>(pick(2'400'000'000'000)) / unit * unit;
      selection.range.to =
          selection.range.from + static_cast<std::int64_t>(pick(2'400'000'000'000)) / unit * unit;
    }
    if (pick(3) == 0) {
      query.from_percentile = static_cast<double>(pick(99));
      query.to_percentile =
          query.from_percentile + 1 +
          static_cast<double>(pick(static_cast<std::uint64_t>(100 - query.from_percentile)));
    }
    return query;
  }

  void expect_right(const std::vector<Batch>& batches) {
    for (int i = 0; i < 12; ++i) {
      const auto query = random_query();
      const auto flame = store_->flame(query);
      ASSERT_TRUE(flame) << flame.error().what;
      ASSERT_EQ(answer_of(*flame), expected(batches, query))
          << query.selection.route << " " << query.selection.host << " " << query.selection.version
          << " " << query.selection.range.from << " " << query.selection.range.to << " "
          << query.from_percentile << " " << query.to_percentile;
    }
  }

  std::mt19937_64 random_{GetParam()};
};

TEST_P(FlameTest, IsWhatTheSpansSumUpTo) {
  open();
  // Few call paths and few sources have sums by source, more have sums, many have none.
  const auto methods = std::vector<std::uint64_t>{1, 2, 3, 40}[GetParam() % 4];
  const auto now = kNow + std::chrono::minutes{50};
  std::vector<Batch> batches;
  for (std::uint64_t round = 0; round < 3; ++round) {
    const auto first = batches.size();
    for (auto more = 10 + pick(20); more > 0; --more)
      batches.push_back(random_batch(batches.size(), methods));
    ASSERT_TRUE(store_->add(std::span{batches}.subspan(first), now));
    expect_right(batches);
    ASSERT_TRUE(store_->compact(now - std::chrono::minutes{static_cast<int>(pick(60))}));
    expect_right(batches);
  }
  ASSERT_TRUE(store_->compact(now));
  open();
  expect_right(batches);
  const auto database = Database::open(file(), Database::Mode::kRead).value();
  auto with_sums = database->prepare("SELECT count(*) FROM chunk WHERE length(sums) > 0").value();
  ASSERT_TRUE(with_sums.step().value());
  EXPECT_EQ(with_sums.integer(0) > 0, methods < 40);
}

INSTANTIATE_TEST_SUITE_P(Random, FlameTest, testing::Range(0U, 4U));

}  // namespace
}  // namespace clrscope::store
