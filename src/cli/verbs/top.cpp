#include "ops/top.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/stop_request.h"
#include "cli/target_args.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

using analyze::FrameKind;
using std::chrono::nanoseconds;

constexpr std::size_t kShownThreads = 5;

constexpr Option kTop[] = {
    {.name = "--all", .help = "every process of the machine", .letter = 'a'},
    {.name = "--interval", .value = "TIME", .help = "how often it is shown: 1s unless told"},
    {.name = "--duration", .value = "TIME", .help = "end after this long: 30, 30s, 5m"},
    {.name = "--number", .value = "N", .help = "methods shown, 20 unless told"},
    {.name = "--rate", .value = "HZ", .help = "CPU samples per second, 999 unless told"},
    {.name = "--symbol-dir",
     .value = "FOLDER",
     .help = "where else names of native code are looked for"},
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

std::string as_json(const ops::TopInterval& interval, std::size_t rows) {
  const auto share = [&](std::uint64_t ns) {
    return interval.ns == 0 ? 0.0
                            : 100.0 * static_cast<double>(ns) / static_cast<double>(interval.ns);
  };
  JsonWriter json;
  json.begin_object()
      .member("time", iso8601(wall_now()))
      .member("intervalMs", interval.seconds() * 1000)
      .member("samples", interval.samples)
      .member("cpusBusy", interval.busy())
      .member("stateFrom", interval.by_runtime ? "sampler" : "kernel")
      .member("lost", interval.lost);
  json.key("byKind").begin_array();
  for (const auto& [kind, ns] : kinds_of(interval))
    json.begin_object().member("kind", to_string(kind)).member("self", share(ns)).end_object();
  json.end_array().key("methods").begin_array();
  for (std::size_t i = 0; i < std::min(rows, interval.methods.size()); ++i) {
    const auto& [frame, self, total] = interval.methods[i];
    json.begin_object()
        .member("method", frame.method)
        .member("module", frame.module)
        .member("kind", to_string(frame.kind))
        .member("self", share(self))
        .member("total", share(total))
        .end_object();
  }
  json.end_array().key("threads").begin_array();
  for (const auto& thread : interval.threads)
    json.begin_object()
        .member("processId", static_cast<std::int32_t>(thread.process))
        .member("process", thread.process_name)
        .member("threadId", static_cast<std::uint64_t>(thread.thread))
        .member("name", thread.name)
        .member("share", share(thread.ns))
        .end_object();
  json.end_array().end_object();
  return json.text() + "\n";
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
    auto head = fmt::format("{}   {:.2f} processors busy   {} samples", title_, interval.busy(),
                            format_count(interval.samples));
    if (interval.lost > 0) head += fmt::format("   lost {}", format_count(interval.lost));
    lines.push_back(head);
    std::vector<std::string> kinds;
    for (const auto& [kind, ns] : kinds_of(interval))
      kinds.push_back(fmt::format("{} {}", to_string(kind), percent(ns, interval.ns)));
    lines.push_back(kinds.empty() ? "nothing ran" : fmt::format("{}", fmt::join(kinds, "   ")));
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
  ops::TopWish wish{.target = TRY(machine_or_target(args)), .whole_machine = args.has("--all")};
  wish.duration = TRY(args.duration("--duration"));
  wish.interval = TRY(args.duration("--interval")).value_or(wish.interval);
  if (wish.interval < std::chrono::seconds{1})
    return fail(Errc::kUsage, "--interval is less than a second")
        .hint("samples are counted a second at a time; --interval 1s is the shortest");
  wish.rate = static_cast<unsigned>(TRY(args.number("--rate", 1, 20000)).value_or(999));
  wish.symbol_folder = TRY(symbol_folder(args));
  const auto rows = TRY(args.number("--number", 1, 100'000)).value_or(20);
  const bool json = args.has("--json");
  const StopRequest stop{EnterKey::kStops};
  wish.stop_fds = stop.fds();

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
  const auto summary = TRY(ops::top(wish, watcher));
  if (summary.asked_by == "target ended") console.talk("The process has ended.");
  for (const auto& note : summary.notes) console.talk("{}", note);
  return kDone;
}

const Options kOptions[] = {kTargetOptions, Options{kTop}, kCommonOptions};

}  // namespace

extern const Verb top_verb{
    .name = "top",
    .summary = "Shows the hottest methods and threads live",
    .usage = "(-p PID | -n NAME | -a) [--interval TIME] [--duration TIME] [--json]",
    .options = kOptions,
    .examples =
        "  clrscope top -p 4312\n"
        "  clrscope top -a --duration 10s --json | jq .methods[0].method",
    .run = run,
};

}  // namespace clrscope::cli
