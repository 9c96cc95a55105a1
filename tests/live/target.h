// Real .NET processes for tests: the samples, each in a temporary folder of its own.
//
// What it starts dies with it, and with the test program. Nothing sleeps: waiting is polling with a
// deadline.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ipc/endpoint.h"

namespace clrscope::live {

constexpr std::chrono::seconds kPatience{20};  // for a busy machine; nothing waits that long

// True as soon as `condition` is; false when it is not so in time.
bool eventually(const std::function<bool()>& condition,
                std::chrono::nanoseconds patience = kPatience);

bool exists(const std::string& path);
std::string contents_of(const std::string& path);  // empty when it cannot be read

// A folder that is removed with all that is in it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

using Variables = std::map<std::string, std::string>;

class Target {
 public:
  // Starts FRAMEWORK/samples with TMPDIR in `scratch`. `variables` are added to our own.
  Target(const std::string& framework, std::vector<std::string> arguments, const Scratch& scratch,
         Variables variables = {});
  ~Target();  // kills it
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  pid_t pid() const { return pid_; }
  bool runs() const;
  // The next line of its stdout; empty when there is none in time.
  std::string next_line();
  // A line to its stdin: what starts it with --wait-line.
  void go();
  // Waits for the line that says the symptom is established; false when it does not come.
  bool ready();
  // Its default socket. Only after ready(), or while it waits at start.
  std::unique_ptr<ipc::Endpoint> endpoint() const;

  std::size_t open_sockets() const;
  bool has_open(const std::string& path) const;

 private:
  pid_t pid_ = -1;
  UniqueFd input_, output_;
  std::string pending_;
};

// Each test once for every framework. Skipped, with the reason, where the samples are not.
class LiveTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override;

  int major_version() const { return std::stoi(GetParam().substr(3)); }  // "net10.0"
  std::unique_ptr<Target> start(std::vector<std::string> arguments, Variables variables = {});
  // Started and ready.
  std::unique_ptr<Target> start_ready(std::vector<std::string> arguments, Variables variables = {});

  Scratch scratch_;
};

// The path of the startup hook; empty when it was not built.
std::string hook_assembly();

// INSTANTIATE_TEST_SUITE_P(Runtimes, X, every_framework(), framework_name);
inline auto every_framework() {
  return testing::Values(std::string{"net8.0"}, std::string{"net9.0"}, std::string{"net10.0"});
}
std::string framework_name(const testing::TestParamInfo<std::string>& info);

}  // namespace clrscope::live
