// What a client wants recorded: from the query and from a JSON body, of ours or of dotnet-monitor's
// shape. Parses only; a wrong field is an error that names it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/processes.h"
#include "http/route.h"
#include "ops/record.h"

namespace clrscope::http {

struct TraceRequest {
  Selector selector{};
  bool whole_machine = false;
  std::optional<std::string> profile{};  // as it was said: "cpu,http", "cpu-sampling"
  std::vector<ops::Provider> providers{};
  std::optional<std::uint32_t> buffer_mb{};
  std::optional<std::int64_t> duration_seconds{};  // -1: until it is stopped
  std::optional<std::int64_t> lease_seconds{};
  std::optional<bool> rundown{};
  std::optional<unsigned> rate{};
  std::optional<ops::Sampler> sampler{};
  std::optional<std::int64_t> metrics_seconds{};
  std::string tags{};
};

// Field names compare without case; one that is not known, or is there twice, is an error.
Result<TraceRequest> parse_trace_body(std::string_view json);

// The body where there is one, and what the query says, which wins.
Result<TraceRequest> trace_request(const Call& call);

// Profiles of ours as they are; dotnet-monitor's turned into profiles and providers of ours.
Result<ops::ProviderWords> provider_words(const TraceRequest& request);

// Why nothing could be recorded: 429 when the runtime has no session left.
HttpResponse record_problem(const Error& error);

// All but the target and the output.
Result<ops::RecordRequest> record_request(const TraceRequest& request);

// ?egressProvider= is an error that says so.
Result<> no_egress(const Call& call);

extern const std::span<const Parameter> kTraceParameters;

// The JSON body as it is published. Read field by field: names are case-insensitive.
struct ProviderBody {
  std::string name{};
  std::optional<std::string> keywords{}, level{};
  std::optional<std::map<std::string, std::string>> arguments{};
  std::optional<std::vector<std::uint32_t>> ids{};
};
const Shape& shape_of(const ProviderBody*);
struct TraceBody {
  std::optional<pid_t> pid{};
  std::optional<std::string> uid{}, name{}, profile{};
  std::optional<std::vector<ProviderBody>> providers{};
  std::optional<std::uint32_t> buffer_size{};
  std::optional<std::int64_t> duration{}, lease{};
  std::optional<bool> rundown{};
  std::optional<unsigned> rate{};
  std::optional<bool> all{};
  std::optional<std::string> sampler{}, tags{};
};
const Shape& shape_of(const TraceBody*);

}  // namespace clrscope::http
