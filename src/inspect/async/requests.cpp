#include "inspect/async/requests.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>

#include "inspect/async/heap_view.h"
#include "inspect/async/task_objects.h"
#include "inspect/heap/heap.h"

namespace clrscope::inspect {
namespace {

using std::chrono::nanoseconds;
using std::chrono::system_clock;

constexpr std::uint32_t kNone = HeapView::kNone;
constexpr std::size_t kMostRequests = 10'000;
constexpr std::size_t kMostText = 512;     // UTF-16 units of a path or a name
constexpr std::size_t kMostEdges = 4'096;  // of one object that are looked at
constexpr std::chrono::hours kMostAge{24 * 366 * 10};
constexpr std::chrono::seconds kMostAhead{5};  // that a start may lie after "now"

constexpr std::string_view kHostContext = "Microsoft.AspNetCore.Hosting.HostingApplication+Context";
constexpr std::string_view kKestrel = "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.";
// The method that serves the requests of a connection or stream, one after the other.
constexpr std::string_view kLoop =
    "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol.ProcessRequests";
constexpr std::string_view kLoopMachine =
    "Microsoft.AspNetCore.Server.Kestrel.Core.Internal.Http.HttpProtocol+<ProcessRequests>d__";

constexpr std::string_view kNever =
    "no HttpContext of ASP.NET Core in the heap: the process serves no HTTP requests, or has "
    "served none so far";

std::string property(std::string_view name) { return fmt::format("<{}>k__BackingField", name); }

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
}

// 00-TRACE-SPAN-FLAGS, by W3C Trace Context.
struct TraceParent {
  std::string trace{}, span{};
};
constexpr std::size_t kTraceParent = 55;
std::optional<TraceParent> parse_traceparent(std::string_view text) {
  if (text.size() != kTraceParent || text[2] != '-' || text[35] != '-' || text[52] != '-')
    return {};
  TraceParent made{std::string{text.substr(3, 32)}, std::string{text.substr(36, 16)}};
  if (!is_hex(text.substr(0, 2)) || !is_hex(made.trace) || !is_hex(made.span)) return {};
  return made;
}

// A DateTime: units of 100 ns since the year 1, its kind in the two bits above.
std::optional<system_clock::time_point> wall_of(std::uint64_t date) {
  constexpr std::uint64_t kTicks = 0x3fff'ffff'ffff'ffff;
  constexpr std::uint64_t kEpoch = 621'355'968'000'000'000;
  constexpr std::uint64_t kLast = 3'155'378'975'999'999'999;
  const auto ticks = date & kTicks;
  if (ticks <= kEpoch || ticks > kLast) return {};
  const auto since = ticks - kEpoch;
  if (since > static_cast<std::uint64_t>(nanoseconds::max().count()) / 100) return {};
  return system_clock::time_point{nanoseconds{static_cast<std::int64_t>(since * 100)}};
}

// "Tue, 17 Nov 2026 17:17:49 GMT"
std::optional<system_clock::time_point> parse_http_date(const std::string& text) {
  tm parts{};
  const auto* const end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  if (end == nullptr || *end != '\0') return {};
  return system_clock::from_time_t(::timegm(&parts));
}

std::optional<nanoseconds> age_between(nanoseconds start, nanoseconds now) {
  if (start > now) return start - now <= kMostAhead ? std::optional{nanoseconds{0}} : std::nullopt;
  const auto age = now - start;
  return age <= kMostAge ? std::optional{age} : std::nullopt;
}

std::string count_text(std::ptrdiff_t count) {
  return fmt::format("{} {}", count, count == 1 ? "request" : "requests");
}

class Reading {
 public:
  Reading(Target& target, RuntimeReader& reader, const HeapSnapshot& heap, const Snapshot* threads,
          AsyncSnapshot async, std::optional<RequestClock> now)
      : graph_(heap.graph), heap_(target, reader, heap.graph), tasks_(heap_), threads_(threads) {
    out_.async = std::move(async);
    if (now) {
      wall_ = now->wall;
      monotonic_ = now->monotonic;
    }
    own_clock_ = now.has_value();
  }

  RequestsSnapshot run() {
    if (!graph_.has_references()) {
      add_notes();
      return std::move(out_);
    }
    if (!own_clock_) find_kestrel_clocks();
    find_requests();
    find_stacks();
    find_threads();
    std::ranges::stable_sort(out_.requests, std::greater{}, [](const RequestInFlight& one) {
      return one.age.value_or(nanoseconds{-1});
    });
    add_notes();
    return std::move(out_);
  }

