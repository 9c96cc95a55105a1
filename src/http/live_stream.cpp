#include "http/live_stream.h"

#include <fmt/format.h>

#include "base/text.h"
#include "http/processes.h"
#include "http/services.h"
#include "site/answer.h"

namespace clrscope::http {
namespace {

constexpr std::chrono::seconds kHeartbeat{15};

class StreamFollower final : public live::Follower {
 public:
  StreamFollower(std::shared_ptr<net::HttpStream> stream, StreamOptions request, bool events,
                 std::string ids)
      : stream_(std::move(stream)),
        render_(std::move(request.render)),
        until_(request.duration ? Deadline{*request.duration}
                                : Deadline{std::chrono::nanoseconds::max()}),
        events_(events),
        ids_(std::move(ids)) {}

  bool on_item(const live::LiveItem& item) override {
    auto text = render_(item);
    if (text.empty()) return !stream_->gone();
    if (events_) text = event(live::name_of(item.topic), text, item.id);
    if (dropped_ != 0 && !tell_dropped()) return count_dropped();
    if (!stream_->try_write(std::move(text))) return count_dropped();
    wrote_ = TraceClock::now();
    return true;
  }

  bool on_tick() override {
    if (stream_->gone()) return false;
    if (until_.passed()) {
      stream_->end();
      return false;
    }
    if (dropped_ != 0) (void)tell_dropped();
    if (events_ && TraceClock::now() - wrote_ >= kHeartbeat) {
      wrote_ = TraceClock::now();
      (void)stream_->try_write(": still here\n\n");
    }
    return true;
  }

  void on_missed(std::uint64_t items, bool exact) override {
    if (events_)
      (void)stream_->try_write(
          event("missed", json_text(StreamMissed{.items = items, .exact = exact}), std::nullopt));
  }

  void on_end(const std::string& why) override {
    if (events_) (void)stream_->try_write(event("end", json_text(StreamEnd{why}), std::nullopt));
    stream_->end();
  }

 private:
  std::string event(std::string_view name, std::string_view data,
                    std::optional<std::uint64_t> id) const {
    std::string out = id ? fmt::format("id: {}{}\nevent: {}\n", ids_, *id, name)
                         : fmt::format("event: {}\n", name);
    for (const auto line : split(data, '\n')) out += fmt::format("data: {}\n", line);
    return out + "\n";
  }

  bool tell_dropped() {
    if (!events_) return dropped_ = 0, true;  // the other shapes have no words for it
    if (!stream_->try_write(
            event("missed", json_text(StreamMissed{.items = dropped_, .exact = true, .slow = true}),
                  std::nullopt)))
      return false;
    dropped_ = 0;
    return true;
  }
  bool count_dropped() {
    ++dropped_;
    return !stream_->gone();
  }

  const std::shared_ptr<net::HttpStream> stream_;
  const Render render_;
  const Deadline until_;
  const bool events_;
  const std::string ids_;
  TraceTime wrote_ = TraceClock::now();
  std::uint64_t dropped_ = 0;  // since it was last told
};

}  // namespace

const Shape& shape_of(const StreamMissed*) {
  using M = StreamMissed;
  static const auto shape = describe<M>(
      "StreamMissed", "Items that are missing at this place of the stream",
      {member<&M::items>("items", "number of missing items"),
       member<&M::exact>("exact", "whether the number is exact; false: at least so many"),
       member<&M::slow>("slow", "true: the client reads too slowly")});
  return shape;
}

const Shape& shape_of(const StreamEnd*) {
  static const auto shape = describe<StreamEnd>("StreamEnd", "The end of the stream",
                                                {member<&StreamEnd::reason>("reason", "why")});
  return shape;
}

Result<live::LiveWho> chosen_live(const Call& call) {
  auto& services = call.services();
  const auto process = services.processes.chosen(call);
  if (process) return live::LiveWho{process->pid, services.processes.target(*process)};
  const auto pid = TRY(call.number("pid", 1, 0x7fffffff));
  // What is followed was allowed when it was there.
  if (pid && services.live.knows(static_cast<pid_t>(*pid)))
    return live::LiveWho{static_cast<pid_t>(*pid)};
  return fail(process.error());
}

live::Messages messages_for(const Call& call) {
  return call.caller().scopes.has(Scope::kTrace) ? live::Messages::kShown
                                                 : live::Messages::kWithheld;
}

HttpResponse live_problem(const Error& error) {
  if (!live::is_limit(error)) return problem(error);
  auto response = problem(429, error.what, error.hint);
  response.fields.push_back({"Retry-After", "30"});
  return response;
}

void serve_stream(Call call, const live::LiveWho& who, StreamOptions request) {
  const auto process = call.services().live.process(who);
  if (!process) return call.send(live_problem(process.error()));
  for (const auto& feed : request.feeds)
    if (const auto asked = (*process)->ask(feed); !asked)
      return call.send(live_problem(asked.error()));
  const bool events = call.wants(kEventStream);
  auto stream =
      call.stream({.type = std::string{call.type()},
                   .fields = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
  if (events) (void)stream->try_write("retry: 2000\n\n");
  auto ids = (*process)->id_text(0);
  ids.pop_back();
  const auto feeds = request.feeds;
  auto after = request.after;
  const auto follower =
      std::make_shared<StreamFollower>(stream, std::move(request), events, std::move(ids));
  if (const auto done = (*process)->follow(feeds, follower, std::move(after)); !done)
    follower->on_end(done.error().what);
}

Result<std::optional<std::chrono::nanoseconds>> stream_duration(const Call& call,
                                                                std::int64_t otherwise) {
  const auto seconds = TRY(call.number("durationSeconds", -1, 0x7fffffff)).value_or(otherwise);
  if (seconds < 0) return std::nullopt;
  return std::chrono::nanoseconds{std::chrono::seconds{seconds}};
}

std::string json_sequence(std::string_view json) { return fmt::format("\x1e{}\n", json); }

}  // namespace clrscope::http
