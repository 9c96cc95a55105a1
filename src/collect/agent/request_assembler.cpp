#include "collect/agent/request_assembler.h"

#include <algorithm>

#include "collect/agent/tick_spans.h"
#include "symbols/method_name.h"

namespace clrscope::collect {
namespace {

constexpr std::size_t kMostPast = 1 << 16;
constexpr std::size_t kMostWorking = 64;                              // threads of one request
constexpr std::chrono::nanoseconds kWorks = std::chrono::seconds{1};  // after it was heard

RequestTrace head_of(const wire::RequestEnd& end, const TickClock& clock) {
  RequestTrace out;
  out.number = end.request;
  std::copy(std::begin(end.trace_id), std::end(end.trace_id), out.trace_id.begin());
  out.own_id = (end.flags & wire::kRequestOwnId) != 0;
  out.status = end.status;
  out.sampled = end.request != 0;
  out.forced = (end.flags & wire::kRequestForced) != 0;
  out.aborted = (end.flags & wire::kRequestAborted) != 0;
  out.end = clock.time_of(end.header.time);
  out.begin = clock.time_of(std::min(end.begin, end.header.time));
  out.bytes_in = end.bytes_in;
  out.bytes_out = end.bytes_out;
  return out;
}

}  // namespace

// --- one request ---

class RequestAssembler::Build {
 public:
  Build(RequestAssembler& owner, Open& open, const TickClock& clock)
      : owner_(owner),
        open_(open),
        clock_(clock),
        window_{std::min(open.end->fixed.begin, open.end->fixed.header.time),
                open.end->fixed.header.time} {}

  RequestTrace run() {
    out_ = head_of(open_.end->fixed, clock_);
    out_.method = std::move(open_.end->method);
    out_.route = std::move(open_.end->route);
    out_.path = std::move(open_.end->path);
    out_.error = std::move(open_.end->error);
    out_.spans_lost = open_.lost;
    gather();
    link();
    put_in_order();
    for (const auto& node : nodes_) out_.spans.push_back(span_of(node));
    add_times();
    return std::move(out_);
  }

 private:
  struct Node {
    std::uint64_t id = 0;
    Span* span = nullptr;
    std::uint64_t parent = 0;  // a span that exists; 0: the request
    std::uint64_t key = 0;     // its begin, and not before that of its parent
    std::uint32_t depth = 0;
  };

  // What lies before a span: only those whose begin was seen.
  void gather() {
    for (auto& [id, span] : open_.spans) {
      if (span.steps.empty()) {
        ++out_.spans_lost;
        continue;
      }
      std::ranges::sort(span.steps, {}, [](const Times& step) { return step.begin; });
      std::ranges::sort(span.queued);
      nodes_.push_back({.id = id, .span = &span, .key = span.steps.front().begin});
    }
    std::ranges::sort(nodes_, {}, [](const Node& node) { return std::pair{node.key, node.id}; });
    for (std::size_t i = 0; i < nodes_.size(); ++i) position_[nodes_[i].id] = i;
  }

  void link() {
    for (auto& node : nodes_) {
      const bool headless =
          (node.span->flags & wire::kSpanAsync) != 0 && (node.span->flags & wire::kSpanFirst) == 0;
      const auto parent = node.span->parent;
      if (!headless && parent == open_.root && parent != 0) continue;
      if (!headless && parent != 0 && parent != node.id && position_.contains(parent)) {
        node.parent = parent;
        continue;
      }
      ++owner_.losses_.orphans;
      ++out_.spans_lost;
    }
  }

  // Parents before their children. A circle, which no program makes, is cut.
  void put_in_order() {
    enum class State : std::uint8_t { kNew, kOnPath, kDone };
    std::vector<State> states(nodes_.size(), State::kNew);
    std::vector<std::size_t> path;
    for (std::size_t start = 0; start < nodes_.size(); ++start) {
      for (auto at = start; states[at] == State::kNew;) {
        states[at] = State::kOnPath;
        path.push_back(at);
        if (nodes_[at].parent == 0) break;
        const auto next = position_[nodes_[at].parent];
        if (states[next] == State::kOnPath) {
          nodes_[at].parent = 0;
          ++owner_.losses_.orphans;
          break;
        }
        at = next;
      }
      for (; !path.empty(); path.pop_back()) {
        auto& node = nodes_[path.back()];
        states[path.back()] = State::kDone;
        if (node.parent == 0) continue;
        const auto& parent = nodes_[position_[node.parent]];
        node.key = std::max(node.key, parent.key);
        node.depth = parent.depth + 1;
      }
    }
    std::ranges::sort(nodes_, {}, [](const Node& node) {
      return std::tuple{node.key, node.depth, node.id};
    });
  }

