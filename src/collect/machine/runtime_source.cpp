#include "collect/machine/runtime_source.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "collect/eventpipe/rewrite.h"

namespace clrscope::collect {
namespace {

// The runtime hands over its buffers ten times a second, thread by thread.
constexpr std::chrono::milliseconds kDisorder{500};

// What an event costs the thread that causes it, its stack included: twice what `bench/run price`
// measures in a loop that does nothing else.
constexpr std::uint64_t kEventNs = 4'000;
constexpr std::uint64_t kFrameNs = 260;
// Of each CPU's time.
constexpr std::uint64_t kShareNs = 1'000'000'000 / 100;
// So many seconds' worth may come at once: some thousand exceptions, which is enough to tell where
// they come from. More would slow a program down that throws all the time before it is noticed.
constexpr double kAtOnce = 2;

std::uint64_t allowance() { return kShareNs * std::max(1U, std::thread::hardware_concurrency()); }

}  // namespace

RuntimeSource::RuntimeSource(OpenedRuntime opened, nettrace::Writer& writer)
    : process_(ProcessId{opened.pid}),
      role_(opened.role),
      what_(std::move(opened.what)),
      runtime_(std::move(opened.runtime)),
      session_(std::move(opened.session)),
      filter_(std::move(opened.filter)),
      writer_(writer),
      source_(writer.add_source(nettrace::Writer::Numbering::kFromFirstSeen)),
      reader_(std::in_place),
      early_(std::move(opened.early)),
      end_(*runtime_, session_.id, opened.pid) {
  if (!opened.while_cheap) return;
  const auto now = TraceClock::now();
  budget_.emplace(allowance(), kAtOnce, now);
  events_.emplace(0, 0, now);
}

Result<std::size_t> RuntimeSource::read(std::span<std::uint8_t> buffer) {
  if (early_) early_->read();
  const auto got = ::recv(session_.stream.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  const auto take = [this](const nettrace::Batch& batch) { on_batch(batch); };
  if (got <= 0) {
    closed_ = true;
    (void)reader_->finish(take);
  } else {
    end_.hear();
    TRY(reader_->feed(Bytes{buffer}.first(static_cast<std::size_t>(got)), take));
  }
  if (error_) return fail(*error_);
  return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
}

void RuntimeSource::release() {
  released_ = summary();
  if (reader_) damage_.assign(reader_->damage().begin(), reader_->damage().end());
  reader_.reset();
}

bool RuntimeSource::ended() { return closed_ || end_.hopeless(); }

std::optional<TraceTime> RuntimeSource::watermark(TraceTime now,
                                                  std::chrono::nanoseconds patience) const {
  if (closed_) return std::nullopt;
  return std::max<TraceTime>(newest_ - kDisorder, now - patience);
}

Result<bool> RuntimeSource::add_early_names() {
  if (!early_) return false;
  early_->read();
  const auto source = writer_.add_source(nettrace::Writer::Numbering::kNone);
  nettrace::Reader reader;
  std::uint64_t names = 0;
  TRY(early_->replay(reader, [&](const nettrace::Batch& batch) {
    names += batch.events.size();
    write(source, reader, batch);
  }));
  if (error_) return fail(*error_);
  return names > 0;
}

void RuntimeSource::want_names(std::span<const std::uint64_t> addresses) {
  if (early_) wanted_.insert(wanted_.end(), addresses.begin(), addresses.end());
}

Result<> RuntimeSource::write_wanted_names(TraceTime until) {
  if (!early_ || !early_->whole()) return {};
  if (!pass_ && !wanted_.empty()) {
    early_methods_.want(std::exchange(wanted_, {}));
    pass_ = std::make_unique<Pass>();
  }
  std::vector<NameEvent> names;
  const auto take = [&](const nettrace::Batch& batch) {
    for (const auto& event : batch.events) early_methods_.look_at(event, names);
  };
  while (pass_ && TraceClock::now() < until) {
    if (TRY(early_->replay_some(pass_->at, pass_->reader, take))) continue;
    early_methods_.add_modules(names);
    early_methods_.forget_wanted();
    pass_.reset();
  }
  write_early(names);
  if (error_) return fail(*error_);
  return {};
}

void RuntimeSource::write_early(std::span<const NameEvent> names) {
  if (!early_source_) early_source_ = writer_.add_source(nettrace::Writer::Numbering::kNone);
  for (const auto& name : names) {
    auto event = name.event();
    event.process = process_;
    event.time = early_newest_ = std::max(early_newest_, event.time);
    event.ticks = event.time.time_since_epoch().count();
    if (auto written = writer_.write(*early_source_, event); !written && !error_)
      error_ = written.error();
  }
}

void RuntimeSource::write(nettrace::SourceId source, const nettrace::Reader& reader,
                          const nettrace::Batch& batch) {
  for (Event event : batch.events) {
    event.process = process_;
    newest_ = std::max(newest_, event.time);
    if (source == source_ && !filter_.keeps(*event.type)) {
      writer_.skip(source, event);
      continue;
    }
    if (is_runtime_sample(event)) ++samples_;
    if (auto written = writer_.write(source, event, reader.stack(event.stack)); !written && !error_)
      error_ = written.error();
  }
}

bool RuntimeSource::too_dear(TraceTime now) {
  if (!budget_ || end_.asked_at()) return false;
  (void)events_->exceeded(weighed_, now);
  return too_dear_ = budget_->exceeded(cost_, now);
}

std::uint64_t RuntimeSource::per_second() const { return events_ ? events_->per_second() : 0; }

void RuntimeSource::weigh(const nettrace::Batch& batch) {
  for (const Event& event : batch.events)
    cost_ += kEventNs + kFrameNs * reader_->stack(event.stack).size();
  weighed_ += batch.events.size();
}

void RuntimeSource::count(const nettrace::Batch& batch) {
  if (!plans_) plans_.emplace(reader_->info() ? reader_->info()->pointer_size : 8);
  for (const Event& event : batch.events)
    if (const auto value = counters_.decode(event, plans_->of(event)); value && value->value > 0)
      growth_.push_back({event.time, value->name, static_cast<std::uint64_t>(value->value)});
}

void RuntimeSource::on_batch(const nettrace::Batch& batch) {
  if (role_ == OpenedRuntime::Role::kCounts) return count(batch);
  if (budget_) weigh(batch);
  if (stopping_ && stopping_->found_in(batch, *reader_)) stop_found_ = true;
  write(source_, *reader_, batch);
  if (!batch.sequence_point) return;
  for (const auto& capture : reader_->loss())
    if (capture.live) writer_.checkpoint(source_, capture.id, capture.sequence);
}

}  // namespace clrscope::collect
