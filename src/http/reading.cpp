#include "http/reading.h"

#include "http/services.h"
#include "http/setting.h"

namespace clrscope::http {

Result<Limits::Place> begin_reading(const Call& call) {
  auto place = call.services().limits.enter(Load::kConversion, call.caller().name);
  if (const auto* full = std::get_if<Limits::Full>(&place)) return fail(full_error(*full));
  return std::get<Limits::Place>(std::move(place));
}

ops::TraceLimits reading_limits(const Call& call) {
  const auto& setting = call.services().setting;
  return {.bytes = setting.expand_limit,
          .cpu = setting.read_cpu,
          .samples = setting.sample_limit,
          .gone = [&call] { return call.gone(); }};
}

}  // namespace clrscope::http
