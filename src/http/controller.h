// The profiling controller: routes and pages of .NET processes over HTTP, exposed as the
// administrator wants.
//
// Starts its servers and services; everything it holds ends with it. Recordings that run are ended
// and kept.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/setting.h"

namespace clrscope::http {

class Controller {
 public:
  static Result<std::unique_ptr<Controller>> start(ServeSetting setting);
  ~Controller();

  struct Exposed {
    std::string url{};  // as it really is: "http://127.0.0.1:41234", "unix:PATH"
    bool metrics_only = false;
    bool needs_key = false;
  };
  const std::vector<Exposed>& exposed() const;
  const std::vector<std::string>& warnings() const;  // of the start: a line each
  // An address for a browser that works once.
  std::string one_time_address();

  // About once a second: what is due by time.
  void tick();

 private:
  struct Impl;
  explicit Controller(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope::http
