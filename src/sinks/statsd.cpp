// Numbers to a statsd server, over UDP or a unix datagram socket.
//
//   shop.dotnet.exceptions:3|c|#process:Shop.Api
//
// Counters go as what they grew by, all else as gauges; a histogram as its quantiles. Datagrams are
// acknowledged by nobody: what is lost on the way is lost.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sinks/number_sink.h"
#include "sinks/socket_carrier.h"

namespace clrscope::sinks {
namespace {

constexpr std::size_t kDatagram = 1400;
constexpr std::size_t kUnixDatagram = 8000;
constexpr std::size_t kMostTags = 32;

enum class Tags : std::uint8_t { kNone, kDogstatsd, kInflux };

// What Datadog keeps of a tag: letters, digits and _-./ (and ':', which would end an Influx one).
std::string tag_text(std::string_view text, bool with_colon) {
  constexpr std::size_t kLongest = 200;
  std::string plain;
  for (const char c : text.substr(0, kLongest)) {
    const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || c == '.' || c == '/' || (c == ':' && with_colon);
    plain += stays ? c : '_';
  }
  return plain.empty() ? "_" : plain;
}

class StatsdFormat final : public NumberFormat {
 public:
  StatsdFormat(Tags tags, PathTemplate path, std::string prefix, bool with_pid,
               std::size_t most_bytes, std::size_t most_series)
      : tags_(tags),
        path_(std::move(path)),
        prefix_(std::move(prefix)),
        host_(host_name()),
        with_pid_(with_pid),
        series_(most_series),
        lines_(most_bytes) {}

  std::size_t add(const Metric& metric) override {
    const auto path = path_.expand(prefix_, host_, metric);
    const auto tags = tags_of(metric);
    const bool counted = std::ranges::any_of(
        metric.points, [](const auto& one) { return one.kind == PointKind::kIncrement; });
    const auto now = TraceClock::now();
    std::size_t dropped = 0;
    for (const auto& point : metric.points) {
      const bool grows = point.kind == PointKind::kIncrement || point.kind == PointKind::kAmount;
      if (point.kind == PointKind::kRate || (counted && point.kind == PointKind::kTotal)) continue;
      if (grows && point.value == 0) continue;
      const auto name = fmt::format("{}{}{}", path, point.suffix.empty() ? "" : ".", point.suffix);
      if ((!metric.own && !series_.admits(name + tags, now)) ||
          !lines_.add(line(name, tags, point.value, grows)))
        ++dropped;
    }
    return dropped;
  }

  std::vector<Message> take() override { return lines_.take(); }

 private:
  std::string line(const std::string& name, const std::string& tags, double value,
                   bool grows) const {
    const auto one = [&](const std::string& number) {
      if (tags_ == Tags::kInflux)
        return fmt::format("{}{}:{}|{}", name, tags, number, grows ? "c" : "g");
      return fmt::format("{}:{}|{}{}", name, number, grows ? "c" : "g", tags);
    };
    // A sign makes a change of a gauge, everywhere but at Datadog: it starts from zero then.
    if (!grows && value < 0 && tags_ != Tags::kDogstatsd)
      return one("0") + "\n" + one(number_text(value));
    return one(number_text(value));
  }

  std::string tags_of(const Metric& metric) const {
    if (tags_ == Tags::kNone) return {};
    std::vector<std::pair<std::string, std::string>> all;
    if (!metric.process.empty()) all.emplace_back("process", metric.process);
    if (with_pid_ && metric.pid != 0) all.emplace_back("pid", std::to_string(metric.pid));
    for (const auto& tag : metric.tags)
      if (all.size() < kMostTags) all.push_back(tag);
    std::string text;
    for (const auto& [key, value] : all) {
      const bool dog = tags_ == Tags::kDogstatsd;
      const auto before = !dog ? "," : text.empty() ? "|#" : ",";
      text += fmt::format("{}{}{}{}", before, tag_text(key, false), dog ? ":" : "=",
                          tag_text(value, dog));
    }
    return text;
  }

  const Tags tags_;
  const PathTemplate path_;
  const std::string prefix_, host_;
  const bool with_pid_;
  SeriesLimit series_;
  LinePacker lines_;
};

std::string default_template(Tags tags, bool with_pid, Names names) {
  const auto* provider = names == Names::kOtel ? "" : ".{provider}";
  if (tags != Tags::kNone) return fmt::format("{{prefix}}{}.{{name}}", provider);
  return fmt::format("{{prefix}}.{{process}}{}{}.{{name}}.{{tags}}", with_pid ? ".{pid}" : "",
                     provider);
}

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting& setting) {
  constexpr std::array<std::string_view, 3> kTags{"none", "dogstatsd", "influx"};
  const auto word = TRY(address.one_of("tags", "none", kTags));
  const auto tags = word == "none"     ? Tags::kNone
                    : word == "influx" ? Tags::kInflux
                                       : Tags::kDogstatsd;
  const auto with_pid = TRY(address.truth("pid", false));
  const auto most_series = TRY(address.number("limit", 10'000, 1, 1'000'000));
  const auto peer = TRY(net::parse_address(address.target, "8125"));
  const auto names = TRY(names_of(address));
  const auto words = address.option("template");
  auto path = TRY(PathTemplate::parse(words ? *words : default_template(tags, with_pid, names)));
  auto format = std::make_unique<StatsdFormat>(
      tags, std::move(path), address.option("prefix").value_or("clrscope"), with_pid,
      peer.path.empty() ? kDatagram : kUnixDatagram, most_series);
  return make_number_sink(address, setting, std::move(format),
                          std::make_unique<DatagramCarrier>(peer));
}

constexpr SinkOption kOptions[] = {
    {"tags", "none|dogstatsd|influx", "in the name, as |#key:value, or as name,key=value"},
    kPrefixOption,
    {"template", "PATH",
     "template of the names, from {prefix} {host} {process} {pid} {provider} {name} {tags}"},
    {"pid", "yes|no", "distinguish processes with the same name"},
    kNamesOption,
    kFieldOption,
    kSeriesOption,
};

}  // namespace

extern const SinkKind statsd_sink{
    .name = "statsd",
    .target = "HOST[:PORT]",
    .summary = "counters and event rates to a statsd server, over UDP or unix:PATH",
    .options = kOptions,
    .make = make,
};

}  // namespace clrscope::sinks
