#include "archive/request_run.h"

#include "answer/text.h"

namespace clrscope::archive {
namespace {

constexpr std::size_t kRows = 100;

}  // namespace

std::span<const std::string_view> names_of(RunState) {
  static constexpr std::string_view kNames[] = {"starting", "running", "stopping", "finished",
                                                "failed"};
  return kNames;
}

std::span<const std::string_view> names_of(RunEnding) {
  static constexpr std::string_view kNames[] = {"duration", "stopped", "exited", "serverStopped"};
  return kNames;
}

const Shape& shape_of(const RequestRunAnswer*) {
  using R = RequestRunAnswer;
  static const auto shape = describe<R>(
      "RequestRun", "A profile of HTTP requests that a client started",
      {member<&R::id>("id", "id of the profile"),
       member<&R::state>("state", "starting: the agent and the methods are being prepared"),
       member<&R::running>("running", "whether it has not ended"),
       member<&R::started>("started", "time of the request for it"),
       member<&R::process>("process", "profiled process"),
       member<&R::include>("include", "patterns of methods to time"),
       member_unless_empty<&R::exclude>("exclude", "patterns of methods not to time"),
       member<&R::probability>("probability",
                               "share of requests with spans, 0 to 1; missing: automatic"),
       member<&R::planned>("plannedMs", "the longest time it profiles"),
       member<&R::duration>("durationMs", "how long it has profiled"),
       member<&R::seen>("seen", "requests that began, sampled or not"),
       member<&R::sampled>("sampled", "requests with spans"),
       member<&R::updated>("updated", "time of these numbers"),
       member<&R::ending>("ending",
                          "why it ended: its duration was over, a client stopped it, the "
                          "process exited, or the server stopped and cut it"),
       member_unless_empty<&R::error>("error", "why it failed"),
       member_unless_empty<&R::hint>("hint", "what to do about it"),
       member<&R::by>("by", "name of the caller that started it")});
  return shape;
}

RequestRunAnswer answer_of(const RequestRun& run) {
  RequestRunAnswer out{.id = run.id,
                       .state = run.state,
                       .running = run.running(),
                       .started = run.started,
                       .process = reference_to(run.process),
                       .include = run.include,
                       .exclude = run.exclude,
                       .probability = run.probability,
                       .planned = run.planned,
                       .duration = run.duration,
                       .seen = run.seen,
                       .sampled = run.sampled,
                       .updated = run.updated,
                       .ending = run.ending,
                       .by = run.by};
  if (run.error) {
    out.error = run.error->what;
    out.hint = run.error->hint;
  }
  return out;
}

std::string text_of(const ops::RequestProfile& profile) {
  return answer::page_text(ops::requests_document(profile, kRows, ops::WaterfallStyle::kUnicode),
                           answer::kWholeLines);
}

}  // namespace clrscope::archive
