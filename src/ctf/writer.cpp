#include "ctf/writer.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <cstring>
#include <iterator>

#include "ctf/event_class.h"

namespace clrscope::ctf {
namespace {

constexpr std::uint32_t kMagic = 0xc1fc1fc1;
constexpr std::size_t kPacketBytes = 1 << 20;
constexpr std::size_t kHeaderBytes = 4 + 16 + 4;
constexpr std::size_t kContextBytes = 5 * 8;

// What every trace says of itself; {} are uuid, environment, uuid of the clock, offset.
constexpr std::string_view kPreamble = R"(/* CTF 1.8 */
typealias integer {{ size = 8; align = 8; signed = true; }} := int8_t;
typealias integer {{ size = 8; align = 8; signed = false; }} := uint8_t;
typealias integer {{ size = 16; align = 8; signed = true; }} := int16_t;
typealias integer {{ size = 16; align = 8; signed = false; }} := uint16_t;
typealias integer {{ size = 32; align = 8; signed = true; }} := int32_t;
typealias integer {{ size = 32; align = 8; signed = false; }} := uint32_t;
typealias integer {{ size = 64; align = 8; signed = true; }} := int64_t;
typealias integer {{ size = 64; align = 8; signed = false; }} := uint64_t;
typealias integer {{ size = 64; align = 8; signed = false; base = 16; }} := address_t;
typealias integer {{ size = 8; align = 8; signed = false; base = 16; }} := byte_t;
typealias floating_point {{ exp_dig = 8; mant_dig = 24; byte_order = le; align = 8; }} := float32_t;
typealias floating_point {{ exp_dig = 11; mant_dig = 53; byte_order = le; align = 8; }} := float64_t;
trace {{
  major = 1;
  minor = 8;
  uuid = "{0}";
  byte_order = le;
  packet.header := struct {{
    uint32_t magic;
    uint8_t uuid[16];
    uint32_t stream_id;
  }};
}};
env {{
{1}}};
clock {{
  name = "monotonic";
  description = "CLOCK_MONOTONIC";
  freq = 1000000000;
  offset_s = {2};
  offset = {3};
  absolute = false;
}};
typealias integer {{ size = 64; align = 8; signed = false; map = clock.monotonic.value; }} := clock_t;
stream {{
  id = 0;
  packet.context := struct {{
    clock_t timestamp_begin;
    clock_t timestamp_end;
    uint64_t content_size;
    uint64_t packet_size;
    uint64_t events_discarded;
  }};
  event.header := struct {{
    uint32_t id;
    clock_t timestamp;
  }};
  event.context := struct {{
    int32_t _vpid;
    uint64_t _vtid;
    int32_t _cpu_id;
    string _activity;
    uint32_t _stack_length;
    address_t _stack[_stack_length];
  }};
}};
/* babeltrace2 2.0 fails on a trace without any class, such as one that has just begun. */
event {{
  id = 0;
  name = "clrscope:none";
  stream_id = 0;
  fields := struct {{
  }};
}};
)";

// The format's own order of the first three groups is as text has them.
std::string uuid_text(const std::array<std::uint8_t, 16>& uuid) {
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    fmt::format_to(std::back_inserter(text), "{:02x}", uuid[i]);
  }
  return text;
}

template <class T>
void store(std::vector<std::uint8_t>& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

}  // namespace

template <class T>
void Writer::put(T value) {
  const auto at = packet_.size();
  packet_.resize(at + sizeof value);
  store(packet_, at, value);
}

Writer::Writer(const TraceFacts& facts, WriteBytes write) : write_(std::move(write)) {
  (void)!::getrandom(uuid_.data(), uuid_.size(), 0);
  uuid_[6] = static_cast<std::uint8_t>((uuid_[6] & 0x0f) | 0x40);  // version 4: random
  uuid_[8] = static_cast<std::uint8_t>((uuid_[8] & 0x3f) | 0x80);
  std::string environment;
  for (const auto& [key, value] : facts.environment)
    fmt::format_to(std::back_inserter(environment), "  {} = {};\n", key, quoted(value));
  const auto seconds = std::chrono::floor<std::chrono::seconds>(facts.clock_offset);
  metadata_ = fmt::format(fmt::runtime(kPreamble), uuid_text(uuid_), environment, seconds.count(),
                          (facts.clock_offset - seconds).count());
}

std::uint32_t Writer::class_of(const EventType& type, const nettrace::PayloadPlan& plan) {
  const auto& name = plan.event_name().empty() ? type.name : plan.event_name();
  const auto body =
      fmt::format("  name = {};\n  stream_id = 0;\n  fields := struct {{\n{}  }};\n",
                  quoted(fmt::format("{}:{}", type.provider,
                                     name.empty() ? fmt::format("Event({})", type.id) : name)),
                  describe(plan));
  const auto [at, is_new] =
      classes_.try_emplace(body, static_cast<std::uint32_t>(classes_.size() + 1));
  if (is_new)
    fmt::format_to(std::back_inserter(metadata_), "event {{\n  id = {};\n{}}};\n", at->second,
                   body);
  return at->second;
}

Result<> Writer::write(std::uint32_t event_class, const Event& event,
                       const nettrace::PayloadPlan& plan, StackView stack) {
  auto time =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, event.time.time_since_epoch().count()));
  if (time < last_) {
    ++late_;
    time = last_;
  }
  if (packet_.empty()) {
    packet_.resize(kHeaderBytes + kContextBytes);
    packet_start_ = time;
  }
  last_ = time;
  put(event_class);
  put(time);
  put(static_cast<std::int32_t>(event.process));
  put(static_cast<std::uint64_t>(event.thread));
  put(static_cast<std::int32_t>(event.processor));
  if (event.activity != nullptr) {
    const auto text = to_string(*event.activity);
    packet_.insert(packet_.end(), text.begin(), text.end());
  }
  put(std::uint8_t{0});
  put(static_cast<std::uint32_t>(stack.size()));
  for (std::size_t i = 0; i < stack.size(); ++i) put(stack[i]);
  append_payload(packet_, plan, event.payload);
  ++events_;
  return packet_.size() < kPacketBytes ? Result<>{} : flush();
}

Result<> Writer::flush() {
  if (packet_.empty()) return {};
  store(packet_, 0, kMagic);
  std::memcpy(packet_.data() + 4, uuid_.data(), uuid_.size());
  store(packet_, 20, std::uint32_t{0});
  const std::uint64_t bits = packet_.size() * 8;
  const std::uint64_t context[] = {packet_start_, last_, bits, bits, lost_};
  static_assert(sizeof context == kContextBytes);
  std::memcpy(packet_.data() + kHeaderBytes, context, sizeof context);
  auto done = write_(packet_);
  packet_.clear();
  return done;
}

std::uint32_t Classes::of(const EventType& type, const nettrace::PayloadPlan& plan) {
  if (type.index >= known_.size()) known_.resize(type.index + 1);
  auto& known = known_[type.index];
  if (!known.known || known.schema != plan.schema())
    known = {.id = writer_.class_of(type, plan), .schema = plan.schema(), .known = true};
  return known.id;
}

}  // namespace clrscope::ctf
