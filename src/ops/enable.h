// Opens the controller inside a running process, and closes it: a helper is written into the
// process' own temporary folder and applied as a startup hook over its diagnostic port (.NET 8 and
// later). The helper starts the controller as a child of the process; where the process has
// ASP.NET, a Kestrel of its own framework listens and forwards, else the child listens itself.
//
// What was opened stays until it is closed or the process ends. Opening what is open, and closing
// what is closed, does nothing and says so. The other side is
// dotnet/Clrscope.AspNetCore/Enabled.cs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/process.h"
#include "ops/target.h"

namespace clrscope::ops {

struct EnableRequest {
  TargetRequest target{};
  std::vector<std::string> urls{};  // http on loopback, unix:PATH; empty: http://127.0.0.1:0
  bool read_only = false;
};

struct Enabled {
  Process process;
  bool already = false;           // it was open before
  bool inside = false;            // the process itself listens; else its child does
  pid_t controller = 0;           // the child, as the process numbers it
  std::vector<std::string> urls;  // as they really are
  std::string open{};             // for a browser, once; empty with unix sockets only
};

struct Disabled {
  Process process;
  bool was_open = false;
};

Result<Enabled> enable(const EnableRequest& request);
Result<Disabled> disable(const TargetRequest& target);

// The helper that was built into this program; empty when it was built without.
Bytes embedded_hook();

}  // namespace clrscope::ops
