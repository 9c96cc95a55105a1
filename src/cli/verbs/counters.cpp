#include "ops/counters.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json.h"
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
     .help = "Provider[a,b],Meter; EventCounters\\Name where both have the name"},
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
  wish.duration = TRY(args.duration("--duration"));
  return wish;
}

std::size_t screen_height() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 4 ? size.ws_row : 24;
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
  const bool terminal = ::isatty(STDOUT_FILENO) != 0 && !args.has("--json");
  if (terminal) {
    watcher.on_values = [&](auto values) { board.add(values); };
    watcher.on_tick = [&] {
      if (!board.empty())
        console.data("\x1b[H\x1b[2J" + board.text(console.width(), screen_height()));
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
      for (const auto& value : values) {
        const auto tags = value.tags_text();
        lines += fmt::format("{}  {}  {}  {}{}  {}\n", iso8601(value.time).substr(11, 12),
                             value.pid, value.provider, ops::counter_title(value),
                             tags.empty() ? "" : fmt::format(" [{}]", tags),
                             readable_number(hub::shown_value(value)));
      }
      console.data(lines);
    };
  }
  const auto summary = TRY(ops::watch_counters(wish, watcher));
  console.talk("{} values  lost {}", format_count(summary.values), format_count(summary.lost));
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
  UniqueFd file{path == "-" ? ::dup(STDOUT_FILENO)
                            : ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (!file) return fail(Errc::kSystem, "cannot write {}: {}", path, errno_text());
  const StopRequest stop{EnterKey::kStops};
  wish.stop_fds = stop.fds();
  ops::CountersFile out{format,
                        wish.targets.pids.empty() ? "" : std::to_string(wish.targets.pids.front()),
                        wall_now()};
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
  return kDone;
}

Result<int> list(const Args& args, Console& console) {
  const auto wish = TRY(watch_wish(args));
  ops::TargetWish target = wish.target;
  if (!wish.pids.empty()) target.pid = wish.pids.front();
  if (!wish.names.empty()) target.name = wish.names.front();
  const auto published = TRY(ops::list_counters(target));
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
    table.add({one.provider, one.name, one.kind, one.unit, one.description});
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

const Options kOptions[] = {kLiveTargetOptions, Options{kCounters}, kCommonOptions};

}  // namespace

extern const Verb counters_verb{
    .name = "counters",
    .summary = "Shows or records EventCounters and meters of one process or many",
    .usage = "[monitor|collect|list] -p PID|-n NAME|-a [--counters LIST] [--refresh-interval S]",
    .options = kOptions,
    .examples =
        "  clrscope counters monitor -p 4312 --counters System.Runtime,Shop.Orders\n"
        "  clrscope counters collect -n Shop.Api --format csv -o shop.csv --duration 5m",
    .run = run,
    .positionals = 1,
    .takes_command = true,
};

}  // namespace clrscope::cli
