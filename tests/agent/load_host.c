// Loads the agent as a runtime would, in a process of any C library: attaches it, listens, throws, detaches.
// Its runtime agrees to everything and knows nothing. Prints "ok" or what was wrong.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

typedef int32_t (*Function)();
typedef struct { Function* table; } Object;

static const uint8_t main_class[16] = {0x9e, 0xc0, 0xa5, 0xc1, 0xe7, 0xa6, 0x31, 0x4d, 0x9b, 0x02, 0x0c, 0x15, 0xc0, 0x9e, 0x00, 0x01};
static const uint8_t factory_interface[16] = {1, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x46};
static const uint8_t unknown_interface[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0x46};
enum { kInfoSlots = 115, kAttach = 80, kAttachComplete = 81, kDetachSucceeded = 82, kThrown = 54, kCatcherEnter = 66 };

enum { kProtocol = 2 };
struct AttachData { uint32_t magic; uint16_t protocol, reserved; uint64_t build; char socket[108]; };
struct Request { uint32_t magic; uint16_t protocol, kind; uint32_t id, value; };

static Function table[kInfoSlots];
static Object runtime = {table};
static Object* callbacks;

static int32_t agree() { return 0; }
static int32_t query(Object* self, const void* id, Object** answer) {
  (void)id;
  *answer = self;
  return 0;
}

static int fail(const char* what) {
  printf("failed: %s\n", what);
  return 1;
}

// The outcome of the reply; -1: the connection ended.
static int ask(int fd, uint16_t kind, uint32_t value) {
  static uint32_t id;
  const struct Request request = {0x52414c43, kProtocol, kind, ++id, value};
  uint8_t reply[256];
  if (send(fd, &request, sizeof request, MSG_NOSIGNAL) != sizeof request) return -1;
  if (recv(fd, reply, sizeof reply, 0) < 72) return -1;
  int32_t outcome;
  memcpy(&outcome, reply + 12, sizeof outcome);
  return outcome;
}

static void* throw_some(void* none) {
  for (int i = 0; i < 1000; ++i) {
    callbacks->table[kThrown](callbacks, (uintptr_t)8);
    callbacks->table[kCatcherEnter](callbacks, (uintptr_t)0, (uintptr_t)8);
  }
  return none;
}

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage: load_host LIBRARY FOLDER");
  void* library = dlopen(argv[1], RTLD_LAZY);
  if (!library) return fail(dlerror());
  int32_t (*get_class)(const void*, const void*, void**) = (int32_t(*)(const void*, const void*, void**))dlsym(library, "DllGetClassObject");
  if (!get_class) return fail("no DllGetClassObject");
  for (int i = 0; i < kInfoSlots; ++i) table[i] = agree;
  table[0] = query;
  Object* factory = NULL;
  if (get_class(main_class, factory_interface, (void**)&factory) != 0) return fail("no class");
  if (factory->table[3](factory, NULL, unknown_interface, &callbacks) != 0) return fail("no instance");
  for (int round = 0; round < 3; ++round) {
    struct AttachData data = {0x52414c43, kProtocol, 0, 7, ""};
    if (snprintf(data.socket, sizeof data.socket, "%s/agent/control", argv[2]) >= (int)sizeof data.socket) return fail("folder");
    if (callbacks->table[kAttach](callbacks, &runtime, &data, (uint32_t)sizeof data) != 0) return fail("attach");
    callbacks->table[kAttachComplete](callbacks);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, data.socket, sizeof data.socket);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
    if (connect(fd, (struct sockaddr*)&address, sizeof address) != 0) return fail("connect");
    if (ask(fd, 1, 0) != 0) return fail("hello");
    if (ask(fd, 2, 0) != 0) return fail("open");
    if (ask(fd, 3, 1) != 0) return fail("switch");
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i)
      if (pthread_create(&threads[i], NULL, throw_some, NULL) != 0) return fail("thread");
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    if (ask(fd, 5, 0) != 0) return fail("detach");
    callbacks->table[kDetachSucceeded](callbacks);
    char byte;
    if (recv(fd, &byte, 1, 0) != 0) return fail("the connection stays");
    close(fd);
    if (access(data.socket, F_OK) == 0) return fail("the socket stays");
  }
  printf("ok\n");
  return 0;
}
