// Asks the server how this process shall be profiled, and tells clrscope when that has changed.
//
// Begins when clrscope has said which process it is (a frame of kind kState). The last answer is
// kept in the folder of the spool: a host that cannot reach the server goes on with it, also after
// a restart. A thread of its own asks; on_change is called on it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"

namespace clrscope::fleet {

struct ConfigurationClientSetting {
  std::string to{};
  std::string ca_file{};
  std::string token_file{};
  std::string folder{};  // of the spool; empty: nothing is kept
  // One line of JSON: {"configuration":{"version":3,"include":["Shop"],…}}; version 0: none.
  std::function<void(const std::string& line)> on_change{};
};

class ConfigurationClient {
 public:
  static Result<std::unique_ptr<ConfigurationClient>> start(ConfigurationClientSetting setting);
  ~ConfigurationClient();

  // The JSON of a frame: {"host","service","instance","configuration","trouble"}.
  void note_state(std::string_view json);

 private:
  class Impl;
  explicit ConfigurationClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace clrscope::fleet
