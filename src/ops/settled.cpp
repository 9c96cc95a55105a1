#include "ops/settled.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kYoung{2};
constexpr std::chrono::seconds kEnoughTime{1};
constexpr std::chrono::seconds kOld{30};
constexpr std::chrono::milliseconds kLook{20};

}  // namespace

bool has_settled(const ProcStatus& process) {
  if (process.age < kYoung) return false;
  const bool main_thread_works = process.state == 'R' || process.state == 'D';
  return !main_thread_works || process.cpu >= kEnoughTime || process.age >= kOld;
}

void wait_until_settled(pid_t pid) {
  for (auto status = proc_status(pid); status && !has_settled(*status); status = proc_status(pid))
    std::this_thread::sleep_for(std::max<std::chrono::nanoseconds>(kYoung - status->age, kLook));
}

}  // namespace clrscope::ops
