#include "fleet/replay_command.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <charconv>
#include <cmath>
#include <csignal>
#include <thread>

#include "base/fd.h"
#include "base/io.h"
#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/options.h"
#include "fleet/relay.h"
#include "fleet/replay.h"

namespace clrscope::fleet {
namespace {

constexpr OptionText kOptions[] = {
    {"--frames", "FILE", "recorded batches: clrscope requests … --to file:FILE (required)"},
    {"--to", "URL", "server: grpc://HOST:PORT on this machine, grpcs://HOST:PORT with TLS"},
    {"--ca", "FILE", "PEM certificates to trust (default: those of the system)"},
    {"--token-file", "FILE", "file that holds the token of scope ingest"},
    {"--hosts", "COUNT", "number of hosts (default: 100)"},
    {"--scale", "SHARE", "share of the true rate, such as 0.01 (default: 1)"},
    {"--duration", "TIME", "how long to send (default: 30s)"},
    {"--streams", "COUNT", "connections that the hosts share (default: 4)"},
    {"--json", "", "print the counts as JSON"},
    {"--help", "", "show this text"},
};
constexpr std::uint64_t kLargestFile = 1 << 30;
constexpr std::uint64_t kMostWaiting = 48;     // batches per stream: then the server is too slow
constexpr std::chrono::seconds kPatience{60};  // for the last acknowledgements

struct Setting {
  RelaySetting relay{};
  std::uint64_t hosts = 100, streams = 4;
  double scale = 1;
  std::chrono::nanoseconds duration{std::chrono::seconds{30}};
};

Result<std::uint64_t> count_at(const CommandOptions& options, std::string_view name,
                               std::uint64_t otherwise, std::uint64_t most) {
  if (!options.has(name)) return otherwise;
  const auto value = parse_number(options.text(name));
  if (!value || *value < 1 || *value > most)
    return fail(Errc::kUsage, "{} must be between 1 and {}", name, most);
  return *value;
}

Result<Setting> setting_of(const CommandOptions& options) {
  Setting setting{.relay = {.to = options.text("--to"),
                            .ca_file = options.text("--ca"),
                            .token_file = options.text("--token-file"),
                            .limit = std::uint64_t{1} << 30}};
  setting.hosts = TRY(count_at(options, "--hosts", setting.hosts, 1'000'000));
  setting.streams = TRY(count_at(options, "--streams", setting.streams, 1000));
  setting.duration = TRY(options.duration("--duration", setting.duration));
  if (setting.duration <= std::chrono::nanoseconds::zero())
    return fail(Errc::kUsage, "--duration must be greater than zero");
  const auto scale = options.text("--scale", "1");
  const auto [end, bad] = std::from_chars(scale.data(), scale.data() + scale.size(), setting.scale);
  if (bad != std::errc{} || end != scale.data() + scale.size() || !std::isfinite(setting.scale) ||
      setting.scale <= 0)
    return fail(Errc::kUsage, "--scale must be greater than zero, not {}", scale);
  return setting;
}

struct Counts {
  RelayState all{};
  double seconds = 0;
};

std::uint64_t waiting(const RelayState& state) {
  return state.batches - state.delivered - state.duplicates - state.refused - state.dropped;
}

Counts counts_of(const std::vector<std::unique_ptr<Relay>>& relays) {
  Counts counts;
  for (const auto& relay : relays) {
    const auto one = relay->state();
    auto& all = counts.all;
    all.batches += one.batches, all.requests += one.requests, all.spans += one.spans;
    all.samples += one.samples, all.delivered += one.delivered, all.refused += one.refused;
    all.duplicates += one.duplicates, all.dropped += one.dropped;
    all.waiting_bytes += one.waiting_bytes;
  }
  return counts;
}

void show(const Setting& setting, const Counts& counts, double true_rate) {
  const auto rate = static_cast<double>(counts.all.delivered) / std::max(counts.seconds, 0.001);
  fmt::print(stderr,
             "\r\x1b[KReplaying {} hosts: {:.0f} s of {:.0f} s  {:.0f} batches/s ({:.2g} % of the "
             "true rate)  {} requests  waiting {}",
             format_count(setting.hosts), counts.seconds,
             std::chrono::duration<double>{setting.duration}.count(), rate, 100 * rate / true_rate,
             format_count(counts.all.requests), format_bytes(counts.all.waiting_bytes));
}

// Until the time is over or a stop is requested.
Result<Counts> send(const Setting& setting, ReplayedHosts& hosts) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd stop{::signalfd(-1, &signals, SFD_CLOEXEC)};
  std::vector<std::unique_ptr<Relay>> relays;
  for (std::uint64_t i = 0; i < setting.streams; ++i)
    relays.push_back(TRY(Relay::start(setting.relay)));

