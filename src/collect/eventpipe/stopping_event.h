// The event that ends a recording: by provider, by name, by what its payload holds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "nettrace/payload.h"
#include "nettrace/reader.h"

namespace clrscope::collect {

struct StoppingEventRequest {
  std::string provider;
  std::optional<std::string> event{};                         // "GC/Start", "GCStart_V2"
  std::vector<std::pair<std::string, std::string>> fields{};  // all of them must be so
};

// "field:value,field:value"
Result<std::vector<std::pair<std::string, std::string>>> parse_payload_filter(
    std::string_view text);

class StoppingEvent {
 public:
  explicit StoppingEvent(StoppingEventRequest request) : request_(std::move(request)) {}
  bool found_in(const nettrace::Batch& batch, const nettrace::Reader& reader);
  // Types must differ in their index; payloads are of programs whose pointers have this size.
  bool is(const Event& event, std::uint32_t pointer_size);

 private:
  bool type_matches(const EventType& type);
  bool fields_match(const Event& event);

  StoppingEventRequest request_;
  std::optional<nettrace::PayloadPlans> plans_;
  std::vector<std::optional<bool>> types_;  // by EventType::index: asked and answered
};

}  // namespace clrscope::collect
