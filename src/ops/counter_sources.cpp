#include "ops/counter_sources.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <set>

#include "collect/eventpipe/live_source.h"
#include "inspect/event_sources.h"
#include "model/provider_names.h"
#include "nettrace/payload.h"
#include "ops/target.h"

namespace clrscope::ops {
namespace {

constexpr std::chrono::seconds kPatience{3};

// EventCounters that .NET and ASP.NET have had since .NET Core 3 and 5.
constexpr std::string_view kKnown[] = {
    kSystemRuntimeProvider, kHostingProvider,
    kKestrelProvider,       "Microsoft.AspNetCore.Http.Connections",
    kHttpProvider,          kNameResolutionProvider,
    "System.Net.Security",  "System.Net.Sockets",
};

Result<inspect::EventSources> read_event_sources(pid_t pid) {
  const auto target = TRY(inspect::open_process(pid));
  const auto reader = TRY(inspect::open_runtime(*target));
  return inspect::list_event_sources(*target, *reader);
}

void add_event_sources(const Process& process, hub::CounterSources& found) {
  Result<inspect::EventSources> sources =
      process.foreign ? fail(Errc::kUnsupported, "it is in another pid namespace")
                      : read_event_sources(process.pid);
  if (sources) {
    found.event_sources = std::move(sources->names);
    if (sources->unread != 0)
      found.incomplete =
          fmt::format("the list of its EventSources may be incomplete: {} of them cannot be read",
                      sources->unread);
    return;
  }
  found.event_sources.assign(std::begin(kKnown), std::end(kKnown));
  found.incomplete = fmt::format(
      "the list of its EventSources is incomplete, only those of .NET are requested: {}; name "
      "others with --counters",
      sources.error().what);
}

// The runtime tells the names of all instruments when a session begins, and then that it is done.
std::vector<std::string> published_meters(hub::Source& source) {
  std::mutex mutex;
  std::condition_variable told;
  bool done = false;
  std::set<std::string> meters;
  std::optional<nettrace::PayloadPlans> plans;  // of the thread that reads
  const auto end = [&] {
    const std::lock_guard lock{mutex};
    done = true;
    told.notify_all();
  };
  const auto session = source.open(
      {.providers = {published_instruments()}},
      {.on_batch =
           [&](const nettrace::Reader& reader, const nettrace::Batch& batch, const auto&) {
             if (!plans) plans.emplace(reader.info()->pointer_size);
             for (const auto& event : batch.events) {
               if (event.type->name == "InitialInstrumentEnumerationComplete") end();
               if (event.type->name != "InstrumentPublished") continue;
               const auto& plan = plans->of(event);
               const auto at = plan.find("meterName");
               const auto name = at ? nettrace::read_field(plan, *at, event.payload) : std::nullopt;
               if (!name) continue;
               const std::lock_guard lock{mutex};
               meters.insert(nettrace::text_of(*name));
             }
           },
       .on_end = [&](const std::string&) { end(); }});
  if (!session) return {};
  std::unique_lock lock{mutex};
  told.wait_for(lock, kPatience, [&] { return done; });
  return {meters.begin(), meters.end()};
}

}  // namespace

hub::ProviderRequest published_instruments() {
  return {.name = std::string{kMetricsProvider},
          .keywords = 0x4,
          .level = 5,
          .arguments =
              fmt::format("SessionId=SHARED;RefreshInterval=1;MaxTimeSeries={};MaxHistograms={}",
                          hub::MeterLimits{}.series, hub::MeterLimits{}.histograms)};
}

std::shared_ptr<hub::Source> make_source(std::uint64_t id, const Process& process,
                                         std::shared_ptr<ipc::Endpoint> endpoint) {
  return collect::make_live_source(
      {.id = id, .pid = process.pid, .process = process.name, .runtime = process.runtime},
      std::move(endpoint), [process](hub::Source& source) {
        hub::CounterSources found;
        add_event_sources(process, found);
        if (source.info()->runtime_major() < hub::kMeterPatternsSince)
          found.meters = published_meters(source);
        return found;
      });
}

std::shared_ptr<hub::Source> make_source(std::uint64_t id, const Process& process,
                                         std::shared_ptr<Target> target) {
  auto* endpoint = target->endpoint.get();
  return make_source(id, process, std::shared_ptr<ipc::Endpoint>{std::move(target), endpoint});
}

}  // namespace clrscope::ops
