#include "agent/environment.h"

#include "agent/syscalls.h"
#include "wire/heap.h"

namespace clrscope::agent {
namespace {

constexpr long kReadOnlyCloexec = 02000000;
constexpr std::size_t kLargest = 1 << 20;
constexpr std::size_t kLongestFolder = 100;

// A file of /proc, in memory of its own.
class ProcFile {
 public:
  explicit ProcFile(const char* path) {
    auto fd = static_cast<int>(syscall_raw(number::kOpen, as_long(path), kReadOnlyCloexec));
    if (fd < 0) return;
    bytes_ = static_cast<char*>(map_memory(kLargest));
    while (bytes_ && size_ + 1 < kLargest) {
      const auto got = syscall_raw(number::kRead, fd, as_long(bytes_ + size_),
                                   static_cast<long>(kLargest - 1 - size_));
      if (got <= 0) break;
      size_ += static_cast<std::size_t>(got);
    }
    close_fd(fd);
  }
  ProcFile(const ProcFile&) = delete;
  ProcFile& operator=(const ProcFile&) = delete;
  ~ProcFile() {
    if (bytes_) syscall_raw(number::kMunmap, as_long(bytes_), kLargest);
  }

  const char* begin() const { return bytes_; }
  const char* end() const { return bytes_ + size_; }

 private:
  char* bytes_ = nullptr;
  std::size_t size_ = 0;
};

// The value of NAME=value in an environment, which ends with a zero; null: not there.
const char* value_of(const ProcFile& environment, const char* name) {
  for (const char* at = environment.begin(); at < environment.end(); ++at) {
    const char* letter = name;
    while (*letter != 0 && *at == *letter) ++at, ++letter;
    if (*letter == 0 && *at == '=') return at + 1;
    while (at < environment.end() && *at != 0) ++at;
  }
  return nullptr;
}

struct PathWriter {
  char* to;
  std::size_t left;

  void put(char letter) {
    if (left <= 1) return;
    *to++ = letter;
    *to = 0;
    --left;
  }
  void put(const char* text, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) put(text[i]);
  }
  void put(std::uint64_t value) {
    char digits[20];
    unsigned count = 0;
    do digits[count++] = static_cast<char>('0' + value % 10);
    while ((value /= 10) != 0);
    while (count > 0) put(digits[--count]);
  }
};

std::size_t length_of(const char* text) {
  std::size_t size = 0;
  while (text[size] != 0) ++size;
  return size;
}

// Field 22 of /proc/self/stat; the fields are counted from behind the name, which may hold blanks.
std::uint64_t start_ticks() {
  const ProcFile stat{"/proc/self/stat"};
  const char* at = stat.end();
  while (at > stat.begin() && *at != ')') --at;
  unsigned blanks = 0;
  for (; at < stat.end() && blanks < 20; ++at) blanks += *at == ' ' ? 1 : 0;
  std::uint64_t ticks = 0;
  for (; at < stat.end() && *at >= '0' && *at <= '9'; ++at)
    ticks = ticks * 10 + static_cast<std::uint64_t>(*at - '0');
  return ticks;
}

}  // namespace

bool is_switched_off() {
  const ProcFile environment{"/proc/self/environ"};
  const char* value = environment.begin() ? value_of(environment, "CLRSCOPE_AGENT") : nullptr;
  return value && value[0] == '0' && value[1] == 0;
}

std::uint32_t start_features() {
  struct Feature {
    const char* word;
    std::uint32_t bit;
  };
  constexpr Feature kFeatures[] = {{"objects", wire::kStartObjects},
                                   {"moved", wire::kStartMoved},
                                   {"transitions", wire::kStartTransitions}};
  const ProcFile environment{"/proc/self/environ"};
  const char* value = environment.begin() ? value_of(environment, "CLRSCOPE_AGENT_START") : nullptr;
  std::uint32_t features = 0;
  while (value && *value != 0) {
    for (const auto& feature : kFeatures) {
      const char* at = value;
      const char* word = feature.word;
      while (*word != 0 && *at == *word) ++at, ++word;
      if (*word == 0 && (*at == ',' || *at == 0)) features |= feature.bit;
    }
    while (*value != 0 && *value != ',') ++value;
    if (*value == ',') ++value;
  }
  return features;
}

bool default_socket(char (&path)[108]) {
  const auto ticks = start_ticks();
  if (ticks == 0) return false;
  char name[64]{};
  PathWriter writer{name, sizeof name};
  constexpr char kPrefix[] = "/clrscope-agent-";
  writer.put(kPrefix, sizeof kPrefix - 1);
  writer.put(static_cast<std::uint64_t>(syscall_raw(number::kGetpid)));
  writer.put('-');
  writer.put(ticks);

  const ProcFile environment{"/proc/self/environ"};
  const char* folder = environment.begin() ? value_of(environment, "TMPDIR") : nullptr;
  std::size_t size = folder ? length_of(folder) : 0;
  while (size > 1 && folder[size - 1] == '/') --size;
  if (size == 0 || folder[0] != '/' || size + length_of(name) > kLongestFolder) {
    folder = "/tmp";
    size = 4;
  }
  PathWriter whole{path, sizeof path};
  whole.put(folder, size);
  whole.put(name, length_of(name));
  constexpr char kControl[] = "/control";
  whole.put(kControl, sizeof kControl - 1);
  return true;
}

}  // namespace clrscope::agent
