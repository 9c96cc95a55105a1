#include "analyze/syscalls.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>

#include "analyze/process_names.h"
#include "analyze/waits.h"
#include "model/provider_names.h"

namespace clrscope::analyze {
namespace {

constexpr std::size_t kMostHeld = 1 << 20;
constexpr std::int64_t kLargestErrno = 4095;

std::string text_field(const nettrace::PayloadPlan& plan, std::string_view name, Bytes payload) {
  const auto index = plan.find(name);
  const auto value = index ? nettrace::read_field(plan, *index, payload) : std::nullopt;
  return value ? nettrace::text_of(*value) : std::string{};
}

std::int64_t number_field(const nettrace::PayloadPlan& plan, std::string_view name, Bytes payload) {
  const auto index = plan.find(name);
  const auto value = index ? nettrace::read_field(plan, *index, payload) : std::nullopt;
  return value ? value->i : 0;
}

std::uint64_t since(TraceTime from, TraceTime to) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>((to - from).count(), 0));
}

}  // namespace

std::string errno_name(int number) {
  switch (number) {  // the kernel's own, which no program sees
    case 512:
      return "ERESTARTSYS";
    case 513:
      return "ERESTARTNOINTR";
    case 514:
      return "ERESTARTNOHAND";
    case 516:
      return "ERESTART_RESTARTBLOCK";
    default:
      break;
  }
  const char* name = ::strerrorname_np(number);
  return name ? name : fmt::format("{}", number);
}

Syscalls::Edge Syscalls::edge_of(const EventType& type) {
  auto& edges = trace_->edges;
  if (type.index >= edges.size()) edges.resize(type.index + std::size_t{1});
  auto& edge = edges[type.index];
  if (edge == Edge::kUnseen)
    edge = type.provider != kTracepointProvider    ? Edge::kNone
           : type.name == "raw_syscalls:sys_enter" ? Edge::kEnter
           : type.name == "raw_syscalls:sys_exit"  ? Edge::kExit
                                                   : Edge::kNone;
  return edge;
}

void Syscalls::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  if (!trace_) trace_.emplace(frames_, reader.info()->pointer_size);
  for (const Event& event : batch.events) {
    if (const auto edge = edge_of(*event.type); edge != Edge::kNone) {
      hold(reader, event, edge);
      continue;
    }
    const auto provider = trace_->providers.of(*event.type);
    trace_->symbols.on_event(event, provider);
    if (auto name = universal_process_name(event, provider)) trace_->names[event.process] = *name;
    if (auto name = process_name(event)) trace_->names[event.process] = *name;
  }
  trace_->stacks.on_batch_end(batch);
  if (batch.sequence_point) pair_held(0);
}

void Syscalls::hold(const nettrace::Reader& reader, const Event& event, Edge edge) {
  const auto& plan = trace_->plans.of(event);
  trace_->held.push_back(
      {.time = event.time,
       .thread = event.thread,
       .process = event.process,
       .name = strings_.intern(text_field(plan, "name", event.payload)),
       .stack = edge == Edge::kEnter ? trace_->stacks.intern(reader, event) : StackId::kNone,
       .result = edge == Edge::kExit ? number_field(plan, "ret", event.payload) : 0,
       .edge = edge});
  if (trace_->held.size() >= kMostHeld) pair_held(kMostHeld / 2);
}

// In order of time, all but the newest `keep`.
void Syscalls::pair_held(std::size_t keep) {
  auto& held = trace_->held;
  std::ranges::stable_sort(held, {}, &Seen::time);
  const auto until = held.end() - static_cast<std::ptrdiff_t>(std::min(keep, held.size()));
  for (auto it = held.begin(); it != until; ++it)
    it->edge == Edge::kEnter ? on_enter(*it) : on_exit(*it);
  held.erase(held.begin(), until);
}

std::size_t Syscalls::row_of(const Seen& seen) {
  const auto [place, fresh] = trace_->row_of.try_emplace({seen.process, seen.name}, rows_.size());
  if (fresh)
    rows_.push_back({.process = seen.process, .name = std::string{strings_.text(seen.name)}});
  return place->second;
}

void Syscalls::on_enter(const Seen& seen) {
  const auto row = row_of(seen);
  ++rows_[row].count;
  ++trace_->by_stack[{row, seen.stack}].count;
  const Open now{seen.time, row, seen.stack, seen.name};
  const auto [place, fresh] =
      trace_->open.try_emplace(static_cast<std::uint64_t>(seen.thread), now);
  if (fresh) return;
  ++rows_[place->second.row].unended;  // its return was lost
  place->second = now;
}

void Syscalls::on_exit(const Seen& seen) {
  const auto open = trace_->open.find(static_cast<std::uint64_t>(seen.thread));
  const bool paired = open != trace_->open.end() && open->second.name == seen.name;
  const auto at = paired ? open->second.row : row_of(seen);
  auto& row = rows_[at];
  if (paired) {
    const auto ns = since(open->second.since, seen.time);
    ++row.timed;
    row.ns += ns;
    row.longest_ns = std::max(row.longest_ns, ns);
    trace_->by_stack[{at, open->second.stack}].ns += ns;
  } else {
    ++row.count;  // it was begun before the recording, or its beginning was lost
    if (open != trace_->open.end()) ++rows_[open->second.row].unended;
  }
  if (open != trace_->open.end()) trace_->open.erase(open);
  if (seen.result < 0 && seen.result >= -kLargestErrno) {
    ++row.errors;
    ++row.by_errno[static_cast<int>(-seen.result)];
  }
}

void Syscalls::end_of_trace(const nettrace::Reader&) {
  if (!trace_) return;
  pair_held(0);
  for (const auto& [thread, open] : trace_->open) ++rows_[open.row].unended;
  add_places();
  for (auto& [key, row] : trace_->row_of)
    if (const auto name = trace_->names.find(key.first); name != trace_->names.end())
      rows_[row].process_name = name->second;
  trace_.reset();
  std::ranges::stable_sort(rows_, [](const SyscallRow& a, const SyscallRow& b) {
    return a.ns != b.ns ? a.ns > b.ns : a.count > b.count;
  });
}

void Syscalls::add_places() {
  std::vector<FrameId> frames;
  for (const auto& [key, sum] : trace_->by_stack) {
    const auto [row, stack] = key;
    frames.clear();
    if (stack != StackId::kNone)
      trace_->symbols.frames(trace_->stacks.process(stack), trace_->stacks.addresses(stack),
                             trace_->stacks.first_seen(stack), frames);
    const auto site = wait_site(frames_, frames);
    auto& places = rows_[row].places;
    auto place = std::ranges::find(places, site, &SyscallPlace::site);
    if (place == places.end()) place = places.insert(places.end(), {.site = site});
    place->count += sum.count;
    place->ns += sum.ns;
    if (sum.count >= place->heaviest) {
      place->heaviest = sum.count;
      place->frames = frames;
    }
  }
  for (auto& row : rows_)
    std::ranges::stable_sort(row.places, [](const SyscallPlace& a, const SyscallPlace& b) {
      return a.ns != b.ns ? a.ns > b.ns : a.count > b.count;
    });
}

}  // namespace clrscope::analyze
