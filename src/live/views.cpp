// Views: what a feed's window holds, read as a trace by the report of the same name.
#include <fmt/format.h>

#include <algorithm>

#include "analyze/symbolizer.h"
#include "analyze/words.h"
#include "live/live.h"
#include "live/topic.h"

namespace clrscope::live {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kRecentShown = 50;

bool is_empty(const Document& page) { return page.tables.empty(); }

std::optional<double> queue_length(const CounterHistory& counters) {
  for (const auto* name : {"dotnet.thread_pool.queue.length", "threadpool-queue-length"}) {
    const auto series = counters.series(
        {.provider = std::string{kSystemRuntimeProvider}, .name = name}, std::chrono::seconds{5});
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

std::vector<RecentException> recent_of(std::vector<NamedException> thrown) {
  std::vector<RecentException> out;
  for (auto at = thrown.rbegin(); at != thrown.rend(); ++at) {
    RecentException one{.number = at->thrown.id,
                        .time = at->thrown.wall,
                        .type = std::move(at->thrown.type),
                        .message = std::move(at->thrown.message),
                        .thread = at->thrown.thread};
    for (const auto& frame : at->frames) one.stack.push_back(frame.method);
    out.push_back(std::move(one));
  }
  return out;
}

// All that are kept in groups, the last ones one by one.
void add_exceptions(ViewAnswer& answer, const Feed& feed, StackNames& stacks,
                    const LineAt& line_at) {
  answer.total = feed.exceptions.total();
  auto all = feed.exceptions.all();
  answer.grouped = all.size();
  auto grouped = group_exceptions(
      all, [&](const Thrown& thrown) { return stacks.frames(thrown); }, line_at);
  answer.groups = std::move(grouped.groups);
  answer.more_groups = grouped.more;
  std::vector<NamedException> recent;
  for (auto i = all.size() - std::min(all.size(), kRecentShown); i < all.size(); ++i) {
    auto frames = stacks.frames(all[i]);
    recent.push_back({std::move(all[i]), std::move(frames)});
  }
  answer.recent = recent_of(std::move(recent));
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

// Methods loaded before we connected come from a rundown, requested once.
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
  const auto* runtime = find_topic(topic);
  if (kind == nullptr || runtime == nullptr)
    return fail(Errc::kUsage, "unknown view {}", name_of(topic));
  const auto process = TRY(this->process(who));
  const auto request = runtime_feed(topic, messages);
  const auto feed = TRY(process->ask(request));
  if (topic == Topic::kThreadPool) (void)process->ask(counters_of());
  if (request.session.stacks || topic == Topic::kJit) wait_for_names(who, *process);
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
  const auto line_at = process->lines();
  const std::shared_ptr<analyze::Report> report =
      kind->make({.rows = rows, .messages = messages == Messages::kShown, .line_at = line_at});
  TRY(read_window(trace, *report));

  ViewAnswer answer{.view = name_of(topic),
                    .source = source_of(*process, *feed),
                    .from = wall_now() - (TraceClock::now() - trace.from),
                    .report = report,
                    .page = report->page()};
  answer.source.left_out += state.pushed_out;
  if (is_empty(answer.page)) {
    answer.page = {.summary = {fmt::format("{} in the last {}.", runtime->nothing,
                                           format_duration(trace.to - trace.from))}};
  }
  if (topic == Topic::kExceptions) {
    StackNames stacks{trace.names, trace.rundown, who.pid};
    add_exceptions(answer, *feed, stacks, line_at);
  }
  if (topic == Topic::kThreadPool)
    if (const auto queue = queue_length(process->counters())) {
      answer.queue_length = *queue;
      answer.page.summary.push_back(fmt::format("{} work items are queued.", *queue));
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

const Shape& shape_of(const RecentException*) {
  using R = RecentException;
  static const auto shape = describe<R>(
      "RecentException", "An exception that was thrown lately",
      {member<&R::number>("number", "number of the exception since watching started"),
       member<&R::time>("time", "time of the throw"),
       member<&R::type>("type", "type of the exception"),
       member<&R::message>("message", "message of the exception; needs the scope trace"),
       member<&R::thread>("osId", "operating system's thread id"),
       member<&R::stack>("stack", "methods from the throw outwards")});
  return shape;
}

const Shape& shape_of(const ViewAnswer*) {
  using V = ViewAnswer;
  static const auto shape = describe<V>(
      "View", "A live view: the report of the same name on the last minutes of a process",
      {member<&V::view>("view", "name of the view"),
       member<&V::summary>("summary", "the result in one sentence"), members_of<&V::source>(),
       member<&V::from>("from", "start of the shown time span"),
       member<&V::total>("total", "exceptions since watching started"),
       member<&V::recent>("recent", "last exceptions, the newest first"),
       member<&V::grouped>("grouped", "exceptions that the groups are of: the last 1000"),
       member<&V::groups>("groups", "exceptions by type and stack"),
       member<&V::more_groups>("moreGroups", "groups that are left out, the oldest"),
       member<&V::queue_length>("queueLength", "work items in the thread pool's queue")});
  return shape;
}

}  // namespace clrscope::live
