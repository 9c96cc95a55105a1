#include "ops/counters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "answer/text.h"
#include "base/guarded.h"
#include "base/io.h"
#include "base/printable.h"
#include "base/private_folder.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/counter_board.h"
#include "cli/live_args.h"
#include "cli/stop_request.h"
#include "cli/verb.h"

namespace clrscope::cli {
namespace {

constexpr Option kCounters[] = {
    {.name = "--counters",
     .value = "LIST",
     .help =
         "counters to show: Provider[a,b],Shop.*; EventCounters\\Name, Meter\\Name (default: all)"},
    {.name = "--refresh-interval", .value = "S", .help = "seconds between values (default: 1)"},
    {.name = "--format", .value = "FORMAT", .help = "collect: csv or json (default: csv)"},
    {.name = "--output",
     .value = "FILE",
     .help = "collect: output file; - is stdout (default: counter.csv or counter.json)",
     .letter = 'o'},
    {.name = "--duration",
     .value = "TIME",
     .help = "time after which it ends: 30, 30s, 5m (default: until stopped)"},
};

Result<ops::CountersRequest> counters_request(const Args& args) {
  ops::CountersRequest request{.targets = TRY(watch_request(args))};
  request.counters = TRY(ops::parse_counters(args.all("--counters")));
  if (request.counters.empty()) request.counters = ops::default_counters();
  request.interval =
      std::chrono::seconds{TRY(args.number("--refresh-interval", 1, 3600)).value_or(1)};
  request.limits = TRY(meter_limits(args));
  request.duration = TRY(args.duration("--duration"));
  return request;
}

struct CountersFileAnswer {
  std::string file{};
  std::uint64_t values = 0;
  std::uint64_t lost = 0;
};
const Shape& shape_of(const CountersFileAnswer*) {
  using A = CountersFileAnswer;
  static const auto shape =
      describe<A>("CountersFile", "a file of counter values",
                  {member<&A::file>("file", "file that was written"),
                   member<&A::values>("values", "values written"),
                   member<&A::lost>("lost", "events lost: some values are missing")});
  return shape;
}

using Remarks = std::vector<std::string>;

// On the screen as it is now: people change it while they look. Remarks stay below the table, which
// is redrawn.
std::string on_screen(const CounterBoard& board, const Remarks& remarks, const Console& console) {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  const std::size_t width = known && size.ws_col > 0 ? size.ws_col : console.width();
  const std::size_t height = known && size.ws_row > 8 ? size.ws_row : 24;
  auto text = board.text(width, height - remarks.size());
  for (const auto& one : remarks) text += cut_to_width(printable(one), width) + "\n";
  return text;
}

std::string lines_of(const ops::CounterValue& value) {
  const auto tags = value.tags_text();
  const auto line = [&](const std::string& more, double number) {
    return printable(fmt::format("{}  {}  {}  {}{}{}  {}", iso8601(value.time).substr(11, 12),
                                 value.pid, value.provider, ops::counter_title(value),
                                 tags.empty() ? "" : fmt::format(" [{}]", tags), more,
                                 readable_number(number))) +
           '\n';
  };
  if (value.kind != ops::CounterKind::kHistogram) return line("", ops::shown_value(value));
  std::string lines;
  for (const auto& [share, one] : ops::shown_quantiles(value))
    lines += line(fmt::format(" p{:g}", share * 100), one);
  return lines;
}

// Silence is hard to tell from a typing error.
void explain_silence(const ops::CountersSummary& summary, Console& console) {
  if (summary.values == 0 && summary.processes != 0)
    console.talk(
        "  hint: run clrscope counters list to see what a process publishes; a counter without "
        "activity may publish nothing");
}

ops::CountersWatcher talking(Console& console) {
  return {.on_trouble = [&](const std::string& text) { console.talk("clrscope: {}", text); },
          .on_start =
              [&](std::size_t processes) {
                if (processes == 0) console.talk("Waiting for a process to start …");
              }};
}

Result<int> monitor(const Args& args, Console& console) {
  auto request = TRY(counters_request(args));
  const StopRequest stop{EnterKey::kStops};
  request.stop_fds = stop.fds();
  auto watcher = talking(console);
  CounterBoard board;
  Guarded<Remarks> remarks;
  const bool terminal = ::isatty(STDOUT_FILENO) != 0 && !args.has("--json");
  if (terminal) {
    watcher.on_values = [&](auto values) { board.add(values); };
    watcher.on_gone = [&](const auto& source) { board.forget(source.pid, source.process); };
    watcher.on_tick = [&] {
      const auto said = remarks.with([](const auto& all) { return all; });
      if (board.empty() && said.empty()) return;
      console.clear_screen();
      console.data(on_screen(board, said, console));
    };
    watcher.on_trouble = [&](const std::string& text) {
      constexpr std::size_t kMost = 4;  // the last ones
      remarks.with([&](auto& all) {
        if (all.size() == kMost) all.erase(all.begin());
        all.push_back(text);
      });
    };
  } else if (args.has("--json")) {
    watcher.on_values = [&](auto values) {
      std::string lines;
      for (const auto& value : values) ops::append_json_line(lines, value);
      console.data(lines);
    };
  } else {
    watcher.on_values = [&](auto values) {
      std::string lines;
      for (const auto& value : values) lines += lines_of(value);
      console.data(lines);
    };
  }
  const auto summary = TRY(ops::watch_counters(request, watcher));
  console.talk("{} values  lost {}", format_count(summary.values), format_count(summary.lost));
  explain_silence(summary, console);
  return kDone;
}

Result<int> collect(const Args& args, Console& console) {
  auto request = TRY(counters_request(args));
  const auto word = args.text("--format").value_or("csv");
  if (word != "csv" && word != "json")
    return fail(Errc::kUsage, "unknown format '{}'", word).hint("use csv or json");
  const auto format =
      word == "csv" ? ops::CountersFile::Format::kCsv : ops::CountersFile::Format::kJson;
  const auto path = args.text("--output").value_or("counter." + word);
  UniqueFd file{path == "-"
                    ? ::dup(STDOUT_FILENO)
                    : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode)};
  if (!file)
    return fail(Errc::kSystem, "cannot write {}: {}", path, errno_text())
        .hint("check that its folder exists and is writable");
  const StopRequest stop{EnterKey::kStops};
  request.stop_fds = stop.fds();
  ops::CountersFile out{format, request.targets, wall_now()};
  auto watcher = talking(console);
  Result<> written = write_all(file.get(), as_bytes(out.begin()));
  watcher.on_values = [&](auto values) {
    if (written) written = write_all(file.get(), as_bytes(out.rows(values)));
  };
  const auto summary = TRY(ops::watch_counters(request, watcher));
  if (written) written = write_all(file.get(), as_bytes(out.end()));
  if (!written) {
    console.talk("clrscope: {}: {}", path, written.error().what);
    return kFailedWhileRunning;
  }
  console.talk("Wrote {}  {} values  lost {}", path == "-" ? "standard output" : path,
               format_count(summary.values), format_count(summary.lost));
  explain_silence(summary, console);
  if (args.has("--json") && path != "-")
    console.data(json_line(CountersFileAnswer{path, summary.values, summary.lost}));
  return kDone;
}

Result<int> list(const Args& args, Console& console) {
  const auto request = TRY(watch_request(args));
  if (request.all || request.pids.size() + request.names.size() > 1)
    return fail(Errc::kUsage, "counters list needs exactly one process")
        .hint("use -p PID or -n NAME");
  ops::TargetRequest target = request.target;
  if (!request.pids.empty()) target.pid = request.pids.front();
  if (!request.names.empty()) target.name = request.names.front();
  const auto wanted = TRY(ops::parse_counters(args.all("--counters")));
  const auto [published, notes] = TRY(ops::list_counters(target, wanted));
  for (const auto& note : notes) console.talk("clrscope: {}", note);
  if (args.has("--json")) {
    console.data(json_line(published));
    return kDone;
  }
  Table table{{"PROVIDER", "NAME", "KIND", "UNIT", "DESCRIPTION"}};
  for (const auto& one : published)
    table.add({printable(one.provider), printable(one.name), one.kind, printable(one.unit),
               printable(one.description)});
  console.data(table.text());
  return kDone;
}

Result<int> run(const Args& args, Console& console) {
  const auto& words = args.positionals();
  const auto what = words.empty() ? "monitor" : words.front();
  if (what == "monitor") return monitor(args, console);
  if (what == "collect") return collect(args, console);
  if (what == "list") return list(args, console);
  return fail(Errc::kUsage, "unknown command '{}' of clrscope counters", what)
      .hint("use monitor, collect or list");
}

const Options kOptions[] = {kLiveTargetOptions, Options{kCounters}, kMeterLimitOptions,
                            kCommonOptions};
constexpr JsonAnswer kAnswers[] = {
    {.command = "monitor", .form = JsonAnswer::Form::kLines, .shape = ops::counter_shape},
    answers_with<CountersFileAnswer>(JsonAnswer::Form::kObject, "collect"),
    answers_with<ops::PublishedCounter>(JsonAnswer::Form::kList, "list"),
};

}  // namespace

extern const Verb counters_verb{
    .name = "counters",
    .summary = "Show or record EventCounters and meters of one or more processes",
    .usage =
        "[monitor|collect|list] -p PID|-n NAME|-a|-- COMMAND [--counters LIST] [--refresh-interval "
        "S]",
    .options = kOptions,
    .examples =
        "  clrscope counters monitor -p 4312 --counters System.Runtime,Shop.Orders\n"
        "  clrscope counters collect -n Shop.Api --format csv -o shop.csv --duration 5m",
    .run = run,
    .positionals = 1,
    .takes_command = true,
    .answers = kAnswers,
};

}  // namespace clrscope::cli