 private:
  template <class Each>
  void for_objects_of(std::string_view name, Each each) {
    std::vector<bool> wanted(graph_.types.size());
    bool any = false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      wanted[i] = graph_.types[i].name == name;
      any = any || wanted[i];
    }
    for (std::uint32_t object = 0; any && object < graph_.objects(); ++object)
      if (wanted[graph_.type_of[object]]) each(object);
  }

  std::span<const std::uint32_t> edges(std::uint32_t object) const {
    const auto all = graph_.referred_by(object);
    return all.first(std::min(all.size(), kMostEdges));
  }
  std::string text(std::uint32_t object, std::string_view field) {
    return object == kNone ? "" : heap_.text(heap_.reference(object, field), kMostText);
  }
  std::uint32_t refer(std::uint32_t object, std::string_view field) {
    return object == kNone ? kNone : heap_.reference(object, field);
  }

  // The date that answers carry, and the time by which connections time out.
  void find_kestrel_clocks() {
    for_objects_of(fmt::format("{}Http.DateHeaderValueManager", kKestrel), [&](std::uint32_t one) {
      const auto date = parse_http_date(text(refer(one, "_dateValues"), "String"));
      if (date && (!wall_ || *date > *wall_)) wall_ = date;
    });
    for_objects_of(fmt::format("{}Infrastructure.TimeoutControl", kKestrel),
                   [&](std::uint32_t one) {
                     const auto tick = heap_.field<std::int64_t>(one, "_lastTimestamp").value_or(0);
                     if (tick > 0 && (!monotonic_ || nanoseconds{tick} > *monotonic_))
                       monotonic_ = nanoseconds{tick};
                   });
  }

  void find_requests() {
    for_objects_of(kHttpContextType, [&](std::uint32_t context) {
      ++out_.contexts;
      if (heap_.field<std::uint8_t>(context, "_active").value_or(0) != 1) return;
      if (out_.requests.size() >= kMostRequests) {
        ++out_.cut;
        return;
      }
      add_request(context);
    });
  }

  void add_request(std::uint32_t context) {
    const auto id = static_cast<std::uint32_t>(out_.requests.size());
    RequestInFlight request{.context = graph_.addresses[context]};
    owner_.emplace(context, id);
    for (const auto to : edges(context)) {
      if (!is_protocol(to)) continue;
      owner_.emplace(to, id);
      describe(request, to);
      break;
    }
    out_.requests.push_back(std::move(request));
  }

  // Kestrel's connection or stream: it is the request's collection of features, too.
  bool is_protocol(std::uint32_t object) {
    if (!heap_.type_name(object).starts_with(kKestrel)) return false;
    const auto* const type = heap_.type_of(object);
    return type && type->field("_requestProcessingStatus") && type->field(property("Path"));
  }

  void describe(RequestInFlight& request, std::uint32_t protocol) {
    request.method = method_of(protocol);
    request.path = text(protocol, property("PathBase")) + text(protocol, property("Path"));
    if (request.path.empty()) request.path = text(protocol, property("RawTarget"));
    request.protocol = version_of(protocol);
    const auto is_set = [&](std::string_view name) {
      return heap_.field<std::uint8_t>(protocol, property(name)).value_or(0) == 1;
    };
    request.upgraded = is_set("IsUpgraded") || is_set("IsExtendedConnectAccepted");
    const auto endpoint = refer(protocol, "_endpoint");
    request.endpoint = text(endpoint, property("DisplayName"));
    request.route = text(refer(endpoint, property("RoutePattern")), property("RawText"));
    request.connection_id = text(protocol, property("ConnectionIdFeature"));
    request.request_id = request_id_of(protocol, request.connection_id);
    describe_start(request, protocol);
  }

  std::string method_of(std::uint32_t protocol) {
    static constexpr std::array<std::string_view, 9> kMethods{
        "GET", "PUT", "DELETE", "POST", "HEAD", "TRACE", "PATCH", "CONNECT", "OPTIONS"};
    if (auto custom = text(protocol, "_methodText"); !custom.empty()) return custom;
    const auto number = heap_.field<std::uint8_t>(protocol, property("Method")).value_or(0xff);
    return number < kMethods.size() ? std::string{kMethods[number]} : std::string{};
  }

  std::string version_of(std::uint32_t protocol) {
    static constexpr std::array<std::string_view, 4> kVersions{"HTTP/1.0", "HTTP/1.1", "HTTP/2",
                                                               "HTTP/3"};
    const auto number = heap_.field<std::uint8_t>(protocol, "_httpVersion").value_or(0xff);
    return number < kVersions.size() ? std::string{kVersions[number]} : std::string{};
  }

