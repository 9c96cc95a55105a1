#include "site/failures.h"

#include <algorithm>

namespace clrscope::site {

bool Failures::note(const std::string& address, TraceTime now) {
  if (seen_.size() >= kMostAddresses && !seen_.contains(address)) {
    std::erase_if(seen_, [&](const auto& one) { return now - one.second.since > kWindow; });
    if (seen_.size() >= kMostAddresses)
      seen_.erase(
          std::ranges::min_element(seen_, {}, [](const auto& one) { return one.second.since; }));
  }
  auto& seen = seen_[address];
  if (seen.count == 0 || now - seen.since > kWindow) seen = {.since = now, .count = 0};
  return ++seen.count > kMost;
}

std::string host_part(const std::string& address) {
  const auto colon = address.rfind(':');
  return colon == std::string::npos ? address : address.substr(0, colon);
}

}  // namespace clrscope::site
