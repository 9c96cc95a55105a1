#include "ops/top.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/printable.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/provider_args.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

using ops::FrameKind;
using std::chrono::nanoseconds;

constexpr std::size_t kShownThreads = 5;

constexpr Option kTop[] = {
    {.name = "--all", .help = "all processes of the machine", .letter = 'a'},
    {.name = "--interval", .value = "TIME", .help = "time between updates (default: 1s)"},
    {.name = "--duration",
     .value = "TIME",
     .help = "time after which it ends: 30, 30s, 5m (default: until stopped)"},
    {.name = "--number", .value = "N", .help = "number of methods shown (default: 20)"},
    {.name = "--rate", .value = "HZ", .help = "CPU samples per second (default: 499)"},
    kSamplerOption,
    {.name = "--symbol-dir",
     .value = "FOLDER",
     .help = "additional folder to search for native symbols"},
};

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return fmt::format(
      "{:.1f} %", whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// Kinds that occur, most first.
std::vector<std::pair<FrameKind, std::uint64_t>> kinds_of(const ops::TopInterval& interval) {
  std::vector<std::pair<FrameKind, std::uint64_t>> kinds;
  for (std::size_t i = 0; i < interval.by_kind.size(); ++i)
    if (interval.by_kind[i] > 0)
      kinds.emplace_back(FrameKind{static_cast<std::uint8_t>(i)}, interval.by_kind[i]);
  std::stable_sort(kinds.begin(), kinds.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return kinds;
}

struct KindAnswer {
  std::string_view kind{};
  double self = 0;
};
const Shape& shape_of(const KindAnswer*) {
  using A = KindAnswer;
  static const auto shape =
      describe<A>("TopKind", "CPU time of one kind of code",
                  {member<&A::kind>("kind", "managed, framework, native, kernel, gc, jit …"),
                   member<&A::self>("self", Unit::kPercent, "share of the CPU time in this code")});
  return shape;
}

struct MethodAnswer {
  std::string method{};
  std::string module{};
  std::string_view kind{};
  double self = 0;
  double total = 0;
};
const Shape& shape_of(const MethodAnswer*) {
  using A = MethodAnswer;
  static const auto shape = describe<A>(
      "TopMethod", "CPU time of one method",
      {member<&A::method>("method", "name of the method"),
       member<&A::module>("module", "module it is in"),
       member<&A::kind>("kind", "managed, framework, native, kernel, gc, jit …"),
       member<&A::self>("self", Unit::kPercent, "share of the CPU time in the method itself"),
       member<&A::total>("total", Unit::kPercent, "share including what it calls")});
  return shape;
}

struct ThreadAnswer {
  std::int32_t pid = 0;
  std::string process{};
  std::uint64_t os_id = 0;
  std::string name{};
  double cpu_percent = 0;
};
const Shape& shape_of(const ThreadAnswer*) {
  using A = ThreadAnswer;
  static const auto shape = describe<A>(
      "TopThread", "CPU time of one thread",
      {member<&A::pid>("pid", "process id"), member<&A::process>("process", "name of the process"),
       member<&A::os_id>("osId", "operating system's thread id"),
       member<&A::name>("name", "name of the thread"),
       member<&A::cpu_percent>("cpuPercent", Unit::kPercent,
                               "share of the CPU time of all threads shown")});
  return shape;
}

enum class StateSource : std::uint8_t { kKernel, kSampler, kAgent };
StateSource source_of(ops::Sampling sampling) {
  return sampling == ops::Sampling::kAgent     ? StateSource::kAgent
         : sampling == ops::Sampling::kRuntime ? StateSource::kSampler
                                               : StateSource::kKernel;
}
std::span<const std::string_view> names_of(StateSource) {
  static constexpr std::string_view kNames[] = {"kernel", "sampler", "agent"};
  return kNames;
}

struct TopAnswer {
  WallTime time{};
  double interval_ms = 0;
  std::uint64_t samples = 0;
  double cpus_busy = 0;
  StateSource state_from = StateSource::kKernel;
  std::uint64_t lost = 0;
  std::vector<KindAnswer> by_kind{};
  std::vector<MethodAnswer> methods{};
  std::vector<ThreadAnswer> threads{};
  std::vector<ops::AgentSourceState> agent{};
};
const Shape& shape_of(const TopAnswer*) {
  using A = TopAnswer;
  static const auto shape = describe<A>(
      "TopInterval", "where CPU time went in one interval",
      {member<&A::time>("time", "end of the interval"),
       member<&A::interval_ms>("intervalMs", Unit::kMs, "length of the interval"),
       member<&A::samples>("samples", "CPU samples"),
       member<&A::cpus_busy>("cpusBusy", "CPUs busy, on average"),
       member<&A::state_from>(
           "stateFrom", "source of the samples: the kernel, the runtime's sampler or the agent"),
       member<&A::lost>("lost", "samples lost since the start"),
       member<&A::by_kind>("byKind", "CPU time by kind of code, most first"),
       member<&A::methods>("methods", "methods, most time of their own first"),
       member<&A::threads>("threads", "threads, busiest first"),
       member_unless_empty<&A::agent>("agent",
                                      "what an agent that was loaded before tells, by source")});
  return shape;
}

std::string as_json(const ops::TopInterval& interval, std::size_t rows) {
  const auto share = [&](std::uint64_t ns) {
    return interval.ns == 0 ? 0.0
                            : 100.0 * static_cast<double>(ns) / static_cast<double>(interval.ns);
  };
  TopAnswer answer{.time = wall_now(),
                   .interval_ms = interval.seconds() * 1000,
                   .samples = interval.samples,
                   .cpus_busy = interval.busy(),
                   .state_from = source_of(interval.sampled_by),
                   .lost = interval.lost,
                   .agent = interval.agent};
  for (const auto& [kind, ns] : kinds_of(interval))
    answer.by_kind.push_back({to_string(kind), share(ns)});
  for (std::size_t i = 0; i < std::min(rows, interval.methods.size()); ++i) {
    const auto& [frame, self, total] = interval.methods[i];
    answer.methods.push_back(
        {frame.method, frame.module, to_string(frame.kind), share(self), share(total)});
  }
  for (const auto& thread : interval.threads)
    answer.threads.push_back({static_cast<std::int32_t>(thread.process), thread.process_name,
                              static_cast<std::uint64_t>(thread.thread), thread.name,
                              share(thread.ns)});
  return json_line(answer);
}

// "agent: 50.0 exceptions/s   15.0 lock waits/s   187.0 allocation samples/s   cost 0.6 % of a CPU"
std::string agent_line(const std::vector<ops::AgentSourceState>& sources) {
  std::string line = "agent:";
  double cost = 0;
  for (const auto& source : sources) {
    if (!source.on) continue;
    std::string_view what = source.id;
    if (source.id == "contention") what = "lock waits";
    if (source.id == "allocations") what = "allocation samples";
    line += fmt::format("   {:.1f} {}/s", source.per_second, what);
    if (source.on_time.count() > 0)
      cost += static_cast<double>(source.callback_time.count()) /
              static_cast<double>(source.on_time.count());
  }
  return line + fmt::format("   cost {:.2f} % of a CPU", 100 * cost);
}

// One interval as lines, none wider than the terminal.
class View {
 public:
  View(Console& console, std::string title, std::size_t rows)
      : console_(console), title_(std::move(title)), rows_(rows) {}

  // Over the last one on a terminal, below it anywhere else.
  void show(const ops::TopInterval& interval) {
    auto lines = lines_of(interval);
    std::string text;
    for (const auto& line : lines) {
      const auto plain = printable(line);
      text += terminal_ ? cut_to_width(plain, std::max<std::size_t>(console_.width(), 20)) : plain;
      text += "\n";
    }
    terminal_ ? console_.redraw(shown_, text) : console_.data(text);
    shown_ = lines.size();
  }

 private:
  std::vector<std::string> lines_of(const ops::TopInterval& interval) const {
    std::vector<std::string> lines;
    auto head = fmt::format("{}   {:.2f} CPUs busy   {} samples", title_, interval.busy(),
                            format_count(interval.samples));
    if (interval.lost > 0) head += fmt::format("   lost {}", format_count(interval.lost));
    lines.push_back(head);
    std::vector<std::string> kinds;
    for (const auto& [kind, ns] : kinds_of(interval))
      kinds.push_back(fmt::format("{} {}", to_string(kind), percent(ns, interval.ns)));
    lines.push_back(kinds.empty() ? "nothing ran" : fmt::format("{}", fmt::join(kinds, "   ")));
    if (!interval.agent.empty()) lines.push_back(agent_line(interval.agent));
    lines.emplace_back();
    Table methods{{">SELF", ">TOTAL", "KIND", "METHOD", "MODULE"}};
    for (std::size_t i = 0; i < std::min(rows_, interval.methods.size()); ++i) {
      const auto& [frame, self, total] = interval.methods[i];
      methods.add({percent(self, interval.ns), percent(total, interval.ns),
                   std::string{to_string(frame.kind)}, cut_to_width(frame.method, method_width()),
                   frame.module});
    }
    append(lines, methods.text());
    lines.emplace_back();
    Table threads{{">SHARE", ">THREAD", "NAME", "PROCESS"}};
    for (std::size_t i = 0; i < std::min(kShownThreads, interval.threads.size()); ++i) {
      const auto& thread = interval.threads[i];
      threads.add({percent(thread.ns, interval.ns),
                   fmt::format("{}", static_cast<std::uint64_t>(thread.thread)),
                   thread.name.empty() ? "?" : thread.name,
                   fmt::format("{} ({})", thread.process_name.empty() ? "?" : thread.process_name,
                               static_cast<std::int32_t>(thread.process))});
    }
    append(lines, threads.text());
    lines.emplace_back();
    return lines;
  }
  // Names are cut on a terminal only: elsewhere they can be seen whole.
  std::size_t method_width() const {
    return terminal_ ? std::max<std::size_t>(console_.width(), 70) - 45 : 4096;
  }
  static void append(std::vector<std::string>& lines, std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    for (const auto line : split(text, '\n')) lines.emplace_back(line);
  }

  Console& console_;
  std::string title_;
  std::size_t rows_;
  bool terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::size_t shown_ = 0;  // lines
};

Result<int> run(const Args& args, Console& console) {
  ops::TopRequest request{.target = TRY(machine_or_target(args)),
                          .whole_machine = args.has("--all")};
  request.duration = TRY(args.duration("--duration"));
  request.interval = TRY(args.duration("--interval")).value_or(request.interval);
  if (request.interval < std::chrono::seconds{1})
    return fail(Errc::kUsage, "--interval must be at least 1s")
        .hint("use --interval 1s or more; samples are counted per second");
  request.rate = static_cast<unsigned>(TRY(args.number("--rate", 1, 20000)).value_or(kUsualRate));
  request.sampler = TRY(sampler_of(args));
  request.symbol_folder = TRY(symbol_folder(args));
  const auto rows = TRY(args.number("--number", 1, 100'000)).value_or(20);
  const bool json = args.has("--json");
  const StopRequest stop{EnterKey::kStops};
  request.stop_fds = stop.fds();

  std::optional<View> view;
  const ops::TopWatcher watcher{
      .on_start =
          [&](const Process& process, const ops::Plan& plan) {
            if (!plan.note.empty()) console.talk("{}", plan.note);
            if (!plan.hint.empty()) console.talk("  hint: {}", plan.hint);
            for (const auto& missing : plan.rung.missing)
              console.talk("{}\n  hint: {}", missing.what, missing.hint);
            if (!json)
              view.emplace(
                  console,
                  process.pid == 0 ? "machine" : fmt::format("{} ({})", process.name, process.pid),
                  rows);
          },
      .on_interval =
          [&](const ops::TopInterval& interval) {
            if (json)
              console.data(as_json(interval, rows));
            else if (view)
              view->show(interval);
          },
  };
  const auto summary = TRY(ops::top(request, watcher));
  if (summary.stopped_by == ops::StopReason::kTargetEnded) console.talk("The process has ended.");
  for (const auto& note : summary.notes) console.talk("{}", note);
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kTop}, kCommonOptions};
constexpr JsonAnswer kAnswers[] = {answers_with<TopAnswer>(JsonAnswer::Form::kLines)};

}  // namespace

extern const Verb top_verb{
    .name = "top",
    .summary = "Show the hottest methods and threads live",
    .usage = "(-p PID | -n NAME | -a) [--interval TIME] [--duration TIME] [--json]",
    .options = kOptions,
    .examples =
        "  clrscope top -p 4312\n"
        "  clrscope top -a --duration 10s --json | jq .methods[0].method",
    .run = run,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
