#include "ops/counters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/guarded.h"
#include "base/io.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/private_folder.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/console.h"
#include "cli/counter_board.h"
#include "cli/live_args.h"
#include "cli/stop_request.h"
#include "cli/verb.h"
#include "ops/page_text.h"

namespace clrscope::cli {
namespace {

constexpr Option kCounters[] = {
    {.name = "--counters",
     .value = "LIST",
     .help = "only these: Provider[a,b],Shop.*; EventCounters\\Name, Meter\\Name (default: all)"},
    {.name = "--refresh-interval", .value = "S", .help = "seconds between values, 1 unless told"},
    {.name = "--format", .value = "FORMAT", .help = "collect: csv or json (csv unless told)"},
    {.name = "--output", .value = "FILE", .help = "collect: where to; - is stdout", .letter = 'o'},
    {.name = "--duration", .value = "TIME", .help = "stop after this long: 30, 30s, 5m"},
};

Result<ops::CountersWish> counters_wish(const Args& args) {
  ops::CountersWish wish{.targets = TRY(watch_wish(args))};
  wish.counters = TRY(ops::parse_counters(args.all("--counters")));
  if (wish.counters.empty()) wish.counters = ops::default_counters();
  wish.interval = std::chrono::seconds{TRY(args.number("--refresh-interval", 1, 3600)).value_or(1)};
  wish.limits = TRY(meter_limits(args));
  wish.duration = TRY(args.duration("--duration"));
  return wish;
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

std::string lines_of(const hub::CounterValue& value) {
  const auto tags = value.tags_text();
  const auto line = [&](const std::string& more, double number) {
    return printable(fmt::format("{}  {}  {}  {}{}{}  {}", iso8601(value.time).substr(11, 12),
                                 value.pid, value.provider, ops::counter_title(value),
                                 tags.empty() ? "" : fmt::format(" [{}]", tags), more,
                                 readable_number(number))) +
           '\n';
  };
  if (value.kind != hub::CounterKind::kHistogram) return line("", hub::shown_value(value));
  std::string lines;
  for (const auto& [share, one] : hub::shown_quantiles(value))
    lines += line(fmt::format(" p{:g}", share * 100), one);
  return lines;
}

// Silence is hard to tell from a typing error.
void explain_silence(const ops::CountersSummary& summary, Console& console) {
  if (summary.values == 0 && summary.processes != 0)
    console.talk(
        "  hint: counters list shows what a process publishes; a counter that nothing "
        "happens to may tell nothing");
}

ops::CountersWatcher talking(Console& console) {
  return {.on_trouble = [&](const std::string& text) { console.talk("clrscope: {}", text); },
          .on_start =
              [&](std::size_t processes) {
                if (processes == 0) console.talk("Waiting for a process to come …");
              }};
}

Result<int> monitor(const Args& args, Console& console) {
  auto wish = TRY(counters_wish(args));
  const StopRequest stop{EnterKey::kStops};
  wish.stop_fds = stop.fds();
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
      for (const auto& value : values) hub::append_json_line(lines, value);
      console.data(lines);
    };
  } else {
    watcher.on_values = [&](auto values) {
      std::string lines;
      for (const auto& value : values) lines += lines_of(value);
      console.data(lines);
    };
  }
  const auto summary = TRY(ops::watch_counters(wish, watcher));
  console.talk("{} values  lost {}", format_count(summary.values), format_count(summary.lost));
  explain_silence(summary, console);
  return kDone;
}

Result<int> collect(const Args& args, Console& console) {
  auto wish = TRY(counters_wish(args));
  const auto word = args.text("--format").value_or("csv");
  if (word != "csv" && word != "json")
    return fail(Errc::kUsage, "there is no format '{}' for counters", word).hint("csv or json");
  const auto format =
      word == "csv" ? ops::CountersFile::Format::kCsv : ops::CountersFile::Format::kJson;
  const auto path = args.text("--output").value_or("counter." + word);
  UniqueFd file{path == "-"
                    ? ::dup(STDOUT_FILENO)
                    : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode)};
  if (!file)
    return fail(Errc::kSystem, "cannot write {}: {}", path, errno_text())
        .hint("does its folder exist, and may you write there?");
  const StopRequest stop{EnterKey::kStops};
  wish.stop_fds = stop.fds();
  ops::CountersFile out{format, wish.targets, wall_now()};
  auto watcher = talking(console);
  Result<> written = write_all(file.get(), as_bytes(out.begin()));
  watcher.on_values = [&](auto values) {
    if (written) written = write_all(file.get(), as_bytes(out.rows(values)));
  };
  const auto summary = TRY(ops::watch_counters(wish, watcher));
  if (written) written = write_all(file.get(), as_bytes(out.end()));
  if (!written) {
    console.talk("clrscope: {}: {}", path, written.error().what);
    return kFailedWhileRunning;
  }
  console.talk("Wrote {}  {} values  lost {}", path == "-" ? "standard output" : path,
               format_count(summary.values), format_count(summary.lost));
  explain_silence(summary, console);
  if (args.has("--json") && path != "-") {
    JsonWriter json;
    json.begin_object()
        .member("file", path)
        .member("values", summary.values)
        .member("lost", summary.lost)
        .end_object();
    console.data(json.text() + "\n");
  }
  return kDone;
}

Result<int> list(const Args& args, Console& console) {
  const auto wish = TRY(watch_wish(args));
  if (wish.all || wish.pids.size() + wish.names.size() > 1)
    return fail(Errc::kUsage, "counters list looks at one process").hint("-p PID or -n NAME");
  ops::TargetWish target = wish.target;
  if (!wish.pids.empty()) target.pid = wish.pids.front();
  if (!wish.names.empty()) target.name = wish.names.front();
  const auto wanted = TRY(ops::parse_counters(args.all("--counters")));
  const auto [published, notes] = TRY(ops::list_counters(target, wanted));
  for (const auto& note : notes) console.talk("clrscope: {}", note);
  if (args.has("--json")) {
    JsonWriter json;
    json.begin_array();
    for (const auto& one : published)
      json.begin_object()
          .member("provider", one.provider)
          .member("name", one.name)
          .member("kind", one.kind)
          .member("unit", one.unit)
          .member("description", one.description)
          .end_object();
    json.end_array();
    console.data(json.text() + "\n");
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
  return fail(Errc::kUsage, "counters: there is no '{}'", what).hint("monitor, collect or list");
}

const Options kOptions[] = {kLiveTargetOptions, Options{kCounters}, kMeterLimitOptions,
                            kCommonOptions};

}  // namespace

extern const Verb counters_verb{
    .name = "counters",
    .summary = "Shows or records EventCounters and meters of one process or many",
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
};

}  // namespace clrscope::cli
