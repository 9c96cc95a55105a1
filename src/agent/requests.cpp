#include "agent/requests.h"

#include "agent/probe_thread.h"

namespace clrscope::agent {
namespace {

constexpr long kCloseOnExec = 1, kAllowSealing = 2;
constexpr long kAddSeals = 1033, kSealShrinkGrow = 2 | 4 | 1;
constexpr int kProcessClock = 2, kThreadClock = 3;
constexpr std::uint64_t kLongestHookNs = 10'000;  // of longer ones no more counts: interrupted
constexpr long kFutexWait = 128, kFutexWake = 129;
constexpr std::uint64_t kLingerNs = 100'000'000;            // of the gate, after the last end
constexpr std::uint64_t kLongestLingerNs = 10'000'000'000;  // while work goes on behind it
constexpr std::uint64_t kLateBeginTicks = 1'000'000;        // some 0.3 ms: of hooks that have begun
constexpr std::uint32_t kBusyTries = 64;
constexpr unsigned kThreadBits = 12;

// Counted by the threads of one ring.
struct alignas(64) Tally {
  std::atomic<std::uint64_t> spans{0};
  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::uint64_t> suspended{0};    // async methods that waited for the first time
  std::atomic<std::uint64_t> resumed{0};      // those of them that have ended
  std::atomic<std::uint64_t> resumed_old{0};  // of these: they began before Globals::old_tick
  // Request << 32 | thread, while the thread of this ring works for a request; 0: it does not. Of
  // the threads that share a ring nothing is known.
  std::atomic<std::uint64_t> working{0};
};

// What the leaves use.
struct Globals {
  std::atomic<std::uint32_t> gate{0};
  std::atomic<std::uint32_t> enabled{0};
  std::atomic<std::uint32_t> state{0};  // a futex: counts changes; odd: enabled
  std::atomic<std::uint32_t> last_number{0};
  std::atomic<std::uint32_t> first_number{1};  // of this order: earlier ones are forgotten
  std::atomic<std::uint64_t> first_tick{0};    // of this order
  std::atomic<std::uint64_t> last_tick{0};     // likewise: what begins later is not seen
  std::atomic<std::uint64_t> now_ns{0};  // of the last tick: hooks ask no clock but the processor's
  std::atomic<std::uint64_t> last_end_ns{0};
  std::atomic<std::uint64_t> old_tick{0};
  std::atomic<std::uint32_t> hook_ns[2]{};  // begin and end of a request, of late
  std::uint32_t has_key = 0;
  std::uint64_t first_own_ns = 0;  // CPU time of the control thread at the start
  bool id_in_thread = false;  // the C library keeps the kernel's id of a thread in its descriptor
  wire::Requests* shared = nullptr;
  Sampling* sampling = nullptr;
  wire::RequestOrder order{};
  HelperFunctions helper{};
  wire::RingWriter rings[wire::kRequestRings]{};
  Tally tallies[wire::kRequestRings]{};
};
constinit Globals g_requests;

void count(std::atomic<std::uint64_t>& what) { what.fetch_add(1, std::memory_order_relaxed); }

// Where glibc keeps the kernel's id of a thread since 2.4, on this architecture.
constexpr std::uintptr_t kIdInThread = 0x2d0;

// True when it is there; asks the kernel, since other C libraries may have nothing mapped there.
bool has_id_in_thread() {
  struct Part {
    void* at;
    std::size_t bytes;
  };
  std::uint32_t value = 0;
  const Part here{&value, sizeof value};
  const Part there{reinterpret_cast<void*>(thread_pointer() + kIdInThread), sizeof value};
  return syscall_raw(number::kProcessVmReadv, syscall_raw(number::kGetpid), as_long(&here), 1,
                     as_long(&there), 1, 0) == sizeof value &&
         value == thread_id();
}

// Of the calling thread. A call of the kernel takes as long as all the rest of a hook.
std::uint32_t quick_thread_id() {
  return g_requests.id_in_thread
             ? *reinterpret_cast<const volatile std::uint32_t*>(thread_pointer() + kIdInThread)
             : thread_id();
}

// Even, and later than that of any other span of the thread: it names the span. Two calls may begin
// in the same tick, and on another processor the counter may be behind.
std::uint64_t new_start(ProbeThread& thread) {
  const auto now = (read_tsc() + 1) & ~std::uint64_t{1};
  return thread.last_start = now > thread.last_start ? now : thread.last_start + 2;
}

std::uint64_t tick_after(std::uint64_t start) {
  const auto now = read_tsc();
  return now > start ? now : start;
}

std::uint64_t span_of(std::uint64_t start, const ProbeThread& thread) {
  return start << kThreadBits | (thread.number & ((1U << kThreadBits) - 1));
}

// Whether the span began before that tick, of which it has the lower bits.
bool is_before(std::uint64_t span, std::uint64_t tick) {
  return static_cast<std::int64_t>((span >> kThreadBits << kThreadBits) - (tick << kThreadBits)) <
         0;
}

// The first threads have rings of their own, all others share the last one.
constexpr std::uint32_t kSharedRing = wire::kRequestRings - 1;
std::uint32_t ring_of(const ProbeThread& thread) {
  return thread.number < kSharedRing ? thread.number : kSharedRing;
}

// Of a ring: one writer, but for the shared one.
void add(const ProbeThread& thread, std::atomic<std::uint64_t>& to) {
  if (thread.number < kSharedRing)
    to.store(to.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  else
    count(to);
}

// A record of `bytes` that fill(memory) writes.
template <class Fill>
bool put_in(std::uint32_t number, std::uint32_t bytes, Fill&& fill) {
  auto& header = g_requests.shared->header;
  const bool is_shared = number == kSharedRing;
  auto& ring = g_requests.rings[number];
  if (is_shared) {
    std::uint32_t tries = 0;
    while (!ring.try_claim()) {
      if (++tries == kBusyTries) return count(header.dropped_busy), false;
      __builtin_ia32_pause();
    }
  }
  auto* at = ring.reserve(bytes);
  if (at) {
    fill(at);
    ring.commit(bytes);
  } else {
    count(header.dropped_full);
  }
  if (is_shared) ring.release();
  return at != nullptr;
}

template <class Fill>
bool put(const ProbeThread& thread, std::uint32_t bytes, Fill&& fill) {
  return put_in(ring_of(thread), bytes, fill);
}

wire::RecordHeader header_of(wire::RecordKind kind, std::uint32_t bytes, const ProbeThread& thread,
                             std::uint64_t time) {
  return {kind, static_cast<std::uint16_t>(bytes), thread.os_id, time};
}

void put_span(const ProbeThread& thread, std::uint64_t begin, std::uint64_t end, std::uint64_t span,
              std::uint64_t parent, std::int32_t method, std::uint32_t flags) {
  const auto request = thread.flow.request != 0 ? thread.flow.request : thread.last_request;
  add(thread, g_requests.tallies[ring_of(thread)].spans);
  (void)put(thread, sizeof(wire::SpanRecord), [&](void* at) {
    *static_cast<wire::SpanRecord*>(at) = {
        .header = header_of(wire::RecordKind::kSpan, sizeof(wire::SpanRecord), thread, begin),
        .end = end,
        .span = span,
        .parent = parent,
        .request = request,
        .method = static_cast<std::uint32_t>(method),
        .flags = flags,
        .reserved = 0};
  });
}

// --- the helper's calls ---

std::uint32_t wait_for_change(std::uint32_t seen) {
  auto& state = g_requests.state;
  while (state.load(std::memory_order_acquire) == seen)
    syscall_raw(number::kFutex, as_long(&state), kFutexWait, static_cast<long>(seen));
  return state.load(std::memory_order_acquire);
}

void on_ready(const HelperFunctions* functions) {
  g_requests.helper = *functions;
  if (g_requests.shared)
    g_requests.shared->header.helper.store(static_cast<std::uint32_t>(wire::HelperState::kReady),
                                           std::memory_order_release);
}

void on_heard(std::uint32_t state) {
  g_requests.shared->header.helper.store(state, std::memory_order_release);
}

bool is_forced(const BeginningRequest& request) {
  const auto& order = g_requests.order;
  if (order.key_bytes == 0 || request.key_bytes != order.key_bytes) return false;
  unsigned differs = 0;
  for (std::uint32_t i = 0; i < order.key_bytes; ++i) differs |= request.key[i] ^ order.key[i];
  return differs == 0;
}

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58'476d'1ce4'e5b9ULL;
  value = (value ^ value >> 27) * 0x94d0'49bb'1331'11ebULL;
  return value ^ value >> 31;
}

std::uint64_t coarse_now() { return g_requests.now_ns.load(std::memory_order_relaxed); }

std::uint32_t on_begin(BeginningRequest* request) {
  request->begin = read_tsc();
  request->root = 0;
  request->number = 0;
  if (g_requests.enabled.load(std::memory_order_acquire) == 0) return 0;
  if (request->begin > g_requests.last_tick.load(std::memory_order_relaxed)) return 0;
  auto& header = g_requests.shared->header;
  count(header.seen);
  auto* thread = this_probe_thread();
  if (!thread) return 0;
  const auto choice =
      g_requests.sampling->choose(mix(request->begin ^ request->path_hash), request->path_hash,
                                  is_forced(*request), coarse_now());
  if (choice == Choice::kNo) return 0;
  thread->os_id = quick_thread_id();
  request->number = g_requests.last_number.fetch_add(1, std::memory_order_relaxed) + 1;
  request->root = span_of(new_start(*thread), *thread);
  if (choice == Choice::kForced) request->flags |= wire::kRequestForced;
  if (choice == Choice::kFloor) request->flags |= wire::kRequestFloor;
  count(header.sampled);
  if (choice == Choice::kForced) count(header.forced);
  if (choice == Choice::kFloor) count(header.by_floor);
  header.in_flight.fetch_add(1, std::memory_order_relaxed);
  (void)put(*thread, sizeof(wire::RequestBegin), [&](void* at) {
    auto* record = static_cast<wire::RequestBegin*>(at);
    *record = {.header = header_of(wire::RecordKind::kRequestBegin, sizeof *record, *thread,
                                   request->begin),
               .trace_id = {},
               .root = request->root,
               .request = request->number,
               .flags = request->flags,
               .reserved = 0};
    __builtin_memcpy(record->trace_id, request->trace_id, sizeof record->trace_id);
  });
  g_requests.gate.store(1, std::memory_order_release);
  return request->number;
}

void on_end(void* record, std::uint32_t bytes) {
  if (g_requests.enabled.load(std::memory_order_acquire) == 0 || bytes < sizeof(wire::RequestEnd))
    return;
  auto* thread = this_probe_thread();
  if (!thread) return;
  auto* end = static_cast<wire::RequestEnd*>(record);
  // Begun under an earlier order, between two, or when this one was about to end: not seen by it.
  if (end->begin < g_requests.first_tick.load(std::memory_order_relaxed) ||
      end->begin > g_requests.last_tick.load(std::memory_order_relaxed))
    return;
  end->header = header_of(wire::RecordKind::kRequestEnd, bytes, *thread, read_tsc());
  if (!wire::parse_request_end(end, bytes)) return;
  auto& header = g_requests.shared->header;
  count(header.ended);
  if (!put(*thread, bytes, [&](void* at) { __builtin_memcpy(at, record, bytes); }))
    count(header.ends_dropped);
  if (end->request < g_requests.first_number.load(std::memory_order_relaxed)) return;
  header.in_flight.fetch_sub(1, std::memory_order_relaxed);
  g_requests.last_end_ns.store(coarse_now(), std::memory_order_relaxed);
}

void set_working(const ProbeThread& thread, std::uint32_t request) {
  if (thread.number >= kSharedRing) return;
  g_requests.tallies[thread.number].working.store(
      request == 0 ? 0 : std::uint64_t{request} << 32 | thread.os_id, std::memory_order_relaxed);
}

void on_flow(std::uint32_t request, std::uint64_t span, std::uint32_t method) {
  auto* thread = this_probe_thread();
  if (!thread) return;
  if (request < g_requests.first_number.load(std::memory_order_relaxed) ||
      g_requests.enabled.load(std::memory_order_relaxed) == 0)
    request = 0;
  const auto was = thread->flow;
  if (request == 0) {
    thread->flow = {};
    thread->depth = 0;
  } else if (thread->depth > 0 && thread->outer[thread->depth - 1].request == request &&
             thread->outer[thread->depth - 1].span == span) {
    thread->flow = thread->outer[--thread->depth];  // back where it was
  } else {
    if (thread->depth == ProbeThread::kFlows) {
      for (std::uint32_t i = 1; i < ProbeThread::kFlows; ++i)
        thread->outer[i - 1] = thread->outer[i];
      --thread->depth;
    }
    thread->outer[thread->depth++] = was;
    thread->flow = {.request = request, .method = method, .span = span, .current = span};
  }
  if (was.request == request) return;
  const auto now = read_tsc();
  if (request == 0) set_working(*thread, 0);
  count(g_requests.shared->header.flows);
  if (was.request != 0) {
    thread->last_request = was.request;
    (void)put(*thread, sizeof(wire::FlowRecord), [&](void* at) {
      *static_cast<wire::FlowRecord*>(at) = {
          .header = header_of(wire::RecordKind::kFlow, sizeof(wire::FlowRecord), *thread,
                              thread->flow_begin),
          .end = now,
          .span = was.span,
          .request = was.request,
          .reserved = 0};
    });
  } else {
    thread->os_id = quick_thread_id();  // the thread pointer may be that of an earlier thread
  }
  if (request != 0) set_working(*thread, request);
  thread->flow_begin = now;
}

std::uint64_t span_of_start(std::int64_t start) {
  const auto* thread = this_probe_thread();
  return thread ? span_of(static_cast<std::uint64_t>(start), *thread) : 0;
}

void on_fault(std::uint32_t flags) {
  if (auto* thread = this_probe_thread()) thread->fault = flags;
}

void on_queued(std::uint32_t request, std::uint64_t span) {
  auto* thread = this_probe_thread();
  if (!thread || request < g_requests.first_number.load(std::memory_order_relaxed)) return;
  (void)put(*thread, sizeof(wire::QueuedRecord), [&](void* at) {
    *static_cast<wire::QueuedRecord*>(at) = {
        .header =
            header_of(wire::RecordKind::kQueued, sizeof(wire::QueuedRecord), *thread, read_tsc()),
        .span = span,
        .request = request,
        .reserved = 0};
  });
}

std::uint64_t plain_span() {
  const auto* thread = this_probe_thread();
  if (!thread || thread->flow.request == 0 || thread->flow.current == thread->flow.span) return 0;
  return thread->flow.current;
}

void on_spent(std::uint32_t which, std::uint64_t ns) {
  constexpr std::int64_t kSlowly = 16;
  if (which > 1) return;
  auto& average = g_requests.hook_ns[which];
  const auto was = static_cast<std::int64_t>(average.load(std::memory_order_relaxed));
  const auto now = static_cast<std::int64_t>(ns < kLongestHookNs ? ns : kLongestHookNs);
  // Several threads at once: one of the values is lost.
  average.store(static_cast<std::uint32_t>(was == 0 ? now : was + (now - was) / kSlowly),
                std::memory_order_relaxed);
}

constexpr RequestsApi make_api() {
  return {.version = kRequestsApiVersion,
          .size = sizeof(RequestsApi),
          .wait = wait_for_change,
          .ready = on_ready,
          .heard = on_heard,
          .begin = on_begin,
          .end = on_end,
          .flow = on_flow,
          .enter_step = request_enter_step,
          .span_of = span_of_start,
          .fault = on_fault,
          .queued = on_queued,
          .plain_span = plain_span,
          .spent = on_spent,
          .has_key = &g_requests.has_key};
}
constexpr RequestsApi kApi = make_api();

HookCounts counts_of(const wire::RequestsHeader& header) {
  HookCounts out{.seen = header.seen.load(std::memory_order_relaxed),
                 .sampled = header.sampled.load(std::memory_order_relaxed),
                 .spans = 0,
                 .steps = 0,
                 .flows = header.flows.load(std::memory_order_relaxed),
                 .own_ns = clock_ns(kThreadClock) - g_requests.first_own_ns,
                 .seen_ns = 0};
  for (const auto& one : g_requests.hook_ns) out.seen_ns += one.load(std::memory_order_relaxed);
  for (const auto& tally : g_requests.tallies) {
    out.spans += tally.spans.load(std::memory_order_relaxed);
    out.steps += tally.steps.load(std::memory_order_relaxed);
  }
  return out;
}

// Work that requests leave behind when they end, and that of it for which nobody waits any more: it
// has gone on for kLongestLingerNs after them, as an endless loop does. Control thread.
struct WorkBehind {
  std::uint64_t since_ns = 0;  // the time of these; 0: none
  std::uint64_t open = 0;      // async methods that waited, while no request was in flight
  std::uint64_t resumed_old = 0;
  std::uint64_t working[wire::kRequestRings]{};
  // Given up.
  std::uint64_t endless = 0;  // async methods
  std::uint64_t ignored[wire::kRequestRings]{};
};
constinit WorkBehind g_behind;

std::uint64_t sum(std::atomic<std::uint64_t> Tally::*count) {
  std::uint64_t out = 0;
  for (const auto& tally : g_requests.tallies)
    out += (tally.*count).load(std::memory_order_relaxed);
  return out;
}

// Async methods that waited and have not ended, as far as is known.
std::uint64_t open_methods() {
  const auto resumed = sum(&Tally::resumed), suspended = sum(&Tally::suspended);
  return suspended > resumed ? suspended - resumed : 0;
}

// What is behind requests that have ended is looked at again later: what is still there then, and
// was there before, is given up.
void look_behind(std::uint64_t now_ns, bool is_quiet) {
  auto& behind = g_behind;
  if (behind.since_ns != 0 && now_ns >= behind.since_ns + kLongestLingerNs) {
    const auto ended = sum(&Tally::resumed_old) - behind.resumed_old;
    behind.endless = behind.open > ended ? behind.open - ended : 0;
    for (std::uint32_t i = 0; i < wire::kRequestRings; ++i)
      if (g_requests.tallies[i].working.load(std::memory_order_relaxed) == behind.working[i])
        behind.ignored[i] = behind.working[i];
    behind.since_ns = 0;
  }
  if (behind.since_ns != 0 || !is_quiet) return;
  behind.since_ns = now_ns;
  g_requests.old_tick.store(read_tsc(), std::memory_order_relaxed);
  behind.resumed_old = sum(&Tally::resumed_old);
  behind.open = open_methods();
  for (std::uint32_t i = 0; i < wire::kRequestRings; ++i)
    behind.working[i] = g_requests.tallies[i].working.load(std::memory_order_relaxed);
}

// All that is there now.
void give_up_behind() {
  g_behind.endless = open_methods();
  for (std::uint32_t i = 0; i < wire::kRequestRings; ++i)
    g_behind.ignored[i] = g_requests.tallies[i].working.load(std::memory_order_relaxed);
}

// Whether requests that have ended left work behind: threads that go on, or async methods that
// wait. Says of the threads that they go on, so that whoever puts requests together waits for them.
bool tell_work_behind() {
  bool any = false;
  for (std::uint32_t i = 0; i < wire::kRequestRings; ++i) {
    const auto working = g_requests.tallies[i].working.load(std::memory_order_relaxed);
    if (working != g_behind.ignored[i]) g_behind.ignored[i] = 0;
    if (working == 0 || working == g_behind.ignored[i]) continue;
    any = true;
    (void)put_in(kSharedRing, sizeof(wire::FlowRecord), [&](void* at) {
      const auto now = read_tsc();
      *static_cast<wire::FlowRecord*>(at) = {
          .header = {wire::RecordKind::kFlow, sizeof(wire::FlowRecord),
                     static_cast<std::uint32_t>(working), now},
          .end = now,
          .span = 0,
          .request = static_cast<std::uint32_t>(working >> 32),
          .reserved = 0};
    });
  }
  const auto open = open_methods();
  if (open < g_behind.endless) g_behind.endless = open;
  return any || open > g_behind.endless;
}

}  // namespace

// --- instrumented methods ---

std::int64_t request_enter(std::int32_t id, std::uint64_t* saved) {
  auto* thread = this_probe_thread();
  if (!thread) return 0;
  auto& calls = thread->counters[id].enters;
  calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (thread->flow.request == 0) return 0;
  const auto start = new_start(*thread);
  *saved = thread->flow.current;
  thread->flow.current = span_of(start, *thread);
  return static_cast<std::int64_t>(start);
}

namespace {

void leave(std::int32_t id, std::int64_t start, std::uint64_t saved, std::uint32_t flags) {
  const auto begin = static_cast<std::uint64_t>(start);
  const auto end = tick_after(begin);
  auto* thread = this_probe_thread();
  if (!thread) return;
  const auto span = span_of(begin, *thread);
  if (thread->flow.current == span) thread->flow.current = saved;
  put_span(*thread, begin, end, span, saved, id, flags);
}

}  // namespace

void request_leave(std::int32_t id, std::int64_t start, std::uint64_t saved) {
  leave(id, start, saved, 0);
}

void request_leave_fault(std::int32_t id, std::int64_t start, std::uint64_t saved) {
  leave(id, start, saved, wire::kSpanFaulted);
}

std::int64_t request_enter_step(std::int32_t id, std::uint64_t* saved, std::int32_t state) {
  auto* thread = this_probe_thread();
  if (!thread) return 0;
  auto& calls = thread->counters[id].enters;
  calls.store(calls.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (thread->flow.request == 0) return 0;
  const auto start = new_start(*thread);
  thread->fault = 0;
  if (state < 0) {
    // Odd: a first step. What `saved` holds until the caller has set the flow is the parent.
    *saved = thread->flow.current;
    return -static_cast<std::int64_t>(start | 1);
  }
  // It began before its probes, or where no request was.
  if (thread->flow.method != static_cast<std::uint32_t>(id) + 1) return 0;
  *saved = thread->flow.span;
  thread->flow.current = thread->flow.span;
  return static_cast<std::int64_t>(start);
}

void request_leave_step(std::int32_t id, std::int64_t start, std::uint64_t saved,
                        std::int32_t state) {
  const auto begin = static_cast<std::uint64_t>(start);
  const auto end = tick_after(begin);
  auto* thread = this_probe_thread();
  if (!thread) return;
  const bool first = (begin & 1) != 0;
  const auto flags = wire::kSpanAsync | (first ? wire::kSpanFirst : 0U) |
                     (state >= 0 ? wire::kSpanSuspended : thread->fault);
  thread->fault = 0;
  auto& tally = g_requests.tallies[ring_of(*thread)];
  add(*thread, tally.steps);
  if (first && state >= 0) add(*thread, tally.suspended);
  if (!first && state < 0) {
    add(*thread, tally.resumed);
    if (is_before(saved, g_requests.old_tick.load(std::memory_order_relaxed)))
      add(*thread, tally.resumed_old);
  }
  put_span(*thread, begin, end, first ? span_of(begin, *thread) : saved, first ? saved : 0, id,
           flags);
}

std::uint64_t request_gate_address() { return reinterpret_cast<std::uint64_t>(&g_requests.gate); }
std::uint64_t request_enter_address() { return reinterpret_cast<std::uint64_t>(&request_enter); }
std::uint64_t request_leave_address() { return reinterpret_cast<std::uint64_t>(&request_leave); }
std::uint64_t request_leave_fault_address() {
  return reinterpret_cast<std::uint64_t>(&request_leave_fault);
}
std::uint64_t request_leave_step_address() {
  return reinterpret_cast<std::uint64_t>(&request_leave_step);
}
const RequestsApi& requests_api() { return kApi; }
HelperFunctions RequestTable::helper() { return g_requests.helper; }

// --- control thread ---

bool RequestTable::open() {
  if (shared_) return true;
  auto fd = static_cast<int>(syscall_raw(number::kMemfdCreate, as_long("clrscope-requests"),
                                         kCloseOnExec | kAllowSealing));
  if (fd < 0) return false;
  if (syscall_raw(number::kFtruncate, fd, wire::kRequestsBytes) != 0 ||
      syscall_raw(number::kFcntl, fd, kAddSeals, kSealShrinkGrow) != 0)
    return close_fd(fd), false;
  auto* shared = static_cast<wire::Requests*>(map_memory(wire::kRequestsBytes, fd));
  if (!shared) return close_fd(fd), false;
  for (std::uint32_t i = 0; i < wire::kRequestRings; ++i)
    g_requests.rings[i].open(&shared->rings[i]);
  shared->header.api.store(reinterpret_cast<std::uint64_t>(&kApi));
  shared->header.helper.store(static_cast<std::uint32_t>(
      g_requests.helper.enter_step != 0 ? wire::HelperState::kReady : wire::HelperState::kAbsent));
  shared->header.protocol = wire::kProtocol;
  shared->header.bytes = wire::kRequestsBytes;
  shared->header.magic = wire::kRequestsMagic;
  g_requests.shared = shared;
  g_requests.sampling = &sampling_;
  shared_ = shared;
  fd_ = fd;
  return true;
}

bool RequestTable::start() {
  if (!shared_ || !g_probe_threads || g_requests.helper.enter_step == 0) return false;
  stop();
  auto& header = shared_->header;
  // A copy: clrscope could change it while it is read.
  auto& order = g_requests.order;
  __builtin_memcpy(&order, &shared_->order, sizeof order);
  if (order.key_bytes > wire::kMostDebugKey) order.key_bytes = 0;
  g_requests.has_key = order.key_bytes != 0 ? 1 : 0;
  for (auto* value :
       {&header.seen, &header.sampled, &header.forced, &header.by_floor, &header.ended,
        &header.spans, &header.flows, &header.cost_ns, &header.hearing_ns, &header.process_ns,
        &header.dropped_full, &header.dropped_busy, &header.ends_dropped})
    value->store(0);
  for (auto& tally : g_requests.tallies)
    for (auto* value : {&tally.spans, &tally.steps, &tally.suspended, &tally.resumed,
                        &tally.resumed_old, &tally.working})
      value->store(0);
  g_behind = {};
  header.in_flight.store(0);
  g_requests.first_number.store(g_requests.last_number.load() + 1);
  g_requests.first_tick.store(read_tsc());
  g_requests.last_tick.store(~std::uint64_t{0});
  for (auto& one : g_requests.hook_ns) one.store(0);
  g_requests.id_in_thread = has_id_in_thread();
  first_process_ns_ = clock_ns(kProcessClock);
  last_look_ns_ = 0;
  last_ = {};
  g_requests.first_own_ns = clock_ns(kThreadClock);
  g_requests.now_ns.store(monotonic_ns());
  sampling_.start({.fixed = (order.flags & wire::kSampleFixed) != 0,
                   .probability_ppm = order.probability_ppm,
                   .budget_ppm = order.budget_ppm,
                   .floor_seconds = order.floor_seconds},
                  monotonic_ns(), first_process_ns_);
  header.probability_ppm.store(sampling_.probability_ppm());
  header.enabled.store(1);
  g_requests.enabled.store(1, std::memory_order_release);
  g_requests.state.fetch_add(1, std::memory_order_acq_rel);
  syscall_raw(number::kFutex, as_long(&g_requests.state), kFutexWake, 1 << 20);
  return true;
}

void RequestTable::finish() { g_requests.last_tick.store(read_tsc() + kLateBeginTicks); }

void RequestTable::stop() {
  if (!shared_ || g_requests.enabled.load() == 0) return;
  last_look_ns_ = 0;
  tick(monotonic_ns());
  g_requests.enabled.store(0, std::memory_order_release);
  g_requests.gate.store(0, std::memory_order_release);
  shared_->header.enabled.store(0);
  g_requests.state.fetch_add(1, std::memory_order_acq_rel);
  syscall_raw(number::kFutex, as_long(&g_requests.state), kFutexWake, 1 << 20);
}

// The time of the process is a sum over its threads.
void RequestTable::look(std::uint64_t now_ns) {
  if (now_ns - last_look_ns_ < Sampling::kUpdateNs) return;
  last_look_ns_ = now_ns;
  auto& header = shared_->header;
  const auto process_ns = clock_ns(kProcessClock);
  const auto counts = counts_of(header);
  sampling_.update(counts, now_ns, process_ns);
  header.probability_ppm.store(sampling_.probability_ppm(), std::memory_order_relaxed);
  header.spans.store(counts.spans, std::memory_order_relaxed);
  const auto fresh = counts.since(last_);
  header.cost_ns.fetch_add(Sampling::cost_of(fresh), std::memory_order_relaxed);
  header.hearing_ns.fetch_add(
      Sampling::cost_of({.seen = fresh.seen, .own_ns = fresh.own_ns, .seen_ns = fresh.seen_ns}),
      std::memory_order_relaxed);
  header.process_ns.store(process_ns - first_process_ns_, std::memory_order_relaxed);
  last_ = counts;
}

void RequestTable::tick(std::uint64_t now_ns) {
  if (!shared_ || g_requests.enabled.load(std::memory_order_relaxed) == 0) return;
  g_requests.now_ns.store(now_ns, std::memory_order_relaxed);
  look(now_ns);
  auto& header = shared_->header;
  if (g_requests.gate.load(std::memory_order_relaxed) == 0) return;
  const auto ended = g_requests.last_end_ns.load(std::memory_order_relaxed);
  const bool in_flight = header.in_flight.load(std::memory_order_relaxed) != 0;
  look_behind(now_ns, !in_flight);
  const bool work_behind = tell_work_behind();
  if (in_flight || now_ns < ended + kLingerNs || (work_behind && now_ns < ended + kLongestLingerNs))
    return;
  give_up_behind();
  g_requests.gate.store(0, std::memory_order_release);
  // One that began at this moment has opened it before it was closed.
  if (header.in_flight.load(std::memory_order_seq_cst) != 0)
    g_requests.gate.store(1, std::memory_order_release);
}

}  // namespace clrscope::agent
