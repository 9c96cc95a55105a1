// Counts of processes are kept while they send, whatever is deleted meanwhile, and deleted after
// them: SQLite and ClickHouse answer alike.
//
//   store_expire FOLDER URLS
//
// A process that sends for ten days to servers that restart in between, and one that sent once;
// the retention is a week. Prints counts as JSON; a difference ends it with exit code 1.
#include <fmt/format.h>

#include "store/store.h"
#include "store/test_batches.h"

namespace {

using namespace clrscope;
using namespace clrscope::store;

constexpr std::int64_t kStart = 1'800'000'000'000'000'000;
constexpr std::int64_t kDay = 86'400'000'000'000;

template <class T>
T or_exit(Result<T> result) {
  if (result) return *std::move(result);
  fmt::print(stderr, "store_expire: {}\n", result.error().what);
  std::exit(2);
}

WallTime day(std::int64_t number) {
  return WallTime{std::chrono::nanoseconds{kStart + number * kDay}};
}

Batch batch_of(const std::string& host, std::uint64_t number, WallTime now) {
  return make_batch(
      {.host = host, .number = number, .begin = now.time_since_epoch().count() - 1'000'000'000});
}

std::string counts_of(Store& store) {
  std::string text;
  for (const auto& one : or_exit(store.hosts()))
    text += fmt::format("{}: {} batches, {} written, {} stored, {} lost, {} to {}\n", one.host,
                        one.batches, one.written_requests, one.stored_requests, one.lost_requests,
                        one.first.time_since_epoch().count(), one.last.time_since_epoch().count());
  for (const auto& one : or_exit(store.services({})))
    text += fmt::format("{}: {} requests\n", one.service, one.requests);
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 3;
  const std::string places[] = {fmt::format("sqlite:{}/expire.db", argv[1]), argv[2]};
  std::string counts[2];
  std::uint64_t rounds = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    std::uint64_t number = 0;
    for (const std::int64_t now : {0, 5, 10}) {  // each a server of its own: another epoch
      const auto opened = or_exit(open_store(places[i], {}));
      std::vector<Batch> batches{batch_of("web-1", number, day(now))};
      if (number == 0) batches.push_back(batch_of("web-2", 0, day(now)));
      ++number;
      for (const auto& one : or_exit(opened->add(batches, day(now))))
        if (one.outcome != Stored::Outcome::kStored) return 1;
      if (const auto done = opened->expire(day(now)); !done) or_exit<int>(fail(done.error()));
    }
    const auto opened = or_exit(open_store(places[i], {}));
    // ClickHouse deletes in its own time.
    for (const Deadline deadline{std::chrono::seconds{90}};
         rounds == 0 || counts[1] != counts[0];) {
      if (const auto done = opened->expire(day(10)); !done) or_exit<int>(fail(done.error()));
      counts[i] = counts_of(*opened);
      ++rounds;
      if (i == 0) break;
      if (deadline.passed()) {
        fmt::print(stderr, "SQLite:\n{}ClickHouse:\n{}", counts[0], counts[1]);
        return 1;
      }
    }
  }
  fmt::print(stderr, "{}", counts[0]);
  fmt::print("{{\"rounds\": {}, \"living\": {}, \"gone\": {}}}\n", rounds,
             counts[0].find("web-1: 3 batches, 30 written, 30 stored, 0 lost") == 0,
             counts[0].find("web-2") == std::string::npos);
  return 0;
}
