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

// The memory of a process whose EventSources are looked for again and again: what its types are
// called is found out once. Any thread.
class EventSourceReader {
 public:
  Result<inspect::EventSources> read(pid_t pid) {
    const std::lock_guard lock{mutex_};
    if (reader_ && reader_->threads())  // a new look: what was read before is forgotten
      if (auto sources = inspect::list_event_sources(*target_, *reader_)) return sources;
    reader_.reset();
    target_ = TRY(inspect::open_process(pid));
    auto reader = TRY(inspect::open_runtime(*target_));
    auto sources = inspect::list_event_sources(*target_, *reader);
    // Others have a worker process, which is not kept for a question a minute.
    if (sources && reader->source() == inspect::SnapshotSource::kContracts)
      reader_ = std::move(reader);
    if (!reader_) {
      reader.reset();
      target_.reset();
    }
    return sources;
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<inspect::Target> target_;
  std::unique_ptr<inspect::RuntimeReader> reader_;  // reads the target: ends before it
};

void add_event_sources(const Process& process, EventSourceReader& reader,
                       hub::CounterSources& found) {
  Result<inspect::EventSources> sources =
      process.foreign ? fail(Errc::kUnsupported, "it is in another pid namespace")
                      : reader.read(process.pid);
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
      std::move(endpoint),
      [process, reader = std::make_shared<EventSourceReader>()](hub::Source& source) {
        hub::CounterSources found;
        add_event_sources(process, *reader, found);
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
