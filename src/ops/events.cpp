#include "ops/events.h"

#include <fmt/format.h>

#include <map>

#include "base/text.h"
#include "hub/hub.h"
#include "nettrace/event_json.h"
#include "nettrace/payload_text.h"

namespace clrscope::ops {
namespace {

// Events as they come, a line each.
class TailSink final : public hub::Sink {
 public:
  TailSink(const EventsWatcher& watcher, bool json) : watcher_(watcher), json_(json) {}

  Result<> on_batch(const hub::Batch& batch) override {
    const auto& block = *batch.block;
    auto& known = known_.try_emplace(block.reader(), block.pointer_size()).first->second;
    text_.clear();
    for (const auto row : batch.rows) {
      const auto& event = block.events()[row];
      const auto& plan = known.plans.of(event);
      if (json_)
        known.json.append(text_, event, plan, block.wall_of(event));
      else
        append_line(block, event, plan);
    }
    watcher_.on_text(text_);
    return {};
  }

  Result<> on_dropped(std::uint64_t events) override {
    watcher_.on_trouble(fmt::format(
        "{} events dropped: they arrived faster than they could be printed", format_count(events)));
    return {};
  }

 private:
  struct Known {
    explicit Known(std::uint32_t pointer_size) : plans(pointer_size) {}
    nettrace::PayloadPlans plans;
    nettrace::EventJson json{};
  };

  // "02:45:12.123  4312 Shop.Api  GC/Start  Count="12" Depth="1""
  void append_line(const hub::Block& block, const Event& event, const nettrace::PayloadPlan& plan) {
    const auto time = iso8601(block.wall_of(event));
    fmt::format_to(std::back_inserter(text_), "{}  {} {}  {}  ", time.substr(11, 12),
                   block.source().pid, block.source().process,
                   nettrace::event_name(*event.type, plan));
    fields_.clear();
    nettrace::append_text(fields_, plan, event.payload);
    for (auto& c : fields_)  // a line stays a line, and the terminal's own
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    text_ += fields_;
    text_ += '\n';
  }

  const EventsWatcher& watcher_;
  const bool json_;
  std::map<std::uint64_t, Known> known_;  // by reader
  std::string text_, fields_;
};

Result<hub::SessionRequest> session_request(const EventsRequest& request) {
  auto words = request.providers;
  if (!words.profiles && words.providers.empty() && !words.clr_events)
    words.profiles = "dotnet-common";
  hub::SessionRequest session{.providers = TRY(event_providers(words))};
  session.where = TRY(hub::Where::parse(request.where));
  return session;
}

}  // namespace

Result<std::vector<hub::ProviderRequest>> event_providers(const ProviderWords& words) {
  const auto asked = TRY(parse_selection(words));
  if (asked.kernel != KernelData::kNothing)
    return fail(Errc::kUsage, "CPU samples cannot be printed as events")
        .hint("record them with clrscope collect");
  std::vector<hub::ProviderRequest> providers;
  for (const auto& one : asked.providers)
    providers.push_back({.name = one.provider.name,
                         .keywords = one.provider.keywords,
                         .level = static_cast<std::uint8_t>(one.provider.level),
                         .arguments = one.provider.arguments,
                         .ids = one.provider.event_ids});
  return providers;
}

const Shape& event_shape() { return shape_of(static_cast<const nettrace::EventLine*>(nullptr)); }

Result<EventsSummary> watch_events(const EventsRequest& request, const EventsWatcher& watcher) {
  auto session = TRY(session_request(request));
  hub::Hub hub;
  const auto listener =
      TRY(hub.add(std::move(session), std::make_unique<TailSink>(watcher, request.json)));
  const auto watch = TRY(
      Watch::start(hub, request.targets, request.stop_fds.empty() ? -1 : request.stop_fds.front()));
  if (watcher.on_start) watcher.on_start(watch->attached());
  const auto stopped_by =
      watch_until_end(*watch, request.stop_fds, request.duration, watcher.on_trouble);
  const auto summary = hub.remove(listener);
  return EventsSummary{
      .events = summary.events, .lost = summary.lost + summary.dropped, .stopped_by = stopped_by};
}

}  // namespace clrscope::ops