  RequestSpan span_of(const Node& node) {
    const auto& span = *node.span;
    const auto& steps = span.steps;
    RequestSpan out{.id = node.id,
                    .parent = node.parent,
                    .method = owner_.method_index(span.method),
                    .is_async = (span.flags & wire::kSpanAsync) != 0,
                    .begin = clock_.time_of(steps.front().begin),
                    .thread = steps.front().thread};
    std::uint64_t last = 0;
    for (const auto& step : steps) last = std::max(last, step.end);
    const bool open = out.is_async && !span.ended;
    if (open) last = std::max(last, window_.end);
    out.end = clock_.time_of(last);
    out.outcome = open                                       ? SpanOutcome::kOpen
                  : (span.flags & wire::kSpanCancelled) != 0 ? SpanOutcome::kCancelled
                  : (span.flags & wire::kSpanFaulted) != 0   ? SpanOutcome::kFaulted
                                                             : SpanOutcome::kReturned;
    if (!out.is_async) return out;
    for (const auto& step : steps)
      out.steps.push_back({clock_.time_of(step.begin), clock_.time_of(step.end), step.thread});
    put_queued(span, out);
    return out;
  }

  // From the moment when a step became ready to its begin; not while an earlier one was running.
  void put_queued(const Span& span, RequestSpan& out) {
    std::size_t at = 0;
    for (const auto ready : span.queued) {
      while (at < span.steps.size() && span.steps[at].begin < ready) ++at;
      if (at == span.steps.size()) break;
      const auto from = at == 0 ? ready : std::max(ready, span.steps[at - 1].end);
      if (from >= span.steps[at].begin || out.steps[at].queued.count() > 0) continue;
      out.steps[at].queued = clock_.duration_of(span.steps[at].begin - from);
      out.queued += out.steps[at].queued;
      all_queued_.push_back({from, span.steps[at].begin});
    }
  }

  // Without records of threads, the steps of the spans tell when threads worked.
  void add_times() {
    auto flows = std::move(open_.flows);
    if (flows.empty())
      for (const auto& node : nodes_)
        flows.insert(flows.end(), node.span->steps.begin(), node.span->steps.end());
    std::ranges::sort(flows, {}, [](const Times& one) { return std::pair{one.thread, one.begin}; });
    std::vector<Times> merged;
    for (const auto& flow : flows)
      if (!merged.empty() && merged.back().thread == flow.thread && flow.begin <= merged.back().end)
        merged.back().end = std::max(merged.back().end, flow.end);
      else
        merged.push_back(flow);
    std::ranges::sort(merged, {}, [](const Times& one) {
      return std::pair{one.begin, one.thread};
    });
    TickSpans busy;
    std::uint64_t running = 0;
    for (const auto& part : merged) {
      out_.parts.push_back({clock_.time_of(part.begin), clock_.time_of(part.end), part.thread});
      const auto inside = clipped({part.begin, part.end}, window_);
      running = add_limited(running, inside.end - inside.begin);
      busy.push_back(inside);
    }
    merge(busy);
    out_.running = clock_.duration_of(running);
    // Rounded, and limited where times are beyond all sense: never more than what they are part of.
    out_.waiting = std::min(clock_.duration_of(window_.end - window_.begin - measure(busy)),
                            out_.end - out_.begin);
    for (auto& one : all_queued_) one = clipped(one, window_);
    merge(all_queued_);
    out_.queued = std::min(clock_.duration_of(measure(without(all_queued_, busy))), out_.waiting);
  }

