// A counter's value as plain numbers with names, for sinks that know nothing else.
//
// One value may be several points: a histogram is its quantiles, how many and how much. Names are
// OpenTelemetry's (hub/otel_names.h), or as the program published them. Nothing here does I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "hub/counter.h"

namespace clrscope::sinks {

enum class PointKind : std::uint8_t {
  kValue,      // as it is now, or of the interval
  kRate,       // growth per second
  kIncrement,  // the same growth, in the interval
  kTotal,      // the same, since the beginning
  kAmount,     // how much came in the interval
};

struct Point {
  std::string suffix{};  // "p99", "rate"; may be empty
  double value = 0;      // finite
  PointKind kind = PointKind::kValue;
};

enum class Names : std::uint8_t { kOtel, kDotnet };

struct Metric {
  WallTime time{};
  pid_t pid = 0;
  std::string process{};
  std::string provider{};
  std::string name{};
  std::vector<std::pair<std::string, std::string>> tags{};  // by name
  std::vector<Point> points{};                              // none of them infinite or no number
  bool own = false;                                         // told of clrscope: always told
};

Metric metric_of(const hub::CounterValue& value, Names names);

// A number as text: whole ones without an exponent.
std::string number_text(double value);

// Letters, digits, '-' and '_' stay, all else becomes '_'. What is too long is cut, and a checksum
// keeps two apart.
std::string plain_part(std::string_view text);
// The same for each part between dots; empty parts vanish.
std::string plain_path(std::string_view text);

// "{prefix}.{host}.{process}.{name}.{tags}"
class PathTemplate {
 public:
  static Result<PathTemplate> parse(std::string_view text);
  // `prefix` and the metric's name may hold dots; tags are "key.value" each.
  std::string expand(std::string_view prefix, std::string_view host, const Metric& metric) const;

 private:
  struct Piece {
    std::string text{};
    bool word = false;
  };
  std::vector<Piece> pieces_;
};

// How many series a sink may have: more would hurt who stores them. One that was not seen for long
// makes room.
class SeriesLimit {
 public:
  explicit SeriesLimit(std::size_t most) : most_(most) {}
  bool admits(std::string_view series, TraceTime now);

 private:
  std::size_t most_;
  TraceTime tidied_{};
  std::unordered_map<std::size_t, TraceTime> seen_;  // by hash
};

}  // namespace clrscope::sinks
