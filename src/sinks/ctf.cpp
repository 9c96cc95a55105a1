// A CTF 1.8 trace that grows while it is written: typed fields, stacks as addresses.
//
// A packet a second at least, each written in one piece, its classes described before it: what is
// in the folder can be read while we run and after we were killed. Events are held a second to get
// them in order. What was dropped or lost is in the packets' count of discarded events.
#include "base/private_folder.h"
#include "ctf/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <optional>

#include "base/fd.h"
#include "base/io.h"
#include "sinks/own_events.h"
#include "sinks/rotation.h"
#include "sinks/sink_kind.h"
#include "sinks/time_order.h"

namespace clrscope::sinks {
namespace {

using std::chrono::nanoseconds;

constexpr std::chrono::seconds kPatience{1};

Result<UniqueFd> create(const std::string& path) {
  UniqueFd file{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode)};
  if (!file && errno == EEXIST)
    return fail(Errc::kUsage, "{} already exists", path).hint("use a new or empty folder");
  if (!file) return fail(Errc::kSystem, "cannot create {}: {}", path, errno_text());
  return file;
}

class CtfSink final : public hub::Sink {
 public:
  explicit CtfSink(std::string folder) : folder_(std::move(folder)) {}

  Result<> open() override {
    if (::mkdir(folder_.c_str(), kFolderMode) != 0 && errno != EEXIST)
      return fail(Errc::kSystem, "cannot create {}: {}", folder_, errno_text());
    metadata_ = TRY(create(folder_ + "/metadata"));
    stream_ = TRY(create(folder_ + "/stream"));
    wall_offset_ = wall_offset_now();
    writer_.emplace(
        ctf::TraceFacts{.clock_offset = wall_offset_,
                        .environment = {{"domain", "ust"}, {"tracer_name", "clrscope"}}},
        [this](Bytes packet) { return write(packet); });
    return describe();
  }

  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    TRY(usable());
    if (change == hub::SourceChange::kCame) {
      order_.add(event_of(source, TraceClock::now(), wall_offset_));
      return {};
    }
    TRY(put(TraceTime::max()));  // what is held still refers to it
    std::erase_if(known_, [&](const auto& one) { return one.second.source == source.id; });
    return {};
  }

  Result<> on_batch(const hub::Batch& batch) override {
    TRY(usable());
    order_.add(batch);
    return order_.full() ? put(TraceClock::now() - kPatience) : Result<>{};
  }

  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    return on_batch(events_of(values, wall_offset_));
  }

  Result<> on_dropped(std::uint64_t events) override {
    TRY(usable());
    lost_ += events;
    writer_->set_lost(lost_);
    return {};
  }

  Result<> on_tick() override {
    TRY(usable());
    TRY(put(TraceClock::now() - kPatience));
    return writer_->flush();
  }

  Result<> close(const hub::SessionSummary& summary) override {
    TRY(usable());
    TRY(put(TraceTime::max()));
    writer_->set_lost(summary.lost + summary.dropped);
    return writer_->flush();
  }

 private:
  // Of one reader.
  struct Known {
    Known(ctf::Writer& writer, const hub::Block& block)
        : source(block.source().id), plans(block.pointer_size()), classes(writer) {}
    std::uint64_t source;
    nettrace::PayloadPlans plans;
    ctf::Classes classes;
  };

  Result<> usable() {
    if (error_) return fail(*error_);
    return writer_ ? Result<>{} : open();
  }

  Result<> put(TraceTime until) {
    Result<> done;
    order_.take(until, [&](const hub::Block& block, std::uint32_t row) {
      if (!done) return;
      auto event = block.events()[row];
      event.process = process_of(block, event);
      auto& known = known_.try_emplace(block.reader(), *writer_, block).first->second;
      const auto& plan = known.plans.of(event);
      done = writer_->write(known.classes.of(*event.type, plan), event, plan, block.stack(row));
    });
    return done;
  }

  // Readers must find a class described before they meet it.
  Result<> describe() {
    const auto& text = writer_->metadata();
    const auto begin = std::exchange(described_, text.size());
    return write_all(metadata_.get(), as_bytes(std::string_view{text}.substr(begin)));
  }

  // After a failure the end of the stream is no whole packet, and nothing may follow it.
  Result<> write(Bytes packet) {
    auto done = describe();
    if (done) done = write_all(stream_.get(), packet);
    if (done)
      written_ += packet.size();
    else
      error_ = done.error();
    if (!done && ::ftruncate(stream_.get(), static_cast<off_t>(written_)) != 0)
      error_->what += fmt::format("; its end is damaged: {}", errno_text());
    return done;
  }

  std::string folder_;
  UniqueFd metadata_, stream_;
  nanoseconds wall_offset_{};
  std::optional<ctf::Writer> writer_;
  std::map<std::uint64_t, Known> known_;  // by reader
  TimeOrder order_;
  std::size_t described_ = 0;
  std::uint64_t written_ = 0;
  std::uint64_t lost_ = 0;
  std::optional<Error> error_;
};

// Told before anything is wanted of a process.
Result<> can_make(const std::string& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return can_write(folder);
  if (!std::filesystem::is_directory(folder, error))
    return fail(Errc::kUsage, "{} is not a folder", folder).hint("use a new or empty folder");
  if (!std::filesystem::is_empty(folder, error) || error)
    return fail(Errc::kUsage, "{} is {}", folder, error ? "unreadable" : "not empty")
        .hint("use a new or empty folder");
  return can_write(folder + "/metadata");
}

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting&) {
  TRY(can_make(address.target));
  return std::make_unique<CtfSink>(address.target);
}

}  // namespace

extern const SinkKind ctf_sink{
    .name = "ctf",
    .target = "FOLDER",
    .summary = "a trace in the Common Trace Format, for babeltrace2 and Trace Compass",
    .whole_events = true,
    .make = make,
};

}  // namespace clrscope::sinks
