// Views: what a feed's window holds, read as a trace by the report of the same name.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/symbolizer.h"
#include "analyze/words.h"
#include "ops/live/live.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kRecentShown = 50;

std::string_view nothing_text(Topic topic) {
  switch (topic) {
    case Topic::kGc:
      return "No garbage collection";
    case Topic::kJit:
      return "No method was compiled";
    case Topic::kExceptions:
      return "No exception was thrown";
    case Topic::kContention:
      return "No thread waited for a lock";
    default:
      return "The thread pool did not change";
  }
}

bool is_empty(const analyze::Page& page) { return page.tables.empty(); }

// The members between the braces of a JSON object.
std::string members_of(const analyze::Report& report) {
  JsonWriter json;
  json.begin_object();
  report.write_members(json);
  const auto text = json.end_object().text();
  return text.substr(1, text.size() - 2);
}

std::optional<double> queue_length(const CounterHistory& counters) {
  for (const auto& [provider, name] :
       {std::pair{"System.Runtime", "dotnet.thread_pool.queue.length"},
        std::pair{"System.Runtime", "threadpool-queue-length"}}) {
    const auto series =
        counters.series({.provider = provider, .name = name}, std::chrono::seconds{5});
    if (!series.empty() && !series.front().points.empty())
      return series.front().points.back().value;
  }
  return std::nullopt;
}

// Gives the addresses of exceptions names.
class StackNames {
 public:
  StackNames(const Window::Blocks& names, Bytes rundown, pid_t pid) : process_(ProcessId{pid}) {
    analyze::Providers providers;
    nettrace::Reader reader;
    const auto on_batch = [&](const nettrace::Batch& batch) {
      for (auto event : batch.events) {
        event.process = process_;
        event.time = TraceTime{};
        symbols_.on_event(event, providers.of(*event.type));
      }
    };
    if (!rundown.empty() && reader.feed(rundown, on_batch)) (void)reader.finish(on_batch);
    std::uint64_t last = 0;
    for (const auto& block : names) {
      if (std::exchange(last, block->reader()) != block->reader()) providers.forget();
      for (auto event : block->events()) {
        event.process = process_;
        symbols_.on_event(event, providers.of(*event.type));
      }
    }
  }

  std::vector<analyze::Frame> frames(const Thrown& thrown) {
    ids_.clear();
    symbols_.frames(process_, thrown.addresses, thrown.time, ids_);
    std::vector<analyze::Frame> frames;
    for (const auto id : ids_) {
      const auto& frame = table_.frame(id);
      // What throws is the runtime's own affair: a stack begins where it was asked to.
      if (frames.empty() && frame.method.starts_with("System.Runtime.EH.")) continue;
      frames.push_back(frame);
    }
    return frames;
  }

 private:
  ProcessId process_;
  analyze::FrameTable table_;
  analyze::Symbolizer symbols_{table_};
  std::vector<analyze::FrameId> ids_;
};

Bytes bytes_of(const LiveProcess::Names& names) { return names ? Bytes{*names} : Bytes{}; }

std::string recent_members(const std::vector<NamedException>& thrown) {
  JsonWriter json;
  json.begin_array();
  for (auto at = thrown.rbegin(); at != thrown.rend(); ++at) {
    json.begin_object()
        .member("number", at->thrown.id)
        .member("time", iso8601(at->thrown.wall))
        .member("type", at->thrown.type)
        .member("message", at->thrown.message)
        .member("threadId", static_cast<std::uint64_t>(at->thrown.thread))
        .key("stack")
        .begin_array();
    for (const auto& frame : at->frames) json.value(frame.method);
    json.end_array().end_object();
  }
  return json.end_array().text();
}

}  // namespace

LiveProcess::Names Live::names_of(LiveProcess& process) {
  for (auto& one : live_names_.take()) {
    const auto slot = [&]() -> std::shared_ptr<Slot> {
      const std::lock_guard lock{mutex_};
      const auto at = slots_.find(std::to_string(one.process));
      return at == slots_.end() ? nullptr : at->second;
    }();
    if (!slot) continue;
    const std::lock_guard lock{slot->mutex};
    if (slot->process)
      slot->process->set_names(
          std::make_shared<const std::vector<std::uint8_t>>(std::move(one.trace)));
  }
  return process.names();
}

