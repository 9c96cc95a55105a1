#include "analyze/collections.h"

#include <algorithm>

#include "analyze/durations.h"

namespace clrscope::analyze {

const Shape& shape_of(const HeapSizes*) {
  using H = HeapSizes;
  static const auto shape = describe<H>(
      "HeapSizes", "sizes of the managed heap after a garbage collection",
      {member<&H::gen0>("gen0Bytes", Unit::kBytes, "generation 0"),
       member<&H::gen1>("gen1Bytes", Unit::kBytes, "generation 1"),
       member<&H::gen2>("gen2Bytes", Unit::kBytes, "generation 2"),
       member<&H::loh>("lohBytes", Unit::kBytes, "large object heap"),
       member<&H::poh>("pohBytes", Unit::kBytes, "pinned object heap"),
       member<&H::total>("totalBytes", Unit::kBytes, "all of these together"),
       member<&H::promoted>("promotedBytes", Unit::kBytes, "objects that survived the collection"),
       member<&H::pinned_objects>("pinnedObjects", "number of pinned objects"),
       member<&H::gc_handles>("gcHandles", "number of GC handles")});
  return shape;
}

HeapSizes heap_sizes(const nettrace::GcHeapStats& heap) {
  HeapSizes sizes{.gen0 = heap.size[0],
                  .gen1 = heap.size[1],
                  .gen2 = heap.size[2],
                  .loh = heap.size[3],
                  .poh = heap.size[4],
                  .total = heap.total_size(),
                  .pinned_objects = heap.pinned_objects,
                  .gc_handles = heap.handles};
  for (const auto bytes : heap.promoted) sizes.promoted += bytes;
  return sizes;
}

using nettrace::Known;

namespace {

constexpr std::uint32_t kSuspendForGc = 1;
constexpr std::uint32_t kSuspendForGcPrep = 6;

}  // namespace

void Collections::on_event(const Event& event, Known known, std::uint32_t pointer_size) {
  Note note{event.time, event.process, event.thread, known};
  switch (known) {
    case Known::kGcStart: {
      const auto gc = nettrace::read_as<nettrace::GcStart>(event, pointer_size);
      if (!gc) return;
      note.a = gc->number, note.b = gc->generation, note.c = gc->reason, note.d = gc->type;
      break;
    }
    case Known::kGcEnd: {
      const auto gc = nettrace::read_as<nettrace::GcEnd>(event, pointer_size);
      if (!gc) return;
      note.a = gc->number;
      break;
    }
    case Known::kGcSuspendBegin: {
      const auto suspend = nettrace::read_as<nettrace::GcSuspend>(event, pointer_size);
      if (!suspend) return;
      note.a = suspend->reason;
      break;
    }
    case Known::kGcHeapStats: {
      const auto heap = nettrace::read_as<nettrace::GcHeapStats>(event, pointer_size);
      if (!heap) return;
      note.heap = static_cast<std::uint32_t>(heaps_.size());
      heaps_.push_back(*heap);
      break;
    }
    case Known::kGcRestartBegin:
    case Known::kGcRestartEnd:
      break;
    default:
      return;
  }
  notes_.push_back(note);
}

void Collections::end_of_trace(const nettrace::Reader& reader) {
  TraceTime from{};
  if (const auto* info = reader.info()) from = info->begin();
  // Stable: events of one thread at one time stay in their order.
  std::stable_sort(notes_.begin(), notes_.end(), [](const Note& a, const Note& b) {
    return a.process != b.process ? a.process < b.process : a.time < b.time;
  });
  for (auto begin = notes_.begin(); begin != notes_.end();) {
    const auto end = std::find_if(begin, notes_.end(),
                                  [&](const Note& n) { return n.process != begin->process; });
    replay(begin, end, from);
    begin = end;
  }
  notes_.clear();
  heaps_.clear();
}

std::chrono::nanoseconds Collections::paused() const {
  std::chrono::nanoseconds all{};
  for (const auto& [process, paused] : paused_) grow(all, paused);
  return all;
}

std::chrono::nanoseconds Collections::most_paused() const {
  std::chrono::nanoseconds most{};
  for (const auto& [process, paused] : paused_) most = std::max(most, paused);
  return most;
}

// The events of one process in the order of time.
void Collections::replay(std::vector<Note>::iterator begin, std::vector<Note>::iterator end,
                         TraceTime from) {
  const auto first = all_.size();
  std::vector<Suspension> open;
  std::optional<std::size_t> last_ended;
  for (auto note = begin; note != end; ++note) {
    switch (note->known) {
      case Known::kGcSuspendBegin:
        std::erase_if(open, [&](const auto& one) { return one.thread == note->thread; });
        open.push_back({note->thread, note->time,
                        note->a == kSuspendForGc || note->a == kSuspendForGcPrep,
                        note->a == kSuspendForGcPrep});
        break;
      case Known::kGcStart: {
        all_.push_back({.process = note->process,
                        .number = note->a,
                        .generation = note->b,
                        .reason = note->c,
                        .type = note->d,
                        .start = between(from, note->time)});
        const auto in = std::find_if(open.rbegin(), open.rend(),
                                     [](const auto& one) { return one.for_collection; });
        if (in != open.rend()) in->started.push_back({all_.size() - 1, note->time});
        break;
      }
      case Known::kGcEnd:
        for (auto i = all_.size(); i-- > first;) {
          if (all_[i].number != note->a || all_[i].duration) continue;
          all_[i].duration =
              between(TraceTime{sum(from.time_since_epoch(), all_[i].start)}, note->time);
          last_ended = i;
          break;
        }
        break;
      case Known::kGcHeapStats:
        if (last_ended && !all_[*last_ended].heap_after)
          all_[*last_ended].heap_after = heaps_[note->heap];
        break;
      case Known::kGcRestartBegin:
        if (const auto one = ended_by(open, *note); one != open.end()) one->over = note->time;
        break;
      case Known::kGcRestartEnd:
        restart(open, *note, first);
        break;
      default:
        break;
    }
  }
}

std::vector<Collections::Suspension>::iterator Collections::ended_by(std::vector<Suspension>& open,
                                                                     const Note& note) {
  auto at = std::find_if(open.begin(), open.end(),
                         [&](const auto& one) { return one.thread == note.thread; });
  // A background collection's own thread ends the pause that another began.
  if (at == open.end())
    at = std::find_if(open.begin(), open.end(), [&](const auto& one) {
      return std::any_of(one.started.begin(), one.started.end(),
                         [&](const auto& it) { return all_[it.owner].background(); });
    });
  return at;
}

void Collections::restart(std::vector<Suspension>& open, const Note& note, std::size_t first) {
  const auto at = ended_by(open, note);
  if (at == open.end()) return;
  const auto suspension = std::move(*at);
  open.erase(at);
  // Without a start it is not the pause that it seems: its own end, or its start, was not seen.
  if (!suspension.for_collection || (suspension.started.empty() && !suspension.in_one)) return;
  const auto over = suspension.over.value_or(note.time);
  grow(paused_[note.process], between(suspension.begin, over));
  const auto add = [&](std::size_t owner, TraceTime from, TraceTime to) {
    auto& gc = all_[owner];
    const auto pause = between(from, to);
    gc.pause = sum(gc.pause.value_or(std::chrono::nanoseconds{0}), pause);
    gc.longest_pause = std::max(gc.longest_pause, pause);
    if (to == over) grow(gc.restarts, between(over, note.time));
  };
  // Several in one pause, such as a background collection that begins with one of generation 1:
  // each has its part, up to the start of the next.
  const auto& started = suspension.started;
  for (std::size_t i = 0; i < started.size(); ++i)
    add(started[i].owner, i == 0 ? suspension.begin : started[i].time,
        i + 1 < started.size() ? started[i + 1].time : over);
  if (!started.empty()) return;
  for (auto i = all_.size(); i-- > first;)
    if (all_[i].background() && !all_[i].duration) return add(i, suspension.begin, over);
}

}  // namespace clrscope::analyze
