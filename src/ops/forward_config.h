// The file of `forward --config`: what applies to every sink, then a section for each sink.
//
//   name = Shop.*
//   counters = System.Runtime
//   spool = /var/lib/clrscope
//
//   [graphite:127.0.0.1:2003,prefix=shop]
//   interval = 10s
//
//   [ndjson:/var/log/shop.ndjson]
//   providers = Shop-Orders
//   where = Total>=100
//
// Does no I/O. An error names the line and the key.
#pragma once

#include <string>
#include <string_view>

#include "ops/forward.h"

namespace clrscope::ops {

Result<ForwardPlan> parse_forward_config(std::string_view text, std::string_view file);
Result<ForwardPlan> read_forward_config(const std::string& path);

}  // namespace clrscope::ops
