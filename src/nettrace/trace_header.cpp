// What a trace says of itself.
#include <charconv>

#include "nettrace/impl.h"

namespace clrscope::nettrace {
namespace {

std::string read_text(ByteReader& in) { return std::string{as_text(in.take(in.read_varuint()))}; }

// Year, month, day of week, day, hour, minute, second, millisecond.
std::optional<WallTime> read_wall_time(ByteReader& in) {
  std::uint16_t part[8];
  for (auto& p : part) p = in.read<std::uint16_t>();
  using namespace std::chrono;
  const year_month_day date{year{part[0]}, month{part[1]}, day{part[3]}};
  if (!in.ok() || !date.ok() || part[0] < 1970 || part[0] > 2200 || part[4] > 23 || part[5] > 59 ||
      part[6] > 60 || part[7] > 999)
    return std::nullopt;
  return WallTime{sys_days{date}} + hours{part[4]} + minutes{part[5]} + seconds{part[6]} +
         milliseconds{part[7]};
}

Result<TickRange> check(const TraceInfo& info) {
  if (info.pointer_size != 4 && info.pointer_size != 8)
    return fail(Errc::kCorrupt, "the trace header says pointers of {} bytes", info.pointer_size);
  if (info.ticks_per_second <= 0)
    return fail(Errc::kCorrupt, "the trace header says {} ticks per second", info.ticks_per_second);
  const auto valid = valid_ticks(info);
  if (!valid)
    return fail(Errc::kCorrupt, "the start time in the trace header is out of range: {} ticks",
                info.sync_ticks);
  return *valid;
}

template <class T>
void parse_property(const std::string& text, T& out) {
  T value{};
  const auto* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, value).ptr == end && !text.empty()) out = value;
}

}  // namespace

Result<> Reader::Impl::read_trace(const Block& block, std::uint32_t version) {
  if (version > 4 || version < 3 || (version == 3) != netperf_)
    return fail(Errc::kUnsupported, "unknown version {} of the nettrace format", version)
        .hint("this clrscope reads versions 3 to 6; traces of .NET Core 2.0 are older");
  ByteReader in{block.content};
  info.version = version;
  const auto start = read_wall_time(in);
  if (start) info.start = *start;
  info.sync_ticks = in.read<std::int64_t>();
  info.ticks_per_second = in.read<std::int64_t>();
  info.pointer_size = in.read<std::uint32_t>();
  info.process = ProcessId{in.read<std::int32_t>()};
  info.processors = in.read<std::uint32_t>();
  info.sampling_ns = in.read<std::uint32_t>();
  if (!start) note(block.offset, "the trace header has no valid start time");
  valid_ticks_ = TRY(check(info));
  return {};
}

Result<> Reader::Impl::read_trace_v6(const Block& block) {
  ByteReader in{block.content};
  const auto start = read_wall_time(in);
  if (start) info.start = *start;
  info.sync_ticks = in.read<std::int64_t>();
  info.ticks_per_second = in.read<std::int64_t>();
  info.pointer_size = in.read<std::uint32_t>();
  const auto count = in.read<std::uint32_t>();
  if (!in.ok()) return fail(Errc::kCorrupt, "the trace header is truncated");
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    auto key = read_text(in);
    auto value = read_text(in);
    if (!in.ok()) break;
    std::int32_t process = 0;
    if (key == "HardwareThreadCount") parse_property(value, info.processors);
    if (key == "ExpectedCPUSamplingRate") parse_property(value, info.sampling_ns);
    if (key == "ClrscopeWindowStart") parse_property(value, info.window_ns);
    if (key == kChecksProperty) has_checks_ = value == "1";
    if (key == "ProcessId") parse_property(value, process), info.process = ProcessId{process};
    info.properties.emplace_back(std::move(key), std::move(value));
  }
  constexpr std::int64_t kTenYears = 300'000'000'000'000'000;
  if (info.window_ns < 0 || info.window_ns > kTenYears) info.window_ns = 0;
  if (!start) note(block.offset, "the trace header has no valid start time");
  if (!in.ok()) note(block.offset, "the properties in the trace header are truncated");
  valid_ticks_ = TRY(check(info));
  return {};
}

}  // namespace clrscope::nettrace
