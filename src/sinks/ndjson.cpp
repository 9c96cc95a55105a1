// A line of JSON for each event and each value, to standard output, a file or a unix socket.
//
// Losses are lines among them: {"dropped":17}. A reader of the socket that is absent or slow
// is waited for without holding anything up: what waits is bounded (outbox.h).
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "base/fd.h"
#include "base/io.h"
#include "base/private_folder.h"
#include "hub/counter_json.h"
#include "nettrace/event_json.h"
#include "sinks/outbox.h"
#include "sinks/rotation.h"
#include "sinks/sink_kind.h"
#include "sinks/socket_carrier.h"

namespace clrscope::sinks {
namespace {

std::string dropped_line(std::uint64_t events) {
  return fmt::format("{{\"dropped\":{}}}\n", events);
}

// Where lines go.
class Lines {
 public:
  virtual ~Lines() = default;
  virtual Result<> open() { return {}; }
  virtual Result<> put(const std::string& text, std::uint32_t items) = 0;
  virtual Result<> tick() { return {}; }
  virtual void finish() {}
  virtual std::string state() const { return {}; }
};

class FileLines final : public Lines {
 public:
  FileLines(std::string path, std::uint64_t max_size)
      : path_(std::move(path)), max_size_(max_size) {}

  Result<> open() override {
    const bool standard = path_ == "-";
    file_ = UniqueFd{
        standard ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                 : ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode)};
    if (!file_) return fail(Errc::kSystem, "cannot write {}: {}", path_, errno_text());
    struct stat now {};
    size_ = !standard && ::fstat(file_.get(), &now) == 0 && S_ISREG(now.st_mode)
                ? static_cast<std::uint64_t>(now.st_size)
                : 0;
    return {};
  }

  Result<> put(const std::string& text, std::uint32_t) override {
    if (!file_) TRY(open());
    if (max_size_ != 0 && size_ != 0 && size_ + text.size() > max_size_) {
      TRY(put_aside(path_));
      TRY(open());
    }
    size_ += text.size();
    return write_all(file_.get(), as_bytes(text));
  }

 private:
  const std::string path_;
  const std::uint64_t max_size_;  // 0: no limit
  UniqueFd file_;
  std::uint64_t size_ = 0;
};

class SocketLines final : public Lines {
 public:
  explicit SocketLines(std::unique_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}

  Result<> put(const std::string& text, std::uint32_t items) override {
    const auto dropped = outbox_->state().dropped;
    if (dropped == told_) {
      outbox_->put(text, items);
      return {};
    }
    // Told only with what finds room itself: else the next one tells of both.
    outbox_->put(dropped_line(dropped - told_) + text, items);
    if (outbox_->state().dropped == dropped) told_ = dropped;
    return {};
  }
  Result<> tick() override { return outbox_->trouble(); }
  void finish() override { outbox_->finish(std::chrono::seconds{3}); }
  std::string state() const override { return outbox_->state().text(); }

 private:
  std::unique_ptr<Outbox> outbox_;
  std::uint64_t told_ = 0;
};

class NdjsonSink final : public hub::Sink {
 public:
  NdjsonSink(std::unique_ptr<Lines> lines, const SinkSetting& setting)
      : lines_(std::move(lines)), stack_json_(setting.stack_json) {}

  Result<> open() override { return lines_->open(); }

  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    if (change == hub::SourceChange::kGone)
      std::erase_if(known_, [&](const auto& one) { return one.second.source == source.id; });
    return {};
  }

  Result<> on_batch(const hub::Batch& batch) override {
    const auto& block = *batch.block;
    auto& known = known_.try_emplace(block.reader(), block).first->second;
    text_.clear();
    for (const auto row : batch.rows) {
      const auto& event = block.events()[row];
      known.json.append(text_, event, known.plans.of(event), block.wall_of(event), {},
                        stack_json_ ? stack_json_(block, row) : std::string{});
    }
    return lines_->put(text_, static_cast<std::uint32_t>(batch.rows.size()));
  }

  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    text_.clear();
    for (const auto& value : values) hub::append_json_line(text_, value);
    return lines_->put(text_, static_cast<std::uint32_t>(values.size()));
  }

  Result<> on_dropped(std::uint64_t events) override {
    return lines_->put(dropped_line(events), 0);
  }
  Result<> on_tick() override { return lines_->tick(); }
  std::string state() const override { return lines_->state(); }

  Result<> close(const hub::SessionSummary&) override {
    lines_->finish();
    return lines_->tick();
  }

 private:
  struct Known {
    explicit Known(const hub::Block& block)
        : source(block.source().id), plans(block.pointer_size()) {}
    std::uint64_t source;
    nettrace::PayloadPlans plans;
    nettrace::EventJson json{};
  };

  const std::unique_ptr<Lines> lines_;
  const decltype(SinkSetting::stack_json) stack_json_;
  std::map<std::uint64_t, Known> known_;  // by reader
  std::string text_;
};

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting& setting) {
  const auto max_size = TRY(address.size("max-size", 0));
  const auto buffer = TRY(address.size("buffer", 4 << 20));
  if (!address.target.starts_with("unix:")) {
    if (address.option("buffer"))
      return fail(Errc::kUsage, "--to {}: buffer= is for unix:PATH", address.text);
    if (max_size != 0 && address.target == "-")
      return fail(Errc::kUsage, "--to {}: standard output has no max-size", address.text);
    if (address.target != "-") TRY(can_write(address.target));
    return std::make_unique<NdjsonSink>(std::make_unique<FileLines>(address.target, max_size),
                                        setting);
  }
  if (max_size != 0)
    return fail(Errc::kUsage, "--to {}: a socket has no max-size", address.text)
        .hint("use buffer=SIZE to limit what is buffered");
  auto carrier = std::make_unique<StreamCarrier>(TRY(net::parse_address(address.target)));
  OutboxSetting outbox{.name = address.identity, .spool = setting.spool, .limit = buffer};
  if (!setting.spool.empty()) outbox.limit = setting.spool_limit;
  return std::make_unique<NdjsonSink>(
      std::make_unique<SocketLines>(TRY(Outbox::open(std::move(outbox), std::move(carrier)))),
      setting);
}

constexpr SinkOption kOptions[] = {
    {"max-size", "SIZE",
     "size at which the file is renamed to NAME.1.ndjson and a new one is started"},
    {"buffer", "SIZE", "data buffered for the reader of a socket (default: 4MiB)"},
};

}  // namespace

extern const SinkKind ndjson_sink{
    .name = "ndjson",
    .target = "PATH",
    .summary = "a line of JSON for each event and value; - is standard output, unix:PATH a socket",
    .options = kOptions,
    .whole_events = true,
    .make = make,
};

}  // namespace clrscope::sinks
