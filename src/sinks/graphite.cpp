// Numbers to Graphite's carbon: lines of text over TCP or UDP, or pickles over TCP.
//
//   shop.web1.Shop_Api.dotnet.gc.heap.total_allocated.rate 1048576 1794704712
//
// The same path and second written twice is written once: so what may not have arrived is sent
// again after a break. What is promised: docs/forwarding.md
#include <fmt/format.h>

#include <array>

#include "sinks/number_sink.h"
#include "sinks/pickle.h"
#include "sinks/socket_carrier.h"

namespace clrscope::sinks {
namespace {

constexpr std::size_t kDatagram = 1400;
constexpr std::size_t kPiece = 16 << 10;
constexpr std::size_t kMostTags = 32;

// Graphite's tags: a name is not empty and has none of ;!^= in it, a value no ';' and no '~' first.
std::string tag_value(std::string_view text) {
  constexpr std::size_t kLongest = 200;
  std::string value;
  for (const char c : text.substr(0, kLongest))
    value += c > ' ' && c < 0x7f && c != ';' && (c != '~' || !value.empty()) ? c : '_';
  return value.empty() ? "_" : value;
}

std::string tag_name(std::string_view text) {
  auto name = plain_part(text);
  return name.empty() || name == "name" ? name + "_" : name;  // "name" is the path's
}

struct Wording {
  PathTemplate path{};
  std::string prefix{};
  std::string host{};
  bool tagged = false;  // ";tag=value"
  bool with_pid = false;
};

class GraphiteFormat final : public NumberFormat {
 public:
  GraphiteFormat(Wording wording, bool pickled, std::size_t most_bytes, std::size_t most_series)
      : wording_(std::move(wording)),
        pickled_(pickled),
        series_(most_series),
        lines_(most_bytes),
        pickles_(most_bytes) {}

  std::size_t add(const Metric& metric) override {
    const auto path = wording_.path.expand(wording_.prefix, wording_.host, metric);
    const auto tags = wording_.tagged ? tags_of(metric) : std::string{};
    const auto second = std::chrono::floor<std::chrono::seconds>(metric.time);
    const auto now = TraceClock::now();
    std::size_t dropped = 0;
    for (const auto& point : metric.points) {
      if (point.kind == PointKind::kIncrement) continue;
      const auto series =
          fmt::format("{}{}{}{}", path, point.suffix.empty() ? "" : ".", point.suffix, tags);
      if ((!metric.own && !series_.admits(series, now)) ||
          !put(series, second.time_since_epoch().count(), point.value))
        ++dropped;
    }
    return dropped;
  }

  std::vector<Message> take() override { return pickled_ ? pickles_.take() : lines_.take(); }

 private:
  bool put(const std::string& series, std::int64_t second, double value) {
    if (pickled_) return pickles_.add(series, second, value);
    return lines_.add(fmt::format("{} {} {}", series, number_text(value), second));
  }

  std::string tags_of(const Metric& metric) const {
    auto text = fmt::format(";host={}", tag_value(wording_.host));
    if (!metric.process.empty()) text += fmt::format(";process={}", tag_value(metric.process));
    if (wording_.with_pid && metric.pid != 0) text += fmt::format(";pid={}", metric.pid);
    std::size_t count = 0;
    for (const auto& [key, value] : metric.tags)
      if (++count <= kMostTags) text += fmt::format(";{}={}", tag_name(key), tag_value(value));
    return text;
  }

  const Wording wording_;
  const bool pickled_;
  SeriesLimit series_;
  LinePacker lines_;
  PicklePacker pickles_;
};

std::string default_template(bool tagged, bool with_pid, Names names) {
  if (tagged) return names == Names::kOtel ? "{prefix}.{name}" : "{prefix}.{provider}.{name}";
  return fmt::format("{{prefix}}.{{host}}.{{process}}{}{}.{{name}}.{{tags}}",
                     with_pid ? ".{pid}" : "", names == Names::kOtel ? "" : ".{provider}");
}

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting& setting) {
  constexpr std::array<std::string_view, 3> kProtocols{"tcp", "udp", "pickle"};
  constexpr std::array<std::string_view, 2> kTags{"path", "graphite"};
  const auto protocol = TRY(address.one_of("proto", "tcp", kProtocols));
  const auto tags = TRY(address.one_of("tags", "path", kTags));
  const auto with_pid = TRY(address.truth("pid", false));
  const auto most_series = TRY(address.number("limit", 10'000, 1, 1'000'000));
  const auto peer = TRY(net::parse_address(address.target, protocol == "pickle" ? "2004" : "2003"));
  const auto names = TRY(names_of(address));
  Wording wording{.prefix = address.option("prefix").value_or("clrscope"),
                  .host = host_name(),
                  .tagged = tags == "graphite",
                  .with_pid = with_pid};
  const auto words = address.option("template");
  wording.path =
      TRY(PathTemplate::parse(words ? *words : default_template(wording.tagged, with_pid, names)));
  auto format =
      std::make_unique<GraphiteFormat>(std::move(wording), protocol == "pickle",
                                       protocol == "udp" ? kDatagram : kPiece, most_series);
  std::unique_ptr<Carrier> carrier;
  if (protocol == "udp")
    carrier = std::make_unique<DatagramCarrier>(peer);
  else
    carrier = std::make_unique<StreamCarrier>(peer, Repeat::kRecent);
  return make_number_sink(address, setting, std::move(format), std::move(carrier));
}

constexpr SinkOption kOptions[] = {
    {"proto", "tcp|udp|pickle", "lines of text over TCP (port 2003) or UDP, or pickles (2004)"},
    kPrefixOption,
    {"template", "PATH",
     "template of the names, from {prefix} {host} {process} {pid} {provider} {name} {tags}"},
    {"tags", "path|graphite", "tags as parts of the path, or as ;tag=value"},
    {"pid", "yes|no", "distinguish processes with the same name"},
    kNamesOption,
    kFieldOption,
    kSeriesOption,
};

}  // namespace

extern const SinkKind graphite_sink{
    .name = "graphite",
    .target = "HOST[:PORT]",
    .summary = "counters and event rates to Graphite's carbon",
    .options = kOptions,
    .make = make,
};

}  // namespace clrscope::sinks
