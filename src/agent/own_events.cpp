#include "agent/own_events.h"

#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

// COR_PRF_EVENTPIPE_PARAM_DESC and COR_PRF_EVENT_DATA.
struct Parameter {
  std::uint32_t type;
  std::uint32_t element;  // of arrays
  const char16_t* name;
};
struct Data {
  const void* at;
  std::uint32_t size;
  std::uint32_t reserved;
};
static_assert(sizeof(Parameter) == 16 && sizeof(Data) == 16);

// 64 bits with a sign: tools show those without one as addresses.
constexpr std::uint32_t kUInt32 = 10, kInt64 = 11, kString = 18;
constexpr std::uint32_t kInformational = 4;
constexpr std::uint64_t kAllKeywords =
    OwnEvents::kExceptions | OwnEvents::kSurvivors | OwnEvents::kSnapshots;
constexpr std::uint32_t kLongestName = 512;  // UTF-16 units, with the zero

constexpr Parameter kCaught[] = {{kInt64, 0, u"Number"},
                                 {kString, 0, u"Type"},
                                 {kString, 0, u"Method"},
                                 {kInt64, 0, u"DurationNs"}};
constexpr Parameter kSurvived[] = {{kInt64, 0, u"Collection"},
                                   {kUInt32, 0, u"Generation"},
                                   {kUInt32, 0, u"Died"},
                                   {kUInt32, 0, u"SurvivedFirst"},
                                   {kUInt32, 0, u"SurvivedSecond"}};
constexpr Parameter kTaken[] = {{kInt64, 0, u"Number"},
                                {kUInt32, 0, u"Threads"},
                                {kUInt32, 0, u"Failed"},
                                {kInt64, 0, u"PauseNs"}};

struct Definition {
  const char16_t* name;
  std::uint64_t keyword;
  const Parameter* parameters;
  std::uint32_t count;
};
constexpr Definition kEvents[] = {{u"ExceptionCaught", OwnEvents::kExceptions, kCaught, 4},
                                  {u"ObjectsSurvived", OwnEvents::kSurvivors, kSurvived, 5},
                                  {u"SnapshotTaken", OwnEvents::kSnapshots, kTaken, 4}};

template <class T>
Data data_of(const T& value) {
  return {&value, sizeof value, 0};
}

// A name of the arena as UTF-16 with a zero behind it: never more units than bytes.
class Name {
 public:
  Name(Recorder& recorder, std::uint32_t slot) {
    char text[kLongestName];
    const auto size = wire::copy_name(*recorder.arena(), slot, text, kLongestName - 1);
    for (std::uint32_t at = 0; at < size;) put(text, size, at);
    text_[units_++] = 0;
  }
  Data data() const { return {text_, units_ * 2, 0}; }

 private:
  // Names are UTF-8 that the agent itself has written; a cut one ends in '?'.
  void put(const char* text, std::uint32_t size, std::uint32_t& at) {
    const auto first = static_cast<unsigned char>(text[at++]);
    const std::uint32_t more = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    std::uint32_t point = first < 0xc0 ? first : first & (0x3fU >> more);
    if (at + more > size) {
      at = size;
      text_[units_++] = u'?';
      return;
    }
    for (std::uint32_t i = 0; i < more; ++i)
      point = point << 6 | (static_cast<unsigned char>(text[at++]) & 0x3fU);
    if (point < 0x1'0000) {
      text_[units_++] = static_cast<char16_t>(point);
      return;
    }
    point -= 0x1'0000;
    text_[units_++] = static_cast<char16_t>(0xd800 + (point >> 10 & 0x3ff));
    text_[units_++] = static_cast<char16_t>(0xdc00 + (point & 0x3ff));
  }

  char16_t text_[kLongestName];
  std::uint32_t units_ = 0;
};

template <std::uint32_t kCount>
void send(ComObject* runtime, std::uintptr_t event, const Data (&data)[kCount]) {
  (void)call(runtime, info::kEventPipeWriteEvent, event, kCount, &data[0],
             static_cast<const Guid*>(nullptr), static_cast<const Guid*>(nullptr));
}

}  // namespace

// The runtime calls this for each session that comes or goes, with what all of them want together;
// also when the agent has left, since the library stays.
void OwnEvents::on_enable(const std::uint8_t*, std::uint32_t is_enabled, std::uint8_t level,
                          std::uint64_t any_keywords, std::uint64_t, void*, void*) {
  const bool on = is_enabled != 0 && (level == 0 || level >= kInformational);
  // No keywords: all events.
  const auto wanted = any_keywords == 0 ? kAllKeywords : any_keywords & kAllKeywords;
  enabled_.store(on ? wanted : 0, std::memory_order_release);
}

HResult OwnEvents::create(ComObject* runtime) {
  if (tried_.exchange(true, std::memory_order_acq_rel)) return kFalse;
  born_ = {read_tsc(), monotonic_ns()};
  const char16_t* name = u"Clrscope-Agent";
  const auto made = call(runtime, info::kEventPipeCreateProvider2, name, &on_enable, &provider_);
  if (made < 0) return made;
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto& one = kEvents[i];
    const auto defined = call(runtime, info::kEventPipeDefineEvent, provider_, one.name, i + 1,
                              one.keyword, std::uint32_t{1}, kInformational, std::uint8_t{0},
                              std::int32_t{0}, one.count, one.parameters, &events_[i]);
    if (defined < 0) return defined;
  }
  ready_.store(true, std::memory_order_release);
  return kOk;
}

// The processor's ticks since create() against the clock: exact enough from the first event on.
std::uint64_t OwnEvents::ns_of(std::uint64_t ticks) const {
  const auto tsc = read_tsc(), now = monotonic_ns();
  if (tsc <= born_.tsc || now <= born_.monotonic_ns) return 0;
  const auto rate =
      static_cast<double>(now - born_.monotonic_ns) / static_cast<double>(tsc - born_.tsc);
  return static_cast<std::uint64_t>(static_cast<double>(ticks) * rate);
}

void OwnEvents::write(ComObject* runtime, Recorder& recorder, const CaughtException& caught) const {
  if (!wants(kExceptions) || !ready_.load(std::memory_order_acquire)) return;
  const Name type{recorder, caught.type}, method{recorder, caught.method};
  const auto ns = ns_of(caught.ticks);
  const Data data[] = {data_of(caught.number), type.data(), method.data(), data_of(ns)};
  send(runtime, events_[0], data);
}

void OwnEvents::write(ComObject* runtime, const SurvivorCounts& counts) const {
  if (!wants(kSurvivors) || !ready_.load(std::memory_order_acquire)) return;
  const Data data[] = {data_of(counts.collection), data_of(counts.generation), data_of(counts.died),
                       data_of(counts.survived_first), data_of(counts.survived_second)};
  send(runtime, events_[1], data);
}

void OwnEvents::write(ComObject* runtime, const TakenSnapshot& snapshot) const {
  if (!wants(kSnapshots) || !ready_.load(std::memory_order_acquire)) return;
  const auto ns = ns_of(snapshot.pause_ticks);
  const Data data[] = {data_of(snapshot.number), data_of(snapshot.threads),
                       data_of(snapshot.failed), data_of(ns)};
  send(runtime, events_[2], data);
}

}  // namespace clrscope::agent
