// Log entries of a program (ILogger), from its logging EventSource.
//
// The scopes of an entry are those that were open where it was logged: activities of .NET are paths
// from the outermost to the innermost, and a scope is an activity. Belongs to one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/shape.h"
#include "hub/block.h"
#include "hub/request.h"
#include "nettrace/payload.h"

namespace clrscope::live {

enum class LogSeverity : std::uint8_t {
  kTrace,
  kDebug,
  kInformation,
  kWarning,
  kError,
  kCritical,
  kNone
};
std::span<const std::string_view> names_of(LogSeverity);
std::string_view name_of(LogSeverity level);                       // "Information"
std::optional<LogSeverity> parse_severity(std::string_view text);  // without case, or "0" to "6"

using LogValues = std::vector<std::pair<std::string, std::string>>;

struct LogEntry {
  WallTime time{};
  LogSeverity level = LogSeverity::kInformation;
  std::string category{};
  std::int64_t event_id = 0;
  std::string event_name{};
  std::string message{};
  std::string exception{};
  LogValues state{};
  std::vector<LogValues> scopes{};  // the outermost first
};

const Shape& shape_of(const LogEntry*);  // dotnet-monitor's
// As the simple console has it: two lines or more, with their ends.
std::string log_text(const LogEntry& entry);

// What shall be told. None of it: as the program's own configuration has it.
struct LogRequest {
  std::optional<LogSeverity> level{};
  std::vector<std::pair<std::string, std::optional<LogSeverity>>> categories{};
  bool app_filters = false;
};
std::vector<hub::ProviderRequest> log_providers(const LogRequest& request);

class LogDecoder {
 public:
  void on_batch(const hub::Batch& batch, std::vector<LogEntry>& out);

 private:
  static constexpr std::size_t kMostScopes = 10'000;

  std::uint64_t reader_ = 0;
  std::optional<nettrace::PayloadPlans> plans_;
  std::map<std::string, LogValues> scopes_;  // by the path of their activity
  std::deque<std::string> order_;            // of their coming
};

}  // namespace clrscope::live
