// The smallest CLR profiler: it says in a file that the runtime has called it, and how.
//
// Configured by its client data when attached, by CLRSCOPE_LIVE_PROFILER when loaded at start. Both
// read "ANSWER PATH": ANSWER is the HRESULT to return, in hexadecimal; PATH is the file to write.
// With CLRSCOPE_LIVE_EVENTS it also writes events of its own, provider Clrscope-Probe, until the
// process ends: "short" writes truths of one byte, anything else of four.
// Uses nothing of the C++ library. The slots of the tables are those of corprof.h.
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "live/probe_profiler.h"

namespace {

using clrscope::live::kProbeClass;
using HResult = std::int32_t;
using Slot = void (*)();

constexpr HResult kOk = 0;
constexpr auto kNoInterface = static_cast<HResult>(0x80004002U);
constexpr auto kClassNotAvailable = static_cast<HResult>(0x80040111U);
constexpr auto kUnexpected = static_cast<HResult>(0x8000ffffU);

constexpr std::size_t kInitialize = 3;
constexpr std::size_t kInitializeForAttach = 80;
constexpr std::size_t kLoadAsNotificationOnly = 97;
constexpr std::size_t kCallbackSlots = 98;
constexpr std::size_t kFactorySlots = 5;

struct Object {
  const Slot* table;
};
extern Object profiler;

HResult nothing() { return kOk; }
std::uint32_t count_reference(void*) { return 1; }

// Writes "WORD" to the file that `order` names and returns the answer that it requests.
HResult obey(const char* order, std::size_t size, const char* word) {
  char text[4096];
  if (size >= sizeof text) return kUnexpected;
  std::memcpy(text, order, size);
  text[size] = 0;
  char* end = nullptr;
  const auto answer = std::strtoul(text, &end, 16);
  if (end == text || *end != ' ') return kUnexpected;
  const int file = ::open(end + 1, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return kUnexpected;
  const bool written = ::write(file, word, std::strlen(word)) > 0;
  ::close(file);
  return written ? static_cast<HResult>(answer) : kUnexpected;
}

// --- events of its own ---

constexpr std::size_t kCreateProvider = 104;  // of ICorProfilerInfo12
constexpr std::size_t kDefineEvent = 106;
constexpr std::size_t kWriteEvent = 107;
// {27B24CCD-1CB1-47C5-96EE-98190DC30959}
constexpr std::uint8_t kInfo12[] = {0xcd, 0x4c, 0xb2, 0x27, 0xb1, 0x1c, 0xc5, 0x47,
                                    0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59};

struct Parameter {
  std::uint32_t type;
  std::uint32_t element;
  const char16_t* name;
};
struct Data {
  const void* at;
  std::uint32_t size;
  std::uint32_t reserved;
};

Object* info = nullptr;
std::uintptr_t event = 0;
std::uint32_t truth_size = 4;

template <class Function, class... Arguments>
HResult call(Object* object, std::size_t slot, Arguments... arguments) {
  return reinterpret_cast<Function>(object->table[slot])(object, arguments...);
}

void* write_events(void*) {
  const std::int32_t yes = 1, no = 0;
  for (std::int32_t count = 7;; ::usleep(20'000)) {
    const Data data[] = {{&yes, truth_size, 0},
                         {&count, sizeof count, 0},
                         {u"probe", 6 * sizeof(char16_t), 0},
                         {&no, truth_size, 0}};
    call<HResult (*)(void*, std::uintptr_t, std::uint32_t, const Data*, const void*, const void*)>(
        info, kWriteEvent, event, 4U, data, nullptr, nullptr);
  }
}

void begin_events(void* runtime) {
  const char* request = std::getenv("CLRSCOPE_LIVE_EVENTS");
  if (!request) return;
  if (std::strcmp(request, "short") == 0) truth_size = 1;
  const Parameter parameters[] = {
      {3, 0, u"Hit"}, {9, 0, u"Count"}, {18, 0, u"Name"}, {3, 0, u"Last"}};
  std::uintptr_t provider = 0;
  pthread_t thread;
  if (call<HResult (*)(void*, const void*, void**)>(static_cast<Object*>(runtime), 0, kInfo12,
                                                    reinterpret_cast<void**>(&info)) == kOk &&
      call<HResult (*)(void*, const char16_t*, std::uintptr_t*)>(
          info, kCreateProvider, u"Clrscope-Probe", &provider) == kOk &&
      call<HResult (*)(void*, std::uintptr_t, const char16_t*, std::uint32_t, std::uint64_t,
                       std::uint32_t, std::uint32_t, std::uint8_t, std::int32_t, std::uint32_t,
                       const Parameter*, std::uintptr_t*)>(
          info, kDefineEvent, provider, u"Probed", 1U, std::uint64_t{0}, 1U, 4U, std::uint8_t{0}, 0,
          4U, parameters, &event) == kOk)
    (void)::pthread_create(&thread, nullptr, write_events, nullptr);
}

HResult initialize(void*, void* runtime) {
  begin_events(runtime);
  const char* order = std::getenv("CLRSCOPE_LIVE_PROFILER");
  return order ? obey(order, std::strlen(order), "Initialize") : kUnexpected;
}

HResult initialize_for_attach(void*, void*, const char* data, std::uint32_t size) {
  return obey(data, size, "InitializeForAttach");
}

HResult load_as_notification_only(void*, std::int32_t* answer) {
  *answer = 0;
  return kOk;
}

// One object is every interface of the runtime's callbacks.
HResult query(void* self, const void*, void** answer) {
  *answer = self;
  return kOk;
}

HResult create_instance(void*, void* outer, const void*, void** answer) {
  *answer = nullptr;
  if (outer) return kNoInterface;
  *answer = &profiler;
  return kOk;
}

template <std::size_t kSize>
struct Table {
  Slot slots[kSize];
  Table() {
    for (auto& slot : slots) slot = reinterpret_cast<Slot>(&nothing);
    slots[0] = reinterpret_cast<Slot>(&query);
    slots[1] = slots[2] = reinterpret_cast<Slot>(&count_reference);
  }
};

struct CallbackTable : Table<kCallbackSlots> {
  CallbackTable() {
    slots[kInitialize] = reinterpret_cast<Slot>(&initialize);
    slots[kInitializeForAttach] = reinterpret_cast<Slot>(&initialize_for_attach);
    slots[kLoadAsNotificationOnly] = reinterpret_cast<Slot>(&load_as_notification_only);
  }
};

struct FactoryTable : Table<kFactorySlots> {
  FactoryTable() { slots[3] = reinterpret_cast<Slot>(&create_instance); }
};

const CallbackTable callback_table;
const FactoryTable factory_table;
Object profiler{callback_table.slots};
Object factory{factory_table.slots};

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED HResult DllGetClassObject(const void* class_id, const void*, void** answer);
EXPORTED HResult DllCanUnloadNow();

HResult DllGetClassObject(const void* class_id, const void*, void** answer) {
  *answer = nullptr;
  if (std::memcmp(class_id, kProbeClass.data(), kProbeClass.size()) != 0) return kClassNotAvailable;
  *answer = &factory;
  return kOk;
}

HResult DllCanUnloadNow() { return 1; }  // S_FALSE: stay
