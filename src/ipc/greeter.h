// Lets the runtimes that connect to a port go on and asks who they are, all at the same time:
// nobody waits for one that is silent.
//
// Belongs to one thread; must not outlive the port.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/result.h"
#include "ipc/commands.h"
#include "ipc/endpoint.h"

namespace clrscope::ipc {

struct Command;

class Greeter {
 public:
  enum class Words { kResume, kAsk, kResumeAndAsk };
  // `patience`: with one runtime.
  Greeter(ReversePort& port, Words words, std::chrono::nanoseconds patience);
  ~Greeter();

  struct Greeted {
    Advertisement runtime;
    Result<ProcessInfo> info;  // empty when it was not asked
  };
  // Greets runtimes as they come and returns those that have answered or failed. Waits until there
  // is one, the deadline has passed or `stop_fd` (-1: none) is readable.
  std::vector<Greeted> wait(const Deadline& deadline, int stop_fd = -1);
  // One more time; no effect while it is being greeted.
  void again(const Advertisement& runtime);

 private:
  struct Greeting;
  std::vector<Greeted> advance_all();
  void wait_for_news(const Deadline& deadline, int stop_fd);

  ReversePort& port_;
  std::span<const Command* const> commands_;  // in this order
  std::chrono::nanoseconds patience_;
  std::vector<std::unique_ptr<Greeting>> greetings_;
};

}  // namespace clrscope::ipc