  // Kestrel makes it when it is first asked for: from the connection's and a number.
  std::string request_id_of(std::uint32_t protocol, const std::string& connection) {
    if (auto made = text(protocol, "_requestId"); !made.empty()) return made;
    auto number = heap_.field<std::uint32_t>(protocol, "_requestCount");
    if (!number) {
      const auto stream = refer(protocol, "_context");
      if (stream != kNone) number = heap_.field<std::uint32_t>(stream, property("StreamId"));
    }
    return connection.empty() || !number ? std::string{}
                                         : fmt::format("{}:{:08X}", connection, *number);
  }

  void describe_start(RequestInFlight& request, std::uint32_t protocol) {
    const auto feature = refer(protocol, "_currentIHttpActivityFeature");
    const auto activity = refer(feature, property("Activity"));
    if (activity != kNone) {
      request.operation = text(activity, property("OperationName"));
      if (auto id = text(activity, "_traceId"); id.size() == 32 && is_hex(id))
        request.trace_id = std::move(id);
      if (auto id = text(activity, "_spanId"); id.size() == 16 && is_hex(id))
        request.span_id = std::move(id);
      const auto start =
          wall_of(heap_.field<std::uint64_t>(activity, property("StartTimeUtc")).value_or(0));
      if (start && wall_)
        set_age(request, AgeSource::kActivity,
                age_between(start->time_since_epoch(), wall_->time_since_epoch()));
      if (start) request.started = start;
    }
    if (request.trace_id.empty()) take_traceparent(request, protocol);
    for (const auto to : edges(protocol)) {
      if (heap_.type_name(to) != kHostContext) continue;
      owner_.emplace(to, static_cast<std::uint32_t>(out_.requests.size()));
      const auto tick = heap_.field<std::int64_t>(to, property("StartTimestamp")).value_or(0);
      if (tick > 0 && monotonic_)
        set_age(request, AgeSource::kHosting, age_between(nanoseconds{tick}, *monotonic_));
    }
    if (request.age && !request.started && wall_) request.started = *wall_ - *request.age;
  }

  static void set_age(RequestInFlight& request, AgeSource source, std::optional<nanoseconds> age) {
    if (!age) return;
    request.age = age;
    request.age_source = source;
  }

  // Without an Activity, the caller's trace id is still in the request's header.
  void take_traceparent(RequestInFlight& request, std::uint32_t protocol) {
    const auto headers = refer(protocol, property("HttpRequestHeaders"));
    if (headers == kNone) return;
    for (const auto value : edges(headers)) {
      const auto found = parse_traceparent(heap_.text(value, kTraceParent + 1));
      if (!found) continue;
      request.trace_id = found->trace;
      return;
    }
  }

  bool is_loop(const AsyncStep& step) const { return out_.async.method(step) == kLoop; }

  // The request whose objects a step's method has as arguments, variables or `this`.
  std::uint32_t owner_of(const AsyncStep& step) {
    const auto box = heap_.at(step.object);
    if (box == kNone) return kNone;
    const auto machine = tasks_.is_task(box) ? tasks_.machine_object(box) : kNone;
    for (const auto object : {box, machine}) {
      if (object == kNone) continue;
      for (const auto to : edges(object))
        if (const auto found = owner_.find(to); found != owner_.end()) return found->second;
    }
    return kNone;
  }

  // Of the stacks that belong to a request, the one that the server awaits; of these the deepest.
  void find_stacks() {
    if (out_.requests.empty()) return;
    struct Best {
      const AsyncStack* stack = nullptr;
      std::pair<bool, std::size_t> rank{};
      std::size_t steps = 0;
    };
    std::vector<Best> best(out_.requests.size());
    for (const auto& stack : out_.async.stacks) {
      const auto loop =
          std::ranges::find_if(stack.steps, [&](const AsyncStep& step) { return is_loop(step); });
      const bool served = loop != stack.steps.end();
      const auto length = static_cast<std::size_t>(loop - stack.steps.begin()) + (served ? 1 : 0);
      auto owner = served ? owner_of(*loop) : kNone;
      for (std::size_t i = length; !served && owner == kNone && i-- > 0;)
        owner = owner_of(stack.steps[i]);
      if (owner == kNone) continue;
      auto& known = best[owner];
      const std::pair rank{served, length};
      auto& count = out_.requests[owner].stacks;
      if (served) count = known.rank.first ? count + 1 : 1;
      if (!served && !known.rank.first) ++count;
      if (!known.stack || rank > known.rank) known = {&stack, rank, length};
    }
    for (std::size_t i = 0; i < best.size(); ++i) {
      if (!best[i].stack) continue;
      const auto& steps = best[i].stack->steps;
      out_.requests[i].wait = out_.async.waits[best[i].stack->wait];
      out_.requests[i].steps.assign(steps.begin(),
                                    steps.begin() + static_cast<std::ptrdiff_t>(best[i].steps));
    }
  }

