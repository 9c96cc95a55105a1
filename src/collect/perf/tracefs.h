// Reads ids and formats of tracepoints from tracefs.
//
// Where tracefs is not mounted and we may mount, it is mounted for ourselves alone: a mount that no
// folder shows and that ends with its descriptor, whatever becomes of us.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "collect/perf/tracepoint_format.h"

namespace clrscope::collect::perf {

class Tracefs {
 public:
  static Result<Tracefs> open();

  // "sched:sched_switch"
  Result<TracepointFormat> format(std::string_view tracepoint) const;
  // Names that match a pattern such as "syscalls:sys_enter_*", sorted.
  Result<std::vector<std::string>> matching(std::string_view pattern) const;

  bool mounted_by_us() const { return mounted_by_us_; }

 private:
  Tracefs(UniqueFd folder, bool mounted_by_us)
      : folder_(std::move(folder)), mounted_by_us_(mounted_by_us) {}

  Result<std::vector<std::string>> list(const std::string& path) const;

  UniqueFd folder_;
  bool mounted_by_us_;
};

}  // namespace clrscope::collect::perf
