// Who used the controller for what: a line of JSON for each use, in files of bounded size.
//
// Written by a thread of its own: a full or broken disk fails no request, but is counted and told.
// Any thread may note and ask.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/guarded.h"
#include "base/result.h"
#include "base/shape.h"

namespace clrscope::http {

struct Use {
  WallTime time{};
  std::string caller{};   // name of the key, of the user; "nobody" when it was refused
  std::string address{};  // where it came from
  std::string method{};
  std::string target{};   // path and query, secrets taken out
  std::string process{};  // the one it was about, when that is known
  int status = 0;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds took{};
};

class Audit {
 public:
  struct Setting {
    std::string folder{};                // empty, or not ours alone: nothing is written
    std::uint64_t file_bytes = 8 << 20;  // then the next file begins
    std::size_t files = 5;               // the oldest goes
  };
  explicit Audit(Setting setting);
  ~Audit();

  void note(Use use);
  // The newest lines, oldest first.
  std::vector<std::string> last(std::size_t most) const;

  struct State {
    std::uint64_t written = 0;
    std::uint64_t lost = 0;  // could not be written
    std::string trouble{};   // why, the last time; empty: all is well
  };
  State state() const;
  // Waits until what was noted so far is written; for tests and for the end.
  void flush();

 private:
  void run(const std::stop_token& stop);
  Result<> write(const std::string& line);
  Result<> open();
  static std::string name(std::size_t age);

  const Setting setting_;
  const UniqueFd folder_;  // held: its name may become another's
  Guarded<State> state_;
  std::atomic<std::uint64_t> noted_{0}, done_{0};
  UniqueFd file_;  // the newest one; the thread's own, as its size
  std::uint64_t size_ = 0;
  Channel<Use> inbox_{4096};
  std::jthread thread_;  // last member: joins first
};

const Shape& shape_of(const Use*);
// The query with the values of `once` and `key` taken out; control letters too.
std::string without_secrets(std::string_view target);

}  // namespace clrscope::http
