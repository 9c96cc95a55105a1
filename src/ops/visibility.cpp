#include "ops/visibility.h"

#include <algorithm>

#include "base/text.h"

namespace clrscope::ops {

bool Visibility::shows(const Process& process) const {
  if (owner) return !process.foreign && process.pid == *owner;
  if (allow.empty()) return true;
  return std::ranges::any_of(allow, [&](const std::string& word) {
    return glob_match(word, process.name) || (!process.uid.empty() && word == process.uid) ||
           (!process.foreign && word == std::to_string(process.pid));
  });
}

bool Visibility::shows_earlier(const Process& process) const {
  if (!restricted()) return true;
  if (process.pid <= 0) return false;
  const bool same_application =
      owner && !process.foreign && !owner_name.empty() && process.name == owner_name;
  return same_application || shows(process);
}

bool Selector::fits(const Process& process) const {
  return (!pid || process.pid == *pid) && (!uid || equal_ignoring_case(*uid, process.uid)) &&
         (!name || equal_ignoring_case(*name, process.name));
}

}  // namespace clrscope::ops
