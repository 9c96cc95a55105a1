#include "agent/events.h"

#include "agent/names.h"
#include "agent/stack.h"
#include "agent/syscalls.h"
#include "wire/control.h"

namespace clrscope::agent {
namespace {

constexpr std::uint64_t kGc = 0x1, kContentions = 0x4000, kAllocationSampling = 0x800'0000'0000;
constexpr std::uint32_t kInformational = 4, kVerbose = 5;
constexpr std::uint32_t kAllocationTick = 10, kContentionStart = 81, kContentionStop = 91,
                        kAllocationSampled = 303;
constexpr std::uint16_t kSamplesAllocations = 10;  // the first runtime that has them
constexpr std::uint32_t kAllocating = wire::kSourceAllocations | wire::kSourceSurvivors;
constexpr std::uint32_t kLongestTypeName = 4096;  // UTF-16 units

struct ProviderConfig {
  const char16_t* name;
  std::uint64_t keywords;
  std::uint32_t level;
  const char16_t* filter;
};
static_assert(sizeof(ProviderConfig) == 32);

// A wait that has begun on this thread.
struct Wait {
  std::uint64_t time;
  std::uint64_t lock;
  std::uint32_t owner;
  std::uint32_t count;
  std::uint32_t frames[wire::kMostFrames];
};
thread_local constinit Wait t_wait{};

class Payload {
 public:
  Payload(const std::uint8_t* bytes, std::uint32_t size) : at_(bytes), left_(size) {}

  template <class T>
  T read() {
    T value{};
    if (left_ < sizeof(T)) {
      ok_ = false;
      left_ = 0;
      return value;
    }
    __builtin_memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    left_ -= static_cast<std::uint32_t>(sizeof(T));
    return value;
  }
  // UTF-16 up to a zero, which is taken too; returns its length.
  std::uint32_t read_text(const std::uint8_t*& text) {
    text = at_;
    for (std::uint32_t units = 0; ok_ && units < kLongestTypeName; ++units)
      if (read<std::uint16_t>() == 0) return ok_ ? units : 0;
    ok_ = false;
    return 0;
  }
  bool ok() const { return ok_; }