// Those that were loaded before we looked are told by a rundown, asked for once.
void Live::wait_for_names(const LiveWho& who, LiveProcess& process) {
  if (setting_.find || who.target.uid || names_of(process)) return;
  {
    const std::lock_guard lock{mutex_};
    if (names_asked_.try_emplace(process.info().pid, TraceClock::now()).second)
      live_names_.ask(process.info().pid);
  }
  const Deadline deadline{setting_.interval * 2};
  while (!deadline.passed() && !names_of(process) && process.ended().empty())
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
}

Result<ViewAnswer> Live::view(const LiveWho& who, Topic topic, nanoseconds length, std::size_t rows,
                              Messages messages) {
  const auto* kind = analyze::find_report(name_of(topic));
  if (kind == nullptr || topic == Topic::kEvents)
    return fail(Errc::kUsage, "there is no view of {}", name_of(topic));
  const auto process = TRY(this->process(who));
  const auto wish = runtime_feed(topic, messages);
  const auto feed = TRY(process->ask(wish));
  if (topic == Topic::kThreadPool) (void)process->ask(counters_of());
  if (wish.session.stacks || topic == Topic::kJit) wait_for_names(who, *process);
  process->wait_for(*feed, setting_.interval * 2);

  const auto names = names_of(*process);
  auto to = TraceClock::now();
  if (const auto ended = process->ended_at()) to -= wall_now() - *ended;
  const auto state = feed->window->state();
  const auto from = length.count() == 0 ? state.from : std::max(state.from, to - length);
  const WindowTrace trace{.names = feed->window->names(),
                          .events = feed->window->events(to),
                          .rundown = bytes_of(names),
                          .modules_only = topic == Topic::kJit,
                          .from = std::min(from, to),
                          .to = to};
  const auto report = kind->make({.rows = rows, .messages = messages == Messages::kShown});
  TRY(read_window(trace, *report));

  ViewAnswer answer{.source = source_of(*process, *feed),
                    .from = wall_now() - (TraceClock::now() - trace.from),
                    .members = members_of(*report),
                    .page = report->page()};
  answer.source.left_out += state.pushed_out;
  if (is_empty(answer.page)) {
    answer.page = {.summary = {fmt::format("{} in the last {:.0f} s.", nothing_text(topic),
                                           analyze::ms(trace.to - trace.from) / 1000)}};
  }
  if (topic == Topic::kExceptions) {
    const auto recent = TRY(exceptions(who, kRecentShown, messages));
    answer.members +=
        fmt::format(",\"total\":{},\"recent\":{}", recent.total, recent_members(recent.thrown));
  }
  if (topic == Topic::kThreadPool)
    if (const auto queue = queue_length(process->counters())) {
      answer.members += fmt::format(",\"queueLength\":{}", *queue);
      answer.page.summary.push_back(fmt::format("{} work items wait in the queue.", *queue));
    }
  if (!answer.source.ended.empty())
    answer.page.summary.push_back(fmt::format("No longer live: {}.", answer.source.ended));
  answer.summary = answer.page.summary.front();
  return answer;
}

Result<ExceptionsAnswer> Live::exceptions(const LiveWho& who, std::size_t most, Messages messages) {
  const auto process = TRY(this->process(who));
  const auto feed = TRY(process->ask(runtime_feed(Topic::kExceptions, messages)));
  wait_for_names(who, *process);
  process->wait_for(*feed, setting_.interval * 2);
  const auto names = names_of(*process);
  ExceptionsAnswer answer{.source = source_of(*process, *feed), .total = feed->exceptions.total()};
  auto all = feed->exceptions.all();
  if (all.size() > most) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(most));
  if (all.empty()) return answer;
  StackNames stacks{feed->window->names(), bytes_of(names), who.pid};
  for (auto& one : all) {
    auto frames = stacks.frames(one);
    answer.thrown.push_back({std::move(one), std::move(frames)});
  }
  return answer;
}

}  // namespace clrscope::ops