  // Requests that run at this moment: the thread that does has their objects on its stack.
  void find_threads() {
    if (!threads_ || out_.requests.empty()) return;
    std::unordered_map<std::uint32_t, std::uint32_t> wanted;  // request by object
    for (std::uint32_t i = 0; i < out_.requests.size(); ++i) {
      const auto& request = out_.requests[i];
      if (request.wait && request.wait->kind != AwaitKind::kRunning) continue;
      // A method that runs has its box there; without one, the server calls it directly.
      if (!request.steps.empty()) wanted.emplace(heap_.at(request.steps[0].object), i);
    }
    for (const auto& [object, i] : owner_)
      if (out_.requests[i].steps.empty()) wanted.emplace(object, i);
    std::unordered_map<std::uint32_t, const ThreadView*> by_id;
    for (const auto& thread : threads_->threads) by_id.emplace(thread.os_id(), &thread);
    for (const auto& root : graph_.roots) {
      if (root.kind != RootKind::kStack) continue;
      const auto found = wanted.find(root.object);
      if (found == wanted.end()) continue;
      const auto thread = by_id.find(thread_of_root(graph_.root_names[root.name]).value_or(0));
      if (thread != by_id.end()) take_thread(out_.requests[found->second], *thread->second);
    }
  }

  void take_thread(RequestInFlight& request, const ThreadView& thread) {
    if (request.thread != 0) return;
    auto machine = std::string{kLoopMachine};
    if (!request.steps.empty()) {
      const auto box = heap_.at(request.steps[0].object);
      machine = box == kNone ? std::string{} : tasks_.machine_type(box);
    }
    // Generic methods are named without their arguments.
    const auto name = std::string_view{machine}.substr(0, machine.find('['));
    const auto entry = std::ranges::find_if(thread.frames, [&](const Frame& frame) {
      return !name.empty() && frame.method.starts_with(name) &&
             frame.method.find(".MoveNext(") != std::string::npos;
    });
    if (entry == thread.frames.end()) return;  // what is left of an earlier one
    request.thread = thread.os_id();
    if (request.wait) request.wait->thread = request.thread;
    for (auto frame = thread.frames.begin(); frame <= entry; ++frame)
      if (frame->kind == FrameKind::kManaged || frame->kind == FrameKind::kFramework)
        request.frames.push_back(*frame);
  }

  void add_notes() {
    auto& notes = out_.async.notes;
    if (out_.contexts == 0) notes.emplace_back(kNever);
    const auto& all = out_.requests;
    const auto unknown =
        std::ranges::count_if(all, [](const RequestInFlight& one) { return !one.age; });
    if (unknown > 0)
      notes.push_back(fmt::format(
          "the age of {} is unknown: no Activity and no start time, because logging, tracing and "
          "metrics of ASP.NET Core were off when they began",
          count_text(unknown)));
    if (!own_clock_ && static_cast<std::size_t>(unknown) < all.size())
      notes.emplace_back("ages are by Kestrel's clock in the core, which advances once a second");
    const auto foreign = std::ranges::count_if(
        all, [](const RequestInFlight& one) { return one.method.empty() && one.path.empty(); });
    if (foreign > 0)
      notes.push_back(fmt::format("method and path of {} are unknown: not served by Kestrel",
                                  count_text(foreign)));
    if (out_.cut > 0)
      notes.push_back(
          fmt::format("only {} requests are shown; there are {} more", all.size(), out_.cut));
  }

  const HeapGraph& graph_;
  HeapView heap_;
  TaskObjects tasks_;
  const Snapshot* threads_;
  bool own_clock_ = false;
  std::optional<system_clock::time_point> wall_;
  std::optional<nanoseconds> monotonic_;
  std::unordered_map<std::uint32_t, std::uint32_t> owner_;  // request by its objects
  RequestsSnapshot out_;
};

}  // namespace

std::span<const std::string_view> names_of(AgeSource) {
  static constexpr std::array<std::string_view, 3> kNames{"unknown", "hosting", "activity"};
  return kNames;
}

RequestsSnapshot read_requests(Target& target, RuntimeReader& reader, const HeapSnapshot& heap,
                               const Snapshot* threads, AsyncSnapshot async,
                               std::optional<RequestClock> now) {
  return Reading{target, reader, heap, threads, std::move(async), now}.run();
}

}  // namespace clrscope::inspect
