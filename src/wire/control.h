// The messages on the agent's control socket: one fixed request, one fixed reply, SOCK_SEQPACKET.
//
// The first 16 bytes of both never change, and kHello and kDetach of any version are understood by
// every other version: a newer clrscope can always ask an older agent who it is, and remove it.
// The reply to kOpen carries the memfd of the arena. Compiles freestanding.
#pragma once

#include "wire/arena.h"

namespace clrscope::wire {

constexpr std::uint32_t kControlMagic = 0x5241'4c43;  // "CLAR"

// The two classes of the library. The second never takes the place of the main profiler.
constexpr std::uint8_t kMainClass[16] = {0x9e, 0xc0, 0xa5, 0xc1, 0xe7, 0xa6, 0x31, 0x4d,
                                         0x9b, 0x02, 0x0c, 0x15, 0xc0, 0x9e, 0x00, 0x01};
constexpr std::uint8_t kNotificationClass[16] = {0x9e, 0xc0, 0xa5, 0xc1, 0xe7, 0xa6, 0x31, 0x4d,
                                                 0x9b, 0x02, 0x0c, 0x15, 0xc0, 0x9e, 0x00, 0x02};
constexpr char kMainClassText[] = "{C1A5C09E-A6E7-4D31-9B02-0C15C09E0001}";
constexpr char kNotificationClassText[] = "{C1A5C09E-A6E7-4D31-9B02-0C15C09E0002}";

enum class RequestKind : std::uint16_t {
  kHello = 1,     // who are you
  kOpen = 2,      // I am the one who listens: pass me the arena; sources end with this connection
  kSwitch = 3,    // value: the sources that are on from now on; above them the rate of kSourceCpu
  kSnapshot = 4,  // all-thread stacks into the rings
  kDetach = 5,    // leave the process; the connection closes when it is done
  // Method probes; the answers to the last two only say that the work has begun: see wire/probes.h.
  kProbesOpen = 48,    // pass me the memory of the probes
  kProbesApply = 49,   // do what the order in it says
  kProbesRevert = 50,  // give all methods their own code back
  kHeap = 80,          // objects of the heap by type into the rings; value: HeapOptions
  // Request profiling: see wire/requests.h.
  kRequestsOpen = 64,    // pass me the memory of the requests
  kRequestsStart = 65,   // sample as the order in it says; needs the helper in the process
  kRequestsStop = 66,    // sample no more
  kRequestsFinish = 67,  // hear no more that begin, until a stop; those in flight may end
};

enum class Outcome : std::int32_t {
  kDone = 0,
  kBadRequest = 1,     // not a request of this protocol; the agent closes the connection
  kOtherProtocol = 2,  // only kHello and kDetach are possible
  kBusy = 3,           // another connection has the arena
  kNotOpen = 4,        // needs kOpen first
  kRefused = 5,        // by the runtime: see hresult
  kTimeout = 6,        // the runtime has not answered yet; the agent does nothing until it does
  kLeaving = 7,        // it is being detached
  kUnsupported = 8,    // unknown source or request
};

enum Source : std::uint32_t {
  kSourceExceptions = 1,
  kSourceContention = 2,
  kSourceAllocations = 4,
  kSourceCpu = 16,
  kSourceSurvivors = 0x100,  // what became of sampled objects in the next collections
  kSourceMethods = 0x200,    // in the status only: methods are instrumented
  kSourceRuntime = 0x400,    // collections, suspensions, threads, modules, compilations
  kSourceObjects = 0x800,    // every object allocated; needs CLRSCOPE_AGENT_START
};
constexpr std::uint32_t kAllSources = kSourceExceptions | kSourceContention | kSourceAllocations |
                                      kSourceCpu | kSourceSurvivors | kSourceRuntime |
                                      kSourceObjects;
// The value of kSwitch: sources in the lower half, samples per second of CPU time in the upper one.
constexpr std::uint32_t kRateShift = 16;
constexpr std::uint32_t kSourceBits = (1U << kRateShift) - 1;
constexpr std::uint32_t kUsualCpuRate = 1000;  // the kernel's tick limits it to 100 … 1000

struct Request {
  std::uint32_t magic;
  std::uint16_t protocol;
  RequestKind kind;
  std::uint32_t id;
  std::uint32_t value;
};

enum class LoadMode : std::uint8_t { kAttached = 1, kAtStart = 2 };
enum class Identity : std::uint8_t { kMain = 1, kNotificationOnly = 2 };

enum StatusFlags : std::uint8_t {
  kLeavingFlag = 1,
  kResidentFlag = 2,  // methods were instrumented once: the runtime does not let it leave any more
};

struct Status {
  std::uint64_t build;  // crc of the agent that clrscope placed; 0: unknown
  std::uint32_t pid;    // as the process numbers itself
  std::uint32_t sources;
  LoadMode mode;
  Identity identity;
  std::uint8_t info;   // newest ICorProfilerInfo of the runtime: 12 to 15
  std::uint8_t flags;  // StatusFlags
  std::uint16_t runtime_major;
  std::uint16_t runtime_minor;
  std::int32_t hresult;  // of the last call that the runtime refused
  std::uint32_t connections;
  std::uint64_t snapshots;
  std::uint64_t bad_requests;
  std::uint64_t refused_peers;
};

struct Reply {
  std::uint32_t magic;
  std::uint16_t protocol;
  RequestKind kind;
  std::uint32_t id;
  Outcome outcome;
  Status status;
};

// What the agent is told when it is attached: its client data.
struct AttachData {
  std::uint32_t magic;
  std::uint16_t protocol;
  std::uint16_t reserved;
  std::uint64_t build;
  char socket[108];  // path of the control socket, in the process' own file system
};

static_assert(sizeof(Request) == 16 && sizeof(Status) == 56 && sizeof(Reply) == 72 &&
              sizeof(AttachData) == 128);

// Whether these bytes are a request that must be answered, of any protocol version.
bool is_request(const void* bytes, std::uint64_t size);
// Whether these bytes answer the request of this number. An agent of another version may send
// more or fewer bytes behind the first 16.
bool is_reply(const void* bytes, std::uint64_t size, std::uint32_t id);
// The reply, with zeros for what was not sent.
Reply parse_reply(const void* bytes, std::uint64_t size);
// Whether client data is ours, with a path that ends inside.
bool is_attach_data(const void* bytes, std::uint64_t size);

}  // namespace clrscope::wire
