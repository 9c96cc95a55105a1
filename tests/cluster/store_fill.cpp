// Fills a store with requests of the service shop: one in every second of the last SECONDS for each
// of GROUPS status codes, so that /fleet/points by status in steps of a second has GROUPS * SECONDS
// rows.
//
//   store_fill WHERE GROUPS SECONDS
//
// Prints the begin of the first and the end of the last second, in unix seconds, as JSON.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

#include "store/store.h"
#include "store/test_batches.h"

int main(int argc, char** argv) {
  using namespace clrscope;
  using namespace clrscope::store;
  constexpr std::int64_t kSecond = 1'000'000'000;
  constexpr std::int64_t kAtOnce = 60;  // seconds of a batch
  if (argc != 4) return 3;
  const auto groups = std::strtoull(argv[2], nullptr, 10);
  const std::int64_t seconds = std::strtol(argv[3], nullptr, 10);
  const auto opened = open_store(argv[1], {});
  if (!opened) {
    fmt::print(stderr, "store_fill: {}\n", opened.error().what);
    return 2;
  }
  const auto now = wall_now();
  const auto begin = now.time_since_epoch().count() / kSecond - seconds;
  std::vector<Batch> batches;
  for (std::int64_t at = 0; at < seconds; at += kAtOnce) {
    const auto count = std::min(kAtOnce, seconds - at);
    auto batch = make_batch({.number = static_cast<std::uint64_t>(at),
                             .requests = groups * static_cast<std::uint64_t>(count),
                             .spans = 0,
                             .begin = (begin + at) * kSecond});
    std::uint64_t number = 0;
    for (auto& request : batch.requests) {
      const auto group = number % groups;
      request.begin = (begin + at + static_cast<std::int64_t>(number++ / groups)) * kSecond +
                      static_cast<std::int64_t>(group) * 1'000'000;
      request.status = static_cast<std::uint16_t>(200 + group);
      request.duration = request.running = 1'000'000 + number * 37 % 9'000'000;
      request.flags = 0;
    }
    batches.push_back(std::move(batch));
  }
  if (const auto done = (*opened)->add(batches, now); !done) {
    fmt::print(stderr, "store_fill: {}\n", done.error().what);
    return 2;
  }
  fmt::print("{{\"from\":{},\"to\":{},\"rows\":{}}}\n", begin, begin + seconds,
             groups * static_cast<std::uint64_t>(seconds));
  return 0;
}
