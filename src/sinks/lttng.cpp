// Tracepoints of LTTng, live: into every session of this user that has clrscope:* enabled.
//
// LTTng is in libclrscope_lttng.so, which is loaded by this sink only and then stays: it runs
// threads of its own and must not be taken away under them. A process that forks without exec
// afterwards must not use it; we fork only to exec. A tracepoint is stamped when it is delivered;
// when the event happened is its field `time`.
#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "sinks/lttng_events.h"
#include "sinks/sink_kind.h"

namespace clrscope::sinks {
namespace {

constexpr std::string_view kFile = "libclrscope_lttng.so";
constexpr std::string_view kEnable = "lttng enable-event --userspace 'clrscope:*'";

// Beside our executable, or where packages have it.
Result<std::string> find_module() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(Errc::kSystem, "cannot read /proc/self/exe: {}", error.message());
  const auto folder = self.parent_path();
  for (const auto* place : {".", "../lib", "../lib/clrscope"}) {
    auto path = (folder / place / kFile).lexically_normal();
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return fail(Errc::kUnsupported, "{} not found in {}", kFile, folder.string())
      .hint("install liblttng-ust-dev and build clrscope again");
}

Result<const clrscope_lttng_module*> load_module() {
  const auto path = TRY(find_module());
  auto* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr)
    return fail(Errc::kUnsupported, "cannot load {}: {}", path, ::dlerror())
        .hint("run apt-get install liblttng-ust1");
  const auto entry = reinterpret_cast<clrscope_lttng_entry>(::dlsym(library, "clrscope_lttng"));
  if (entry == nullptr || entry()->abi != CLRSCOPE_LTTNG_ABI)
    return fail(Errc::kUnsupported, "{} belongs to another version of clrscope", path)
        .hint("install both together");
  return entry();
}

class LttngSink final : public hub::Sink {
 public:
  explicit LttngSink(LttngEvents::Typed typed) : typed_(typed) {}

  // Waits for the session daemon, if there is one: up to 3 s, as LTTNG_UST_REGISTER_TIMEOUT says.
  Result<> open() override {
    const auto* module = TRY(load_module());
    events_.emplace(*module, typed_);
    return {};
  }

  Result<> on_source(const hub::SourceInfo& source, hub::SourceChange change) override {
    TRY(usable());
    events_->send_change(source, change);
    return {};
  }

  Result<> on_batch(const hub::Batch& batch) override {
    TRY(usable());
    events_->send(batch);
    unwanted_ = events_->unwanted();
    return {};
  }

  Result<> on_counters(std::span<const hub::CounterValue> values) override {
    TRY(usable());
    for (const auto& value : values) events_->send(value);
    unwanted_ = events_->unwanted();
    return {};
  }

  Result<> on_dropped(std::uint64_t events) override {
    TRY(usable());
    told_dropped_ += events;
    events_->send_dropped(events);
    return {};
  }

  Result<> on_tick() override { return usable(); }

  Result<> close(const hub::SessionSummary& summary) override {
    TRY(usable());
    if (const auto rest = summary.dropped + summary.lost - told_dropped_; rest != 0)
      events_->send_dropped(rest);
    return unwanted_ == 0 ? Result<>{} : fail(Errc::kNotFound, "{}", state());
  }

  std::string state() const override {
    const auto unwanted = unwanted_.load();
    return unwanted == 0
               ? std::string{}
               : fmt::format("{} events and values were not recorded by any lttng session ({})",
                             format_count(unwanted), kEnable);
  }

 private:
  Result<> usable() { return events_ ? Result<>{} : open(); }

  LttngEvents::Typed typed_;
  std::optional<LttngEvents> events_;
  std::uint64_t told_dropped_ = 0;
  std::atomic<std::uint64_t> unwanted_{0};
};

Result<std::unique_ptr<hub::Sink>> make(const SinkAddress& address, const SinkSetting&) {
  if (!address.target.empty())
    return fail(Errc::kUsage, "--to {}: lttng has no target", address.text)
        .hint("leave the target out and select events in lttng: {}", kEnable);
  TRY(find_module());
  const bool typed = TRY(address.truth("typed", true));
  return std::make_unique<LttngSink>(typed ? LttngEvents::Typed::kYes : LttngEvents::Typed::kNo);
}

constexpr SinkOption kOptions[] = {
    {"typed", "yes|no",
     "no: all events as clrscope:event with a JSON payload instead of typed fields"},
};

}  // namespace

extern const SinkKind lttng_sink{
    .name = "lttng",
    .target = "",
    .summary = "tracepoints clrscope:* in the running sessions of lttng",
    .options = kOptions,
    .whole_events = true,
    .make = make,
};

}  // namespace clrscope::sinks
