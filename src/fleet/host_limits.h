// How much each host may send: a bucket of spans and requests per host that fills up with time.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "base/clock.h"

namespace clrscope::fleet {

class HostLimits {
 public:
  // 0: no limit. A host may send ten seconds' worth at once, as after an outage.
  explicit HostLimits(std::uint64_t per_second) : per_second_(static_cast<double>(per_second)) {}

  // False: it must wait. What is larger than a whole bucket passes when the bucket is full.
  bool take(const std::string& host, std::uint64_t amount, TraceTime now) {
    if (per_second_ <= 0) return true;
    if (hosts_.size() > kMostHosts) hosts_.clear();
    const double most = per_second_ * 10;
    auto& bucket = hosts_.try_emplace(host, Bucket{most, now}).first->second;
    const std::chrono::duration<double> since = now - bucket.at;
    bucket.level = std::min(most, bucket.level + since.count() * per_second_);
    bucket.at = now;
    if (bucket.level < std::min(static_cast<double>(amount), most)) return false;
    bucket.level -= static_cast<double>(amount);
    return true;
  }

 private:
  static constexpr std::size_t kMostHosts = 100'000;
  struct Bucket {
    double level = 0;
    TraceTime at{};
  };
  double per_second_;
  std::unordered_map<std::string, Bucket> hosts_;
};

}  // namespace clrscope::fleet