 private:
  const std::uint8_t* at_;
  std::uint32_t left_;
  bool ok_ = true;
};

wire::RecordHeader header_of(wire::RecordKind kind) {
  return {.kind = kind, .bytes = 0, .thread = this_thread(), .time = read_tsc()};
}

// The stack is taken here, where the thread waits anyway: at the end it has the lock.
void on_wait_begins(ComObject* runtime, Recorder& recorder, const DeliveredEvent& event) {
  Payload in{event.payload, event.size};
  (void)in.read<std::uint8_t>();
  (void)in.read<std::uint16_t>();
  t_wait.lock = in.read<std::uint64_t>();
  (void)in.read<std::uint64_t>();
  t_wait.owner = static_cast<std::uint32_t>(in.read<std::uint64_t>());
  t_wait.time = read_tsc();
  t_wait.count = take_stack(runtime, recorder, t_wait.frames);
}

void on_wait_ends(Recorder& recorder, const DeliveredEvent& event) {
  if (t_wait.time == 0) return;  // it began before we listened
  Payload in{event.payload, event.size};
  (void)in.read<std::uint8_t>();
  (void)in.read<std::uint16_t>();
  const auto ns = in.read<double>();
  t_wait.time = 0;
  if (!in.ok() || !(ns >= 0 && ns < 1e18)) return;
  recorder.count_contention();
  recorder.write(wire::Contention{.header = header_of(wire::RecordKind::kContention),
                                  .wait_ns = static_cast<std::uint64_t>(ns),
                                  .lock = t_wait.lock,
                                  .owner = t_wait.owner,
                                  .frames = t_wait.count},
                 t_wait.frames, t_wait.count);
}

void on_allocation(ComObject* runtime, Recorder& recorder, Survivors& survivors,
                   std::uint32_t sources, const DeliveredEvent& event) {
  Payload in{event.payload, event.size};
  std::uint64_t represents = 0;
  (void)in.read<std::uint32_t>();  // the amount in 32 bits; of samples the kind
  if (event.id == kAllocationTick) {
    (void)in.read<std::uint32_t>();  // kind
    (void)in.read<std::uint16_t>();
    represents = in.read<std::uint64_t>();
  } else {
    (void)in.read<std::uint16_t>();
  }
  const auto type = static_cast<Id>(in.read<std::uint64_t>());
  const std::uint8_t* name = nullptr;
  const auto units = in.read_text(name);
  if (event.id == kAllocationTick) (void)in.read<std::uint32_t>();  // heap
  const auto address = static_cast<Id>(in.read<std::uint64_t>());
  const auto size = in.read<std::uint64_t>();
  if (!in.ok()) return;
  recorder.count_allocation();
  std::uint32_t frames[wire::kMostFrames];
  const auto count = take_stack(runtime, recorder, frames);
  const auto slot = type_slot(runtime, recorder, type, name, units);
  if ((sources & wire::kSourceAllocations) != 0)
    recorder.write(wire::Allocation{.header = header_of(wire::RecordKind::kAllocation),
                                    .size = size,
                                    .represents = represents,
                                    .type = slot,
                                    .frames = count},
                   frames, count);
  if ((sources & wire::kSourceSurvivors) == 0) return;
  const auto number = survivors.follow(runtime, address);
  if (number == 0) return recorder.count(wire::Drop::kObjectsFull);
  recorder.write(wire::SampledObject{.header = header_of(wire::RecordKind::kSampledObject),
                                     .size = size,
                                     .represents = represents,
                                     .number = number,
                                     .type = slot,
                                     .reserved = 0,
                                     .frames = count},
                 frames, count);
}

}  // namespace

EventConfig event_config(std::uint32_t sources, std::uint16_t runtime_major) {
  EventConfig config;
  if ((sources & wire::kSourceContention) != 0) config = {kContentions, kInformational};
  if ((sources & kAllocating) != 0) {
    const bool samples = runtime_major >= kSamplesAllocations;
    config.keywords |= samples ? kAllocationSampling : kGc;
    config.level = samples ? kInformational : kVerbose;
  }
  return config;
}

HResult start_events(ComObject* runtime, const EventConfig& config, std::uint64_t& session) {
  const ProviderConfig provider{u"Microsoft-Windows-DotNETRuntime", config.keywords, config.level,
                                nullptr};
  return call(runtime, info::kEventPipeStartSession, std::uint32_t{1}, &provider, std::int32_t{0},
              &session);
}

HResult stop_events(ComObject* runtime, std::uint64_t session) {
  return call(runtime, info::kEventPipeStopSession, session);
}

wire::Spender spender_of(const DeliveredEvent& event, std::uint32_t sources) {
  if (event.id == kContentionStart || event.id == kContentionStop)
    return wire::Spender::kContention;
  return (sources & wire::kSourceAllocations) != 0 ? wire::Spender::kAllocations
                                                   : wire::Spender::kSurvivors;
}

void on_event(ComObject* runtime, Recorder& recorder, Survivors& survivors, std::uint32_t sources,
              const DeliveredEvent& event) {
  const bool contention = (sources & wire::kSourceContention) != 0;
  const bool allocations = (sources & kAllocating) != 0;
  if (contention && event.id == kContentionStart) {
    on_wait_begins(runtime, recorder, event);
  } else if (contention && event.id == kContentionStop) {
    on_wait_ends(recorder, event);
  } else if (allocations && event.version >= 4 && event.id == kAllocationTick) {
    on_allocation(runtime, recorder, survivors, sources, event);
  } else if (allocations && event.id == kAllocationSampled) {
    on_allocation(runtime, recorder, survivors, sources, event);
  }
}

}  // namespace clrscope::agent
