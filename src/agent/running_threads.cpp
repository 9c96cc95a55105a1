#include "agent/running_threads.h"

#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

constexpr long kCloexec = 02000000, kFolder = 0200000;
constexpr char kTasks[] = "/proc/self/task";
constexpr int kLongestName = 16;  // of a folder there: a thread id

// The letter behind the name of the thread, which may hold brackets itself.
char state_of(const char* stat, long size) {
  long end = size;
  while (end > 0 && stat[end - 1] != ')') --end;
  return end > 0 && end + 1 < size ? stat[end + 1] : 0;
}

bool runs(const char* thread) {
  char path[sizeof kTasks + kLongestName + sizeof "/stat"];
  char* out = path;
  for (const char* c = kTasks; *c != 0; ++c) *out++ = *c;
  *out++ = '/';
  for (int i = 0; thread[i] != 0 && i < kLongestName; ++i) *out++ = thread[i];
  for (const char* c = "/stat"; *c != 0; ++c) *out++ = *c;
  *out = 0;
  auto file = static_cast<int>(syscall_raw(number::kOpen, as_long(&path[0]), kCloexec));
  if (file < 0) return false;  // it has ended
  char stat[96];               // the id, the name of at most 64 bytes, and the state
  const auto got = syscall_raw(number::kRead, file, as_long(&stat[0]), sizeof stat);
  close_fd(file);
  const auto state = state_of(stat, got);
  return state == 'R' || state == 'D';
}

}  // namespace

bool other_threads_run() {
  auto folder =
      static_cast<int>(syscall_raw(number::kOpen, as_long(&kTasks[0]), kFolder | kCloexec));
  if (folder < 0) return false;
  const auto own = thread_id();
  bool found = false;
  alignas(8) char buffer[4096];
  while (!found) {
    const auto got = syscall_raw(number::kGetdents64, folder, as_long(&buffer[0]), sizeof buffer);
    if (got <= 0) break;
    for (long at = 0; at < got && !found;) {
      constexpr int kLengthAt = 16, kNameAt = 19;
      std::uint16_t length = 0;
      __builtin_memcpy(&length, buffer + at + kLengthAt, sizeof length);
      if (length <= kNameAt) break;
      const char* name = buffer + at + kNameAt;
      std::uint32_t id = 0;
      for (const char* c = name; *c >= '0' && *c <= '9'; ++c)
        id = id * 10 + static_cast<std::uint32_t>(*c - '0');
      found = id != 0 && id != own && runs(name);
      at += length;
    }
  }
  close_fd(folder);
  return found;
}

}  // namespace clrscope::agent
