// Answers that go on while a process runs: server-sent events, lines of JSON, JSON sequences, text.
//
// No thread waits for a viewer: the feed's thread hands each thing over without waiting. A client
// that lags loses items, gets their number, and is disconnected when it reads nothing.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "http/route.h"
#include "live/live.h"

namespace clrscope::http {

// The process that a request about live data names: also one that has ended and was followed.
Result<live::LiveWho> chosen_live(const Call& call);

// Whether the caller may read what the program says in its exceptions.
live::Messages messages_for(const Call& call);

// Events of every stream, beside its items.
struct StreamMissed {
  std::uint64_t items = 0;
  bool exact = false;
  std::optional<bool> slow{};
};
const Shape& shape_of(const StreamMissed*);
struct StreamEnd {
  std::string reason{};
};
const Shape& shape_of(const StreamEnd*);

// What a thing looks like in the stream; empty: it is not for this one. Server-sent events: the
// data; else all of it, with line ends.
using Render = std::function<std::string(const live::LiveItem& item)>;

struct StreamOptions {
  std::vector<live::FeedRequest> feeds{};
  Render render{};
  std::optional<std::chrono::nanoseconds> duration{};  // none: until one of both ends it
  std::optional<std::string> after{};                  // the last id that the client has
};
// Answers the call, with an error or with a stream of the type that was agreed on.
void serve_stream(Call call, const live::LiveWho& who, StreamOptions request);

// ?durationSeconds=; -1: no end.
Result<std::optional<std::chrono::nanoseconds>> stream_duration(const Call& call,
                                                                std::int64_t otherwise);

// 429 where a limit of ours says no.
HttpResponse live_problem(const Error& error);

// RFC 7464
std::string json_sequence(std::string_view json);

}  // namespace clrscope::http
