// The sample shop and its load driver as child processes, for `clrscope requests --demo`.
//
// Both listen on loopback only, at ports that the kernel chooses, and end with this object; also
// when clrscope is killed. The program: CLRSCOPE_SAMPLES (the program itself, or the folder that
// tools/publish_samples prints), else what lies beside clrscope, else what was published last.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"

namespace clrscope::ops {

class RequestDemo {
 public:
  static constexpr unsigned kRate = 50;                    // requests per second
  static constexpr const char* kInclude = "Samples.Shop";  // its own code

  // Returns when the shop answers. One of the descriptors readable: gives up.
  static Result<RequestDemo> start(std::span<const int> stop_fds);

  pid_t pid() const { return shop_.pid(); }
  const std::string& address() const { return address_; }

 private:
  // Ended and waited for when it goes.
  class Program {
   public:
    Program() = default;
    Program(pid_t pid, UniqueFd output) : pid_(pid), output_(std::move(output)) {}
    Program(Program&& other) noexcept;
    Program& operator=(Program&&) = delete;
    ~Program();
    static Result<Program> start(const std::vector<std::string>& command);
    pid_t pid() const { return pid_; }
    int output() const { return output_.get(); }

   private:
    pid_t pid_ = 0;
    UniqueFd output_;
  };

  RequestDemo(Program shop, Program load, std::string address)
      : shop_(std::move(shop)), load_(std::move(load)), address_(std::move(address)) {}

  Program shop_;
  Program load_;  // the first to end
  std::string address_;
};

}  // namespace clrscope::ops