  const auto begin = TraceClock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>{TraceClock::now() - begin}.count();
  };
  const auto rate = hosts.per_second() * setting.scale;
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  const auto wait = [&](std::chrono::milliseconds time) {  // true: stopped
    pollfd on{stop.get(), POLLIN, 0};
    return ::poll(&on, 1, static_cast<int>(time.count())) > 0;
  };
  const Deadline deadline{setting.duration};
  double sent = 0, shown = 0;
  bool stopped = false;
  while (!deadline.passed() && !stopped) {
    auto& relay = *relays[hosts.next_host() % relays.size()];
    if (sent >= seconds() * rate || waiting(relay.state()) >= kMostWaiting) {
      stopped = wait(std::chrono::milliseconds{2});
    } else {
      relay.add(hosts.next(wall_now()));
      ++sent;
    }
    if (terminal && seconds() - shown >= 1) {
      shown = seconds();
      auto counts = counts_of(relays);
      counts.seconds = shown;
      show(setting, counts, hosts.per_second());
    }
  }
  const Deadline patience{kPatience};
  for (const auto& relay : relays) relay->drain(patience.left());
  if (terminal) fmt::print(stderr, "\r\x1b[K");
  auto counts = counts_of(relays);
  counts.seconds = seconds();
  return counts;
}

std::string json_of(const Setting& setting, const Counts& counts, double true_rate) {
  const auto& all = counts.all;
  JsonWriter json;
  json.begin_object().member("hosts", setting.hosts).member("seconds", counts.seconds);
  json.member("trueBatchesPerSecond", true_rate).member("scale", setting.scale);
  json.member("sharePercent",
              100 * static_cast<double>(all.delivered) / counts.seconds / true_rate);
  json.member("batches", all.batches).member("requests", all.requests).member("spans", all.spans);
  json.member("samples", all.samples).member("delivered", all.delivered);
  json.member("refused", all.refused).member("waitingBytes", all.waiting_bytes);
  return std::move(json.end_object()).take() + "\n";
}

std::string text_of(const Setting& setting, const Counts& counts, double true_rate) {
  const auto& all = counts.all;
  const auto per_second = [&](std::uint64_t count) {
    return format_count(static_cast<std::uint64_t>(static_cast<double>(count) / counts.seconds));
  };
  return fmt::format(
      "{} hosts in {:.1f} s: {} batches delivered, {} per second, {:.2g} % of the true rate\n"
      "  {} requests ({}/s), {} spans ({}/s), {} CPU samples ({}/s)\n",
      format_count(setting.hosts), counts.seconds, format_count(all.delivered),
      per_second(all.delivered),
      100 * static_cast<double>(all.delivered) / counts.seconds / true_rate,
      format_count(all.requests), per_second(all.requests), format_count(all.spans),
      per_second(all.spans), format_count(all.samples), per_second(all.samples));
}

}  // namespace

Result<int> replay_command(std::span<const std::string_view> words) {
  const auto options = TRY(CommandOptions::parse(kOptions, words));
  if (options.has("--help")) {
    fmt::print("{}", help_text("replay --frames FILE --to URL [options]", kOptions,
                               "  clrscope-fleet replay --frames shop.frames --to "
                               "grpc://127.0.0.1:52330 --hosts 1000\n"
                               "  clrscope-fleet replay --frames shop.frames --to "
                               "grpc://127.0.0.1:52330 --hosts 10000 --scale 0.01"));
    return 0;
  }
  if (!options.has("--frames") || !options.has("--to"))
    return fail(Errc::kUsage, "--frames and --to are required")
        .hint("for example --frames shop.frames --to grpc://127.0.0.1:52330");
  const auto setting = TRY(setting_of(options));
  const auto frames = TRY(read_file(options.text("--frames"), kLargestFile));
  auto hosts = TRY(ReplayedHosts::read(
      frames, setting.hosts, static_cast<std::uint64_t>(wall_now().time_since_epoch().count())));
  const auto counts = TRY(send(setting, hosts));
  const auto true_rate = hosts.per_second();
  fmt::print("{}", options.has("--json") ? json_of(setting, counts, true_rate)
                                         : text_of(setting, counts, true_rate));
  if (waiting(counts.all) > 0)
    log(LogLevel::kWarning, "{} were not delivered", format_bytes(counts.all.waiting_bytes));
  return waiting(counts.all) == 0 && counts.all.refused == 0 && counts.all.dropped == 0 ? 0 : 2;
}

}  // namespace clrscope::fleet
