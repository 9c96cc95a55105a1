// A data access library that misbehaves, for hostile_test.cpp. How, says a letter in the target's
// memory, at the address where its "runtime" is mapped.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

// As in the runtime's files; the test's target has the same.
EXPORT const char sccsid[] = "@(#)Version 9.9.999.1 @Commit: fake";

enum { kChannel = 3, kMemory = 5 };
enum { kReadMessage = 10 };
enum { kFailed = (int)0x80004005 };

typedef int (*ImageBase)(void*, const uint16_t*, uint64_t*);
typedef int (*ReadVirtual)(void*, uint64_t, uint8_t*, uint32_t, uint32_t*);

static void* function_of(void* object, unsigned slot) {
  void** table = *(void***)object;
  return table[slot];
}

static int read_target(void* target, uint64_t offset, void* out, uint32_t size) {
  uint64_t base = 0;
  uint32_t done = 0;
  ImageBase image_base;
  ReadVirtual read_virtual;
  void* slot = function_of(target, 5);
  memcpy(&image_base, &slot, sizeof slot);
  slot = function_of(target, 6);
  memcpy(&read_virtual, &slot, sizeof slot);
  if (image_base(target, NULL, &base) != 0) return 0;
  return read_virtual(target, base + offset, out, size, &done) == 0 && done == size;
}

static void say(uint32_t size, uint8_t kind, const void* body, size_t body_size) {
  uint8_t header[5];
  memcpy(header, &size, 4);
  header[4] = kind;
  if (write(kChannel, header, sizeof header) < 0 || write(kChannel, body, body_size) < 0) return;
}

// An object whose every answer is odd.
struct Odd {
  void** table;
};
static void* g_process_table[90];
static void* g_table[90];
static struct Odd g_process = {g_process_table};
static struct Odd g_odd = {g_table};
static char g_command;
static volatile uintptr_t g_nowhere = 8;

static int odd_query(void* self, const void* id, void** out) {
  (void)self, (void)id;
  *out = &g_odd;
  return 0;
}
static int odd_nothing(void* self) {
  (void)self;
  return 0;
}
static int odd_thread_store(void* self, uint8_t* out) {
  (void)self;
  const uint64_t first = 0x1000;
  memset(out, 0xff, 0x38);
  memcpy(out + 24, &first, 8);
  return 0;
}
// Its own successor ('T'), or one of ever new ones ('B').
static int odd_thread(void* self, uint64_t address, uint8_t* out) {
  (void)self;
  memset(out, 0, 0x68);
  const uint64_t next = g_command == 'T' ? address : address + 8;
  memcpy(out + 0x60, &next, 8);
  return 0;
}
static int odd_sync_block(void* self, uint32_t number, uint8_t* out) {
  (void)self, (void)number;
  memset(out, 0, 0x48);
  memset(out + 0x40, 0xff, 4);  // four billion of them
  return 0;
}
static int odd_code(void* self, uint64_t pc, uint8_t* out) {
  (void)self, (void)pc;
  memset(out, 0x11, 0x38);
  return 0;
}
static int odd_method(void* self, uint64_t method, uint64_t pc, uint8_t* out) {
  (void)self, (void)method, (void)pc;
  memset(out, 0x22, 0x98);
  return 0;
}
// Fills all of it and wants more.
static int odd_name(void* self, uint64_t of, uint32_t count, uint16_t* out, uint32_t* needed) {
  (void)self, (void)of;
  for (uint32_t i = 0; i < count; ++i) out[i] = 'x';
  *needed = 0xffffffff;
  return 0;
}

static void* entry_of(const void* function) {
  void* entry;
  memcpy(&entry, function, sizeof entry);
  return entry;
}
#define ENTRY(table, slot, function)         \
  do {                                       \
    void* pointer_ = NULL;                   \
    int (*f_)() = (int (*)())(function);     \
    memcpy(&pointer_, &f_, sizeof pointer_); \
    (table)[slot] = entry_of(&pointer_);     \
  } while (0)

