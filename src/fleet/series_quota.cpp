#include "fleet/series_quota.h"

#include <algorithm>

#include "store/keep_requests.h"

namespace clrscope::fleet {
namespace {

// As stores write a route: "GET /orders/{id}".
std::string route_of(const store::Batch& batch, const store::BatchRequest& request) {
  std::string text = request.method == 0 ? "" : batch.names[request.method - 1];
  const auto route = request.route == 0 ? "" : batch.names[request.route - 1];
  return text + " " + (route.empty() ? "(no route)" : route);
}

std::string key_of(std::string_view service, std::string_view route) {
  std::string key{service};
  key += '\0';
  return key.append(route);
}

}  // namespace

void SeriesQuota::forget_old(Map& map, TraceTime now) {
  std::erase_if(map, [&](const auto& one) { return now - one.second > kKept; });
}

void SeriesQuota::note(std::string_view service, std::string_view route, TraceTime now) {
  series_.with([&](Map& map) { map[key_of(service, route)] = now; });
}

std::uint64_t SeriesQuota::apply(store::Batch& batch, std::uint64_t most, TraceTime now) {
  if (most == 0) return 0;
  std::vector<bool> keep(batch.requests.size(), true);
  // Requests of a batch share few pairs of names.
  std::unordered_map<std::uint64_t, bool> decided;
  std::uint64_t gone = 0;
  series_.with([&](Map& map) {
    bool tidied = false;
    for (std::size_t i = 0; i < keep.size(); ++i) {
      const auto& request = batch.requests[i];
      const auto pair = std::uint64_t{request.method} << 32U | request.route;
      auto [found, is_new] = decided.try_emplace(pair, true);
      if (is_new) {
        auto key = key_of(batch.source.service, route_of(batch, request));
        const auto known = map.find(key);
        if (known == map.end() && map.size() >= most && !tidied) {
          forget_old(map, now);
          tidied = true;
        }
        if (known != map.end())
          known->second = now;
        else if (map.size() < most)
          map.emplace(std::move(key), now);
        else
          found->second = false;
      }
      keep[i] = found->second;
      gone += keep[i] ? 0 : 1;
    }
  });
  if (gone > 0) store::keep_requests(batch, keep);
  return gone;
}

std::size_t SeriesQuota::count(TraceTime now) {
  return series_.with([&](Map& map) {
    forget_old(map, now);
    return map.size();
  });
}

}  // namespace clrscope::fleet
