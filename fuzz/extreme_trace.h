// A well-formed version 6 trace with extreme numbers in it: smallest, largest, negative, not a
// number.
//
// Mutating bytes of a trace rarely leaves a trace that is still whole and has such a number in the
// right place. Here the input only chooses: clocks, event types of the runtime, times, ids, payload
// numbers. The result always has a valid structure.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string>

#include "base/bytes.h"
#include "nettrace/encode.h"
#include "nettrace/payload_table.h"

namespace clrscope::fuzz {

inline bool looks_like_trace(Bytes input) {
  return as_text(input).starts_with("Nettrace") || as_text(input).starts_with("\x14");
}

class ExtremeTrace {
 public:
  static std::string make(Bytes recipe) { return ExtremeTrace{recipe}.text(); }

 private:
  static constexpr std::size_t kTypes = 6;
  static constexpr std::size_t kMostEvents = 64;

  explicit ExtremeTrace(Bytes recipe) : in_(recipe) {
    put_header();
    put_types();
    put_threads();
    put_events();
    nettrace::put_block(out_, nettrace::BlockKind::kEnd, {});
  }

  std::string text() const { return std::string{as_text(out_.bytes())}; }

  std::uint8_t choice() { return in_.read<std::uint8_t>(); }  // 0 after the end

  std::uint64_t number() {
    using I64 = std::numeric_limits<std::int64_t>;
    static const std::uint64_t kNumbers[] = {
        0,
        1,
        0x7f,
        0xffff,
        0x7fffffff,
        0x80000000,
        0xffffffff,
        1'000'000'000,
        1'800'000'000'000'000'000,
        static_cast<std::uint64_t>(I64::max()),
        static_cast<std::uint64_t>(I64::max()) - 1,
        static_cast<std::uint64_t>(I64::min()),
        static_cast<std::uint64_t>(I64::min()) + 1,
        ~std::uint64_t{0},
        std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN()),
        std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity()),
        std::bit_cast<std::uint64_t>(-std::numeric_limits<double>::max()),
    };
    const auto which = choice();
    return which < 0x60 ? kNumbers[which % std::size(kNumbers)] : which * 1'000'003ULL;
  }

  void put_header() {
    nettrace::TraceInfo info;
    info.version = 6;
    static constexpr std::int64_t kRates[] = {
        1'000'000'000, 1, 10'000'000, 24'000'000, std::numeric_limits<std::int64_t>::max(), 3};
    info.ticks_per_second = kRates[choice() % std::size(kRates)];
    static constexpr int kYears[] = {2026, 1970, 2200, 2199, 2000};
    info.start = WallTime{
        std::chrono::sys_days{std::chrono::year{kYears[choice() % std::size(kYears)]} / 12 / 31}};
    const auto clock = choice();
    info.sync_ticks = clock < 0x80 ? clock : static_cast<std::int64_t>(number());
    info.pointer_size = choice() % 2 == 0 ? 8 : 4;
    info.process = ProcessId{static_cast<std::int32_t>(number())};
    info.processors = static_cast<std::uint32_t>(number());
    info.sampling_ns = static_cast<std::uint32_t>(number());
    info.window_ns = choice() < 0xc0 ? 0 : static_cast<std::int64_t>(number());
    nettrace::put_trace_header(out_, info);
  }

  void put_types() {
    ByteWriter rows;
    rows.write(std::uint16_t{0});
    for (std::uint32_t i = 1; i <= kTypes; ++i) {
      EventType type;
      if (const auto kind = choice(); kind < 0x40) {
        type.provider = "Fuzz \"\x1b\n";
        type.name = std::string(kind % 4, '\xff');
        type.id = static_cast<std::uint32_t>(number());
        static constexpr TypeCode kCodes[] = {TypeCode::kFloat64, TypeCode::kFloat32,
                                              TypeCode::kInt64, TypeCode::kDateTime,
                                              TypeCode::kUtf16Text};
        for (int f = 0; f < kind % 5; ++f)
          type.fields.push_back({.name = std::string(1, static_cast<char>('a' + f)),
                                 .type = kCodes[choice() % std::size(kCodes)]});
      } else if (kind < 0x60) {
        type.provider = "Microsoft-DotNETCore-SampleProfiler";
      } else if (kind < 0x80) {
        type.provider = "Universal.Events";
        type.name = kind % 2 == 0 ? "cpu" : "cswitch";
        type.id = i;
      } else {
        const auto providers = nettrace::event_table().providers();
        const auto& provider = providers[choice() % providers.size()];
        const auto at = static_cast<std::size_t>(choice()) * 256 + choice();
        const auto& event = provider.events[at % provider.events.size()];
        type.provider = provider.name;
        type.id = event.id;
        type.version = event.version;
      }
      nettrace::put_metadata_row(rows, i, nettrace::encode_type(type));
    }
    nettrace::put_block(out_, nettrace::BlockKind::kMetadata, rows.bytes());
  }

  void put_threads() {
    ByteWriter rows;
    for (std::uint64_t index = 1; index <= 3; ++index)
      nettrace::put_thread_row(rows, index, ProcessId{static_cast<std::int32_t>(number())},
                               ThreadId{number()}, index == 1 ? "\x1b[2J\"" : "");
    nettrace::put_block(out_, nettrace::BlockKind::kThread, rows.bytes());
  }

  void put_events() {
    ByteWriter rows;
    rows.write(std::uint16_t{20});
    rows.write(std::uint16_t{0});  // rows are not packed
    rows.write(std::uint64_t{0});
    rows.write(std::uint64_t{0});
    for (std::size_t i = 0; i < kMostEvents && !in_.at_end(); ++i) put_event(rows);
    nettrace::put_block(out_, nettrace::BlockKind::kEvent, rows.bytes());
  }

  void put_event(ByteWriter& rows) {
    ByteWriter payload;
    const auto type = 1 + choice() % kTypes;
    const auto thread = std::uint64_t{1} + choice() % 3;
    const auto ticks = number();
    for (auto count = choice() % 12; count > 0; --count) {
      const auto value = number();
      if (value % 2 == 0)
        payload.write(value);
      else
        payload.write(static_cast<std::uint32_t>(value));
    }
    const auto begin = rows.size();
    rows.write(std::uint32_t{0});
    rows.write(static_cast<std::uint32_t>(type));
    rows.write(++sequence_);
    rows.write(thread);
    rows.write(thread);
    rows.write(std::uint32_t{0});  // processor
    rows.write(std::uint32_t{0});  // stack
    rows.write(ticks);
    rows.write(std::uint32_t{0});  // labels
    rows.write(static_cast<std::uint32_t>(payload.size()));
    rows.put(payload.bytes());
    rows.patch(begin, static_cast<std::uint32_t>(rows.size() - begin - 4));
  }

  ByteReader in_;
  ByteWriter out_;
  std::uint32_t sequence_ = 0;
};

}  // namespace clrscope::fuzz