  RequestAssembler& owner_;
  Open& open_;
  const TickClock& clock_;
  TickSpan window_;
  RequestTrace out_;
  std::vector<Node> nodes_;
  std::unordered_map<std::uint64_t, std::size_t>
      position_;  // in nodes_, until they are put in order
  TickSpans all_queued_;
};

// --- all of them ---

void RequestAssembler::take(const void* bytes, std::uint32_t size) {
  using namespace wire;
  if (size < sizeof(RecordHeader)) {
    ++losses_.damaged;
    return;
  }
  const auto read = [&]<class Fixed>(RecordKind kind, void (RequestAssembler::*use)(const Fixed&)) {
    const auto* record = parse_record<Fixed>(kind, bytes, size);
    if (record && record->request != 0)
      (this->*use)(*record);
    else
      ++losses_.damaged;
  };
  switch (static_cast<const RecordHeader*>(bytes)->kind) {
    case RecordKind::kRequestBegin:
      return read(RecordKind::kRequestBegin, &RequestAssembler::take_begin);
    case RecordKind::kSpan:
      return read(RecordKind::kSpan, &RequestAssembler::take_span);
    case RecordKind::kFlow:
      return read(RecordKind::kFlow, &RequestAssembler::take_flow);
    case RecordKind::kQueued:
      return read(RecordKind::kQueued, &RequestAssembler::take_queued);
    case RecordKind::kRequestEnd:
      if (const auto* end = parse_request_end(bytes, size)) return take_end(*end);
      [[fallthrough]];
    default:
      ++losses_.damaged;
  }
}

RequestAssembler::Open* RequestAssembler::room_for(std::uint32_t request) {
  const auto found = open_.find(request);
  if (found == open_.end()) {
    if (past_.contains(request)) {
      ++losses_.late;
      return nullptr;
    }
    if (open_.size() >= limits_.requests) give_up_oldest();
  }
  auto& open = found == open_.end() ? open_[request] : found->second;
  open.last_round = round_;
  if (open.records >= limits_.records_per_request || records_ >= limits_.records) {
    ++open.lost;
    ++losses_.spans;
    return nullptr;
  }
  ++open.records;
  ++records_;
  return &open;
}

// The one that nothing was heard of for the longest time; one without an end, if there is any.
void RequestAssembler::give_up_oldest() {
  const auto oldest = std::ranges::min_element(open_, {}, [](const auto& one) {
    return std::pair{one.second.end.has_value(), one.second.last_round};
  });
  ++losses_.requests;
  remember(oldest->first);
  std::erase(ended_, oldest->first);
  records_ -= oldest->second.records;
  open_.erase(oldest);
}

void RequestAssembler::take_begin(const wire::RequestBegin& record) {
  if (auto* open = room_for(record.request)) open->root = record.root;
}

void RequestAssembler::take_end(const wire::RequestEnd& record) {
  const auto* text = reinterpret_cast<const char*>(&record + 1);
  const auto next = [&](std::uint16_t bytes) {
    std::string one{text, bytes};
    text += bytes;
    return one;
  };
  End end{.fixed = record};
  end.method = next(record.method_bytes);
  end.route = next(record.route_bytes);
  end.path = next(record.path_bytes);
  end.error = next(record.error_bytes);
  if (record.request == 0) {
    if (not_sampled_.size() < limits_.not_sampled)
      not_sampled_.push_back(std::move(end));
    else
      ++losses_.requests;
    return;
  }
  // The end itself always has room: it makes room soon.
  if (auto* open = room_for(record.request); !open && !open_.contains(record.request)) return;
  auto& open = open_[record.request];
  if (open.end) {
    ++losses_.damaged;
    return;
  }
  open.end = std::move(end);
  open.root = record.root;
  open.end_round = round_;
  open.end_seen = now_;
  ended_.push_back(record.request);
}

void RequestAssembler::take_span(const wire::SpanRecord& record) {
  if (record.span == 0 || record.end < record.header.time) {
    ++losses_.damaged;
    return;
  }
  auto* open = room_for(record.request);
  if (!open) return;
  auto& span = open->spans[record.span];
  const bool is_async = (record.flags & wire::kSpanAsync) != 0;
  if (!span.steps.empty() && (!is_async || (span.flags & wire::kSpanAsync) == 0)) {
    ++losses_.damaged;  // a second call of the same number
    return;
  }
  const bool was_waiting = !span.steps.empty() && !span.ended;
  span.steps.push_back({record.header.time, record.end, record.header.thread});
  span.flags |= record.flags;
  if (!is_async || (record.flags & wire::kSpanFirst) != 0) span.parent = record.parent;
  if (!is_async || (record.flags & wire::kSpanSuspended) == 0) span.ended = true;
  if (!was_waiting && !span.ended) ++open->waiting;
  if (was_waiting && span.ended) --open->waiting;
  span.method = record.method;
}

void RequestAssembler::take_flow(const wire::FlowRecord& record) {
  if (record.end < record.header.time) {
    ++losses_.damaged;
    return;
  }
  if (record.end == record.header.time) {  // it goes on
    const auto found = open_.find(record.request);
    if (found != open_.end() && found->second.working.size() < kMostWorking)
      found->second.working[record.header.thread] = now_;
    return;
  }
  auto* open = room_for(record.request);
  if (!open) return;
  open->working.erase(record.header.thread);
  open->flows.push_back({record.header.time, record.end, record.header.thread});
}

void RequestAssembler::take_queued(const wire::QueuedRecord& record) {
  if (auto* open = room_for(record.request))
    open->spans[record.span].queued.push_back(record.header.time);
}

void RequestAssembler::end_round(TraceTime now) {
  now_ = now;
  for (auto at = ended_.rbegin(); at != ended_.rend(); ++at) {
    auto& open = open_[*at];
    if (open.end_round != round_) break;
    open.end_seen = now;
  }
  ++round_;
}

void RequestAssembler::restart() {
  open_.clear();
  ended_.clear();
  not_sampled_.clear();
  past_.clear();
  past_order_.clear();
  records_ = 0;
  finished_ = false;
}

// Of a request that has ended.
bool RequestAssembler::is_due(const Open& open) const {
  // Rings are drained one after the other: what was written before an end may lie in one that was
  // drained before it was.
  constexpr std::uint64_t kRounds = 2;
  const auto since = now_ - open.end_seen;
  if (finished_) return true;
  if (round_ <= open.end_round + kRounds || since < limits_.grace) return false;
  if (since >= limits_.work_behind || open_.size() > limits_.requests / 2 ||
      records_ > limits_.records / 2)
    return true;
  const auto works = [&](const auto& thread) { return now_ - thread.second < kWorks; };
  return open.waiting == 0 && round_ > open.last_round + 1 &&
         std::ranges::none_of(open.working, works);
}

RequestBatch RequestAssembler::hand_over(const TickClock& clock) {
  RequestBatch out;
  if (!clock) return out;  // nothing can be said about times yet
  for (auto& end : not_sampled_) {
    auto& trace = out.requests.emplace_back(head_of(end.fixed, clock));
    trace.method = std::move(end.method);
    trace.route = std::move(end.route);
    trace.path = std::move(end.path);
    trace.error = std::move(end.error);
  }
  not_sampled_.clear();
  std::deque<std::uint32_t> held;
  for (const auto number : ended_) {
    const auto found = open_.find(number);
    auto& open = found->second;
    if (!is_due(open)) {
      held.push_back(number);
      continue;
    }
    out.requests.push_back(Build{*this, open, clock}.run());
    records_ -= open.records;
    remember(number);
    open_.erase(found);
  }
  ended_ = std::move(held);
  if (!out.requests.empty()) out.methods = names_;
  return out;
}

void RequestAssembler::remember(std::uint32_t request) {
  if (past_.insert(request).second) past_order_.push_back(request);
  if (past_order_.size() <= kMostPast) return;
  past_.erase(past_order_.front());
  past_order_.pop_front();
}

std::uint32_t RequestAssembler::method_index(std::uint32_t counter) {
  if (const auto found = methods_.find(counter); found != methods_.end()) return found->second;
  auto name = methods_.size() < limits_.methods ? name_of_(counter) : std::string{};
  if (name.empty()) {  // not kept: its name may come later
    if (!unknown_) {
      unknown_ = static_cast<std::uint32_t>(names_.size());
      names_.emplace_back("unknown");
    }
    return *unknown_;
  }
  const auto index = static_cast<std::uint32_t>(names_.size());
  names_.push_back(method_title(name));
  methods_.emplace(counter, index);
  return index;
}

}  // namespace clrscope::collect
