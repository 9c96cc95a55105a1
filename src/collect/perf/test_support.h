// Loads and children for tests against the real kernel.
#pragma once

#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "base/fd.h"
#include "collect/perf/event_set.h"

namespace clrscope::collect::perf {

inline std::chrono::nanoseconds cpu_time(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

// Runs until this thread has used so much CPU, however long that takes.
inline void burn(std::chrono::nanoseconds cpu) {
  const auto end = cpu_time(CLOCK_THREAD_CPUTIME_ID) + cpu;
  volatile unsigned work = 0;
  while (cpu_time(CLOCK_THREAD_CPUTIME_ID) < end)
    for (unsigned i = 0; i < 2000; ++i) work = work + i;
}

inline ThreadId this_thread() {
  return ThreadId{static_cast<std::uint64_t>(::syscall(SYS_gettid))};
}

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    CHECK(::pipe(ends) == 0);
    out.reset(ends[0]);
    in.reset(ends[1]);
  }
  void signal() const { CHECK(::write(in.get(), "x", 1) == 1); }
  bool await() const {  // false when the other side is gone
    char byte = 0;
    return ::read(out.get(), &byte, 1) == 1;
  }
  UniqueFd out, in;
};

// What the function says, in a child of its own: for what cannot be undone, such as giving up
// rights. "killed" when it did not come back.
inline std::string said_by_child(const std::function<std::string()>& say) {
  Pipe answer;
  const auto child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    const auto text = say();
    (void)!::write(answer.in.get(), text.data(), text.size());
    ::_exit(0);
  }
  answer.in.reset();
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(answer.out.get(), buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? text : "killed";
}

// A child that burns so much CPU when told to, and says when it has.
class Burner {
 public:
  explicit Burner(std::chrono::nanoseconds cpu) : pid_(::fork()) {
    CHECK(pid_ >= 0);
    if (pid_ != 0) return;
    (void)go_.await();
    burn(cpu);
    done_.signal();
    (void)leave_.await();
    ::_exit(0);
  }
  ~Burner() {
    leave_.signal();
    ::waitpid(pid_, nullptr, 0);
  }
  Burner(const Burner&) = delete;
  Burner& operator=(const Burner&) = delete;

  pid_t pid() const { return pid_; }
  void run() const {
    go_.signal();
    (void)done_.await();
  }

 private:
  Pipe go_, done_, leave_;
  pid_t pid_;
};

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"})
    ++count;
  return count;
}

// This kernel or user does not have it; any other error is a fault.
inline bool refused(const Error& error) {
  return error.code == Errc::kDenied || error.code == Errc::kUnsupported ||
         error.code == Errc::kNotFound;
}

}  // namespace clrscope::collect::perf

// For tests that need what this kernel or user may not have.
// NOLINTBEGIN(bugprone-macro-parentheses): the argument names a variable
#define OPEN_OR_SKIP(name, request)                                        \
  auto name##_result = EventSet::open(request);                            \
  if (!name##_result && refused(name##_result.error()))                    \
    GTEST_SKIP() << "refused here: " << name##_result.error().what << " (" \
                 << name##_result.error().hint << ")";                     \
  ASSERT_TRUE(name##_result) << name##_result.error().what;                \
  auto& name = *name##_result
// NOLINTEND(bugprone-macro-parentheses)
