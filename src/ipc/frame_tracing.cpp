#include <algorithm>

#include "ipc/frame.h"

namespace clrscope::ipc {
namespace {

constexpr std::uint32_t kStreamingSession = 0;
constexpr std::uint32_t kNetPerf = 0;
constexpr std::uint32_t kNettrace = 1;

void write_provider(ByteWriter& out, const Provider& provider, int form) {
  out.write(provider.keywords);
  out.write(static_cast<std::uint32_t>(provider.level));
  write_string(out, provider.name);
  write_string(out, provider.arguments);
  if (form < 5) return;
  const bool only = !provider.event_ids.empty();
  const auto& ids = only ? provider.event_ids : provider.unwanted_ids;
  out.write(static_cast<std::uint8_t>(only));  // 0: all but these
  out.write(static_cast<std::uint32_t>(ids.size()));
  for (const auto id : ids) out.write(id);
}

Result<> check_expressible(int form, const SessionConfig& config) {
  const bool filters =
      std::ranges::any_of(config.providers, [](const Provider& p) { return !p.event_ids.empty(); });
  if (filters && form < 5)
    return fail(Errc::kUnsupported, "this runtime cannot filter events by id")
        .hint("leave the event ids out, or use .NET 10 or later in the target");
  const bool special_rundown =
      config.rundown_keyword != 0 && config.rundown_keyword != kDefaultRundown;
  if (special_rundown && form < 4)
    return fail(Errc::kUnsupported, "this runtime does not support the rundown keyword 0x{:x}",
                config.rundown_keyword)
        .hint("use the default rundown or none, or .NET 9 or later in the target");
  if (!config.stacks && form < 3)
    return fail(Errc::kUnsupported, "this runtime cannot leave stacks out")
        .hint("record with stacks, or use .NET 9 or later in the target");
  if (config.rundown_keyword == 0 && form < 2)
    return fail(Errc::kUnsupported, "this runtime cannot leave the rundown out")
        .hint("record with the rundown, or use .NET 5 or later in the target");
  return {};
}

}  // namespace

Result<std::vector<std::uint8_t>> encode_collect_tracing(int form, const SessionConfig& config) {
  TRY(check_expressible(form, config));
  ByteWriter out;
  if (form >= 5) out.write(kStreamingSession);
  out.write(config.buffer_mb);
  out.write(config.netperf ? kNetPerf : kNettrace);
  if (form >= 4)
    out.write(config.rundown_keyword);
  else if (form >= 2)
    out.write(static_cast<std::uint8_t>(config.rundown_keyword != 0));
  if (form >= 3) out.write(static_cast<std::uint8_t>(config.stacks));
  out.write(static_cast<std::uint32_t>(config.providers.size()));
  for (const auto& provider : config.providers) write_provider(out, provider, form);
  return std::move(out).take();
}

}  // namespace clrscope::ipc