static int be_odd(void** out) {
  for (unsigned i = 0; i < sizeof g_table / sizeof *g_table; ++i) {
    ENTRY(g_table, i, odd_nothing);
    ENTRY(g_process_table, i, odd_nothing);
  }
  ENTRY(g_process_table, 0, odd_query);
  ENTRY(g_table, 0, odd_query);
  ENTRY(g_table, 3, odd_thread_store);
  ENTRY(g_table, 17, odd_thread);
  ENTRY(g_table, 20, odd_method);
  ENTRY(g_table, 22, odd_name);
  ENTRY(g_table, 26, odd_code);
  ENTRY(g_table, 59, odd_sync_block);
  *out = &g_process;
  return 0;
}

static int opens(const char* path) {
  const int fd = open(path, O_RDWR);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// Bit by bit: what should not have worked and did.
static int broken_walls(void) {
  struct rlimit more = {1 << 20, 1 << 20};
  int broken = 0;
  if (opens("/proc/self/mem") || opens("/proc/self/fd/5") || opens("/proc/1/mem")) broken |= 1;
  if (pwrite(kMemory, "x", 1, 0x1000) > 0 || write(kMemory, "x", 1) == 1) broken |= 2;
  if (fcntl(kChannel, F_SETOWN, getpid()) == 0) broken |= 4;
  if (setrlimit(RLIMIT_NOFILE, &more) == 0 || setrlimit(RLIMIT_CORE, &more) == 0) broken |= 8;
  if (geteuid() == 0 || getuid() == 0) broken |= 16;
  // Harmless where there is no cage, and told apart by how they fail.
  if (chdir("/") == 0 || mkdir("/nowhere/here", 0700) == 0 || errno != ENOSYS) broken |= 32;
  if (rename("/nowhere/a", "/nowhere/b") == 0 || errno != ENOSYS) broken |= 64;
  if (truncate("/nowhere/a", 0) == 0 || errno != ENOSYS) broken |= 128;
  return broken;
}

static void misbehave(void* target) {
  uint8_t body[12] = {0, 0x10};
  switch (g_command) {
    case 'L':
      for (volatile int i = 0;; ++i) continue;
    case 'S':
      for (;;) poll(NULL, 0, -1);
    case 'C':
      *(volatile int*)g_nowhere = 1;
      break;
    case 'A':
      abort();
    case 'E':
      _exit(7);
    case 'O':
      open("/etc/passwd", O_RDONLY);
      break;
    case 'F':
      if (fork() == 0) _exit(0);
      break;
    case 'X':
      execl("/bin/true", "true", (char*)NULL);
      break;
    case 'N':
      socket(AF_INET, SOCK_STREAM, 0);
      break;
    case 'K':
      kill(getppid(), SIGKILL);
      break;
    case 'M':
      for (;;) {
        volatile char* much = malloc(64 << 20);
        if (!much) abort();
        *much = 1;
      }
    case 'H':
      say(0xffffffff, kReadMessage, body, 0);
      for (;;) poll(NULL, 0, -1);
    case 'G':
      say(3, 200, "odd", 3);
      for (;;) poll(NULL, 0, -1);
    case 'R':
      for (uint64_t at = 0;; at += 4096) read_target(target, at << 20, body, 8);
    case 'W':
      body[9] = 1;  // 64 KB each
      body[8] = 0;
      body[10] = 0;
      for (;;) say(12, kReadMessage, body, 12);
    default:
      break;
  }
}

EXPORT int DllMain(void* handle, unsigned reason, void* reserved);
int DllMain(void* handle, unsigned reason, void* reserved) {
  (void)handle, (void)reason, (void)reserved;
  return 1;
}

EXPORT int CLRDataCreateInstance(const void* id, void* target, void** out);
int CLRDataCreateInstance(const void* id, void* target, void** out) {
  (void)id;
  if (!read_target(target, 0, &g_command, 1)) return kFailed;
  if (g_command == 'P') return (int)(0x80f00000u | (unsigned)broken_walls());
  if (strchr("TBY", g_command)) return be_odd(out);
  misbehave(target);
  return kFailed;
}

#ifdef FAKE_EARLY
__attribute__((constructor)) static void before_anything(void) { open("/etc/shadow", O_RDONLY); }
#endif
