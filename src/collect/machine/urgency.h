// While it lives, this thread goes before others where we may ask for that: rings that are not
// emptied in time lose what the busy machine does.
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace clrscope::collect {

class Urgency {
 public:
  Urgency() {
    errno = 0;
    before_ = ::getpriority(PRIO_PROCESS, thread());
    raised_ =
        errno == 0 && before_ > kUrgent && ::setpriority(PRIO_PROCESS, thread(), kUrgent) == 0;
  }
  ~Urgency() {
    if (raised_) (void)::setpriority(PRIO_PROCESS, thread(), before_);
  }
  Urgency(const Urgency&) = delete;
  Urgency& operator=(const Urgency&) = delete;

  bool raised() const { return raised_; }

 private:
  static constexpr int kUrgent = -15;
  static id_t thread() { return static_cast<id_t>(::syscall(SYS_gettid)); }  // not all of us

  int before_ = 0;
  bool raised_ = false;
};

}  // namespace clrscope::collect
