// The kinds of sinks that --to names: one file each, listed in sinks.inc.
//
//   --to graphite:127.0.0.1:2003,prefix=shop,interval=10s
//
// docs/adding-a-sink.md shows how to add one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "hub/sink.h"

namespace clrscope::sinks {

// A --to as it was written, taken apart and checked against its kind.
struct SinkKind;
struct SinkAddress {
  const SinkKind* kind = nullptr;
  std::string target{};  // what follows the colon; may be empty
  std::vector<std::pair<std::string, std::string>> options{};
  std::string text{};      // as it was written, without secrets: for people
  std::string identity{};  // tells it from every other one; holds no secret either

  // The last one given.
  std::optional<std::string> option(std::string_view name) const;
  std::vector<std::string> all(std::string_view name) const;
  Result<std::uint64_t> number(std::string_view name, std::uint64_t otherwise, std::uint64_t least,
                               std::uint64_t most) const;
  Result<std::chrono::nanoseconds> duration(std::string_view name,
                                            std::chrono::nanoseconds otherwise) const;
  Result<std::uint64_t> size(std::string_view name, std::uint64_t otherwise) const;  // "64MiB"
  Result<bool> truth(std::string_view name, bool otherwise) const;  // "yes", "true", "1", "no" …
  // One of `words`, else an error that names them.
  Result<std::string> one_of(std::string_view name, std::string_view otherwise,
                             std::span<const std::string_view> words) const;
};

struct SinkOption {
  std::string_view name;
  std::string_view value;  // what stands for its value in help
  std::string_view help;
};

// What all sinks of one `forward` share.
struct SinkSetting {
  std::string spool{};                     // folder for what cannot be delivered; empty: none
  std::uint64_t spool_limit = 1ULL << 30;  // bytes, for each sink
  std::chrono::nanoseconds interval{std::chrono::seconds{1}};  // of this sink's counters
  // The names of an event's stack, a JSON array, leaf first; empty: it has none. On the sink's
  // thread.
  std::function<std::string(const hub::Block&, std::uint32_t row)> stack_json{};
};

struct SinkKind {
  std::string_view name;     // "graphite"
  std::string_view target;   // "HOST:PORT"; "[:ADDRESS]" when it may be left out, "": has none
  std::string_view summary;  // for --help
  std::span<const SinkOption> options{};
  // Whether raw events go whole to it; else they arrive as counts (event_metrics.h).
  bool whole_events = false;
  Result<std::unique_ptr<hub::Sink>> (*make)(const SinkAddress& address,
                                             const SinkSetting& setting) = nullptr;
};

std::span<const SinkKind* const> sink_kinds();
// Options that every kind has: interval, block.
std::span<const SinkOption> common_sink_options();

// An unknown kind or option, or a missing target, is an error that names those that exist.
Result<SinkAddress> parse_sink(std::string_view text);

}  // namespace clrscope::sinks
