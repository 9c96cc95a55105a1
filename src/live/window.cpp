#include "live/window.h"

#include <algorithm>
#include <map>

#include "nettrace/writer.h"

namespace clrscope::live {
namespace {

using nettrace::Known;

constexpr std::size_t kBlockBytes = 64 << 10;
constexpr std::chrono::seconds kBlockTime{10};  // a block leaves as one

bool names_code(Known known) {
  return known == Known::kMethodLoad || known == Known::kMethodRundown ||
         known == Known::kModuleLoad || known == Known::kModuleRundown;
}

}  // namespace

void Window::put(Part& part, const hub::Block& from, std::uint32_t row) {
  const auto& event = from.events()[row];
  if (part.open) {
    const auto& last = *part.blocks.back();
    if (last.reader() != from.reader() || last.bytes() > kBlockBytes ||
        event.time - last.events().front().time > kBlockTime)
      seal(part);
  }
  if (!part.open) part.blocks.push_back(hub::Block::like(from));
  part.open = true;
  part.blocks.back()->add(event, from.stack(row));
}

void Window::seal(Part& part) {
  if (std::exchange(part.open, false)) part.bytes += part.blocks.back()->bytes();
}

std::size_t Window::bytes_of(const Part& part) {
  return part.bytes + (part.open ? part.blocks.back()->bytes() : 0);
}

void Window::add(const hub::Batch& batch) {
  const std::lock_guard lock{mutex_};
  const auto& block = *batch.block;
  if (std::exchange(reader_, block.reader()) != block.reader()) known_.forget();
  for (const auto row : batch.rows) {
    const auto& event = block.events()[row];
    const auto known = known_.of(*event.type);
    // No report asks for these.
    if (known == Known::kNone || (limits_.names && known == Known::kMethodJittingStarted)) continue;
    if (!limits_.names || !names_code(known)) {
      ++state_.events;
      put(events_, block, row);
    } else if (bytes_of(names_) < limits_.name_bytes) {
      put(names_, block, row);
    } else {
      ++state_.names_left;
    }
  }
  tidy(TraceClock::now());
}

void Window::tidy(TraceTime now) {
  while (!events_.blocks.empty()) {
    const auto& first = *events_.blocks.front();
    const bool old = first.events().back().time < now - limits_.length;
    if (!old && bytes_of(events_) <= limits_.bytes) return;
    if (events_.blocks.size() == 1 && events_.open) {
      if (!old) return;  // it alone is less than the limit
      seal(events_);
    }
    if (!old) {
      state_.pushed_out += first.events().size();
      since_ = std::max(since_, first.events().back().time);
    }
    events_.bytes -= first.bytes();
    events_.blocks.pop_front();
  }
}

Window::Blocks Window::events(TraceTime now) {
  const std::lock_guard lock{mutex_};
  tidy(now);
  seal(events_);
  return {events_.blocks.begin(), events_.blocks.end()};
}

Window::Blocks Window::names() {
  const std::lock_guard lock{mutex_};
  seal(names_);
  return {names_.blocks.begin(), names_.blocks.end()};
}

Window::State Window::state() const {
  const std::lock_guard lock{mutex_};
  auto state = state_;
  state.from = std::max(since_, TraceClock::now() - limits_.length);
  return state;
}

namespace {

// The trace that a window is read as.
class TraceOfWindow {
 public:
  TraceOfWindow(TraceTime from, TraceTime to, analyze::Report& report)
      : from_(from.time_since_epoch().count()),
        to_(to.time_since_epoch().count()),
        report_(report),
        writer_(info(from), [this](Bytes bytes) { return read(bytes); }) {}

  Result<> add(const Window::Blocks& blocks, bool whatever_time) {
    for (const auto& block : blocks) {
      const auto reader = source_of(block->reader());
      for (std::uint32_t row = 0; row < block->events().size(); ++row) {
        auto event = block->events()[row];
        const auto ticks = event.time.time_since_epoch().count();
        if (!whatever_time && (ticks < from_ || ticks > to_)) continue;
        event.process = ProcessId{block->source().pid};
        event.ticks = std::clamp(ticks, from_, to_);
        TRY(writer_.write(reader, event, block->stack(row)));
      }
    }
    return {};
  }

  Result<> add_rundown(Bytes trace, pid_t pid, bool modules_only) {
    nettrace::Reader reader;
    const auto source = writer_.add_source(nettrace::Writer::Numbering::kNone);
    Result<> done;
    const auto on_batch = [&](const nettrace::Batch& batch) {
      for (auto event : batch.events) {
        if (!done) return;
        const auto known = nettrace::known_event(*event.type);
        if (!names_code(known) || (modules_only && known != Known::kModuleRundown)) continue;
        event.process = ProcessId{pid};
        event.ticks = from_;
        done = writer_.write(source, event);
      }
    };
    TRY(reader.feed(trace, on_batch));
    TRY(reader.finish(on_batch));
    return done;
  }

  // Also when nothing happened at its end the trace lasts until then.
  Result<> finish() {
    EventType type{.provider = "Clrscope", .name = "WindowEnd", .id = 1};
    const auto source = writer_.add_source(nettrace::Writer::Numbering::kNone);
    TRY(writer_.write(source, {.type = &type, .ticks = to_, .capture_thread = 1}));
    TRY(writer_.finish());
    TRY(reader_.finish(on_batch_));
    report_.end_of_trace(reader_);
    return {};
  }

 private:
  static nettrace::TraceInfo info(TraceTime from) {
    return {.version = 6,
            .start = wall_now() + (from - TraceClock::now()),
            .sync_ticks = from.time_since_epoch().count(),
            .ticks_per_second = 1'000'000'000};
  }
  Result<> read(Bytes bytes) { return reader_.feed(bytes, on_batch_); }
  nettrace::SourceId source_of(std::uint64_t reader) {
    const auto at = sources_.find(reader);
    if (at != sources_.end()) return at->second;
    return sources_[reader] = writer_.add_source(nettrace::Writer::Numbering::kNone);
  }

  std::int64_t from_, to_;
  analyze::Report& report_;
  nettrace::Reader reader_;
  nettrace::OnBatch on_batch_ = [this](const nettrace::Batch& batch) {
    report_.on_batch(reader_, batch);
  };
  nettrace::Writer writer_;
  std::map<std::uint64_t, nettrace::SourceId> sources_;
};

}  // namespace

Result<> read_window(const WindowTrace& window, analyze::Report& report) {
  TraceOfWindow trace{window.from, std::max(window.from, window.to), report};
  const auto& any = window.events.empty() ? window.names : window.events;
  if (!window.rundown.empty() && !any.empty())
    TRY(trace.add_rundown(window.rundown, any.front()->source().pid, window.modules_only));
  TRY(trace.add(window.names, true));
  TRY(trace.add(window.events, false));
  return trace.finish();
}

}  // namespace clrscope::live
