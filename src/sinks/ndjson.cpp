// A line of JSON for each event and each value, to standard output, a file or a unix socket.
//
// Lines of losses are told among them: {"dropped":17}.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <map>

#include "base/fd.h"
#include "base/io.h"
#include "hub/counter_json.h"
#include "nettrace/event_json.h"
#include "sinks/sink_kind.h"

namespace clrscope::sinks {
namespace {

class NdjsonSink final : public hub::Sink {
 public:
  explicit NdjsonSink(std::string path) : path_(std::move(path)) {}

  Result<> open() override {
    file_ = UniqueFd{path_ == "-"
                         ? ::dup(STDOUT_FILENO)
                         : ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)};
    if (!file_) return fail(Errc::kSystem, "cannot write {}: {}", path_, errno_text());
    return {};
  }

  Result<> on_batch(const hub::Batch& batch) override {
    const auto& block = *batch.block;
    auto& known = known_.try_emplace(block.reader(), block.pointer_size()).first->second;
    text_.clear();
    for (const auto row : batch.rows) {
      const auto& event = block.events()[row];
      known.json.append(text_, event, known.plans.of(*event.type), block.wall_of(event));
    }
    return write();
  }

  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    text_.clear();
    for (const auto& value : values) hub::append_json_line(text_, value);
    return write();
  }

  Result<> on_dropped(std::uint64_t events) override {
    text_ = fmt::format("{{\"dropped\":{}}}\n", events);
    return write();
  }

 private:
  struct Known {
    explicit Known(std::uint32_t pointer_size) : plans(pointer_size) {}
    nettrace::PayloadPlans plans;
    nettrace::EventJson json{};
  };

  Result<> write() {
    if (!file_) TRY(open());
    return write_all(file_.get(), as_bytes(text_));
  }

  const std::string path_;
  UniqueFd file_;
  std::map<std::uint64_t, Known> known_;  // by reader
  std::string text_;
};

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting&) {
  return std::make_unique<NdjsonSink>(address.target);
}

}  // namespace

extern const SinkKind ndjson_sink{
    .name = "ndjson",
    .target = "PATH",
    .summary = "a line of JSON for each event and value; - is standard output",
    .whole_events = true,
    .make = make,
};

}  // namespace clrscope::sinks
