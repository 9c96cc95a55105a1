// Methods compiled while the trace ran: how many, how long, at which tier, how large.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "analyze/by_process.h"
#include "analyze/report.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "analyze/words.h"
#include "symbols/method_name.h"

namespace clrscope::analyze {
namespace {

using nettrace::Known;
using std::chrono::nanoseconds;

struct Jitted {
  StringId method{};
  std::uint64_t module_id = 0;
  std::string module{};
  std::uint32_t tier = 0;
  std::uint32_t il_bytes = 0;
  std::uint32_t native_bytes = 0;
  std::optional<nanoseconds> time{};  // unknown when its start is not in the trace
  nanoseconds start{};                // since the trace's beginning; of its end when unknown
  bool dynamic = false;
};

struct Tier {
  std::uint64_t count = 0;
  nanoseconds time{};
  std::uint64_t il_bytes = 0;
  std::uint64_t native_bytes = 0;
};

struct JitMethod {
  std::string method{};
  std::string module{};
  std::string tier{};
  std::uint32_t il_bytes = 0;
  std::uint32_t native_bytes = 0;
  nanoseconds start{};
  OrNull<nanoseconds> time{};
};
const Shape& shape_of(const JitMethod*) {
  using M = JitMethod;
  static const auto shape = describe<M>(
      "JitMethod", "method compiled while the trace ran",
      {member<&M::method>("method", "name of the method"),
       member<&M::module>("module", "module without its extension; empty when unknown"),
       member<&M::tier>("tier", "optimization tier"),
       member<&M::il_bytes>("ilBytes", Unit::kBytes, "size of its IL"),
       member<&M::native_bytes>("nativeBytes", Unit::kBytes, "size of its machine code"),
       member<&M::start>("startMs", "start of compiling, since the trace began"),
       member<&M::time>("jitMs", "time to compile; null when its start is not in the trace")});
  return shape;
}

struct JitTier {
  std::string tier{};
  std::uint64_t count = 0;
  nanoseconds time{};
  std::uint64_t il_bytes = 0;
  std::uint64_t native_bytes = 0;
};
const Shape& shape_of(const JitTier*) {
  using T = JitTier;
  static const auto shape = describe<T>(
      "JitTier", "methods compiled at one tier",
      {member<&T::tier>("tier", "optimization tier"),
       member<&T::count>("count", "number of methods"),
       member<&T::time>("jitMs", "total time to compile"),
       member<&T::il_bytes>("ilBytes", Unit::kBytes, "size of their IL"),
       member<&T::native_bytes>("nativeBytes", Unit::kBytes, "size of their machine code")});
  return shape;
}

struct LoadedMethods {
  std::uint64_t jitted = 0;
  std::uint64_t precompiled = 0;
};
const Shape& shape_of(const LoadedMethods*) {
  static const auto shape = describe<LoadedMethods>(
      "LoadedMethods", "methods loaded when the trace ended",
      {member<&LoadedMethods::jitted>("jitted", "methods compiled at run time"),
       member<&LoadedMethods::precompiled>("precompiled", "methods compiled ahead of time")});
  return shape;
}

struct JitAnswer {
  std::uint64_t jitted = 0;
  nanoseconds total{};
  nanoseconds duration{};
  LoadedMethods loaded{};
  std::vector<JitTier> by_tier{};
  std::vector<JitMethod> methods{};
  std::vector<ProcessCount> by_process{};
};
const Shape& shape_of(const JitAnswer*) {
  using A = JitAnswer;
  static const auto shape =
      describe<A>("JitReport", "methods compiled while the trace ran",
                  {member<&A::jitted>("jitted", "number of methods compiled"),
                   member<&A::total>("totalJitMs", "total time to compile"),
                   member<&A::duration>("durationMs", "duration of the trace"),
                   member<&A::loaded>("loadedAtEnd", "methods loaded when the trace ended"),
                   member<&A::by_tier>("byTier", "methods by optimization tier"),
                   member<&A::methods>("methods", "methods in the order they were compiled"),
                   member<&A::by_process>("byProcess", "methods compiled in each process")});
  return shape;
}

class Jit final : public ReportOf<JitAnswer> {
 public:
  explicit Jit(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    const auto pointer_size = reader.info() ? reader.info()->pointer_size : 8;
    by_process_.on_batch(batch);
    for (const Event& event : batch.events) {
      if (providers_.of(*event.type) != Provider::kRundown) span_.on_event(event.time);
      switch (known_.of(*event.type)) {
        case Known::kMethodJittingStarted:
          if (const auto start =
                  nettrace::read_as<nettrace::MethodJittingStarted>(event, pointer_size))
            open_[{event.process, event.thread, start->method}] = {event.time, start->il_size};
          break;
        case Known::kMethodLoad:
          if (const auto method = nettrace::read_as<nettrace::MethodEvent>(event, pointer_size))
            on_load(reader, event, *method);
          break;
        case Known::kMethodRundown:
          if (const auto method = nettrace::read_as<nettrace::MethodEvent>(event, pointer_size))
            ++(method->jitted() ? loaded_jitted_ : loaded_precompiled_);
          break;
        case Known::kModuleLoad:
        case Known::kModuleRundown:
          if (const auto module = nettrace::read_as<nettrace::ModuleEvent>(event, pointer_size))
            modules_[{event.process, module->module}] = utf8_of(module->il_path);
          break;
        default:
          break;
      }
    }
  }

  void end_of_trace(const nettrace::Reader& reader) override {
    span_.end_of_trace(reader);
    for (auto i = settled_; i < methods_.size(); ++i) {
      const auto found = modules_.find({processes_[i - settled_], methods_[i].module_id});
      if (!methods_[i].dynamic && found != modules_.end())
        methods_[i].module = module_name(found->second);
    }
    settled_ = methods_.size();
    processes_.clear();
    modules_.clear();
    open_.clear();
    known_.forget();
    providers_.forget();
    by_process_.end_of_trace();
  }

  JitAnswer result() const override;
  Document page() const override;

 private:
  struct Open {
    TraceTime begin;
    std::uint32_t il_bytes;
  };

  void on_load(const nettrace::Reader& reader, const Event& event,
               const nettrace::MethodEvent& method) {
    if (!method.jitted() || reader.info()->only_names(event.time)) return;
    const auto name =
        method_name(utf8_of(method.name_space), utf8_of(method.name), utf8_of(method.signature));
    const auto began = reader.info()->begin();
    Jitted jitted{.method = names_.intern(name),
                  .module_id = method.module,
                  .tier = method.tier(),
                  .native_bytes = method.size,
                  .start = between(began, event.time),
                  .dynamic = method.dynamic()};
    if (const auto found = open_.find({event.process, event.thread, method.method});
        found != open_.end()) {
      jitted.time = between(found->second.begin, event.time);
      jitted.start = between(began, found->second.begin);
      jitted.il_bytes = found->second.il_bytes;
      grow(total_, *jitted.time);
      open_.erase(found);
    }
    methods_.push_back(std::move(jitted));
    processes_.push_back(event.process);
    by_process_.add(event.process);
  }

  std::map<std::uint32_t, Tier> tiers() const {
    std::map<std::uint32_t, Tier> all;
    for (const auto& method : methods_) {
      auto& tier = all[method.tier];
      ++tier.count;
      grow(tier.time, method.time.value_or(nanoseconds{0}));
      tier.il_bytes += method.il_bytes;
      tier.native_bytes += method.native_bytes;
    }
    return all;
  }
  bool has_times() const {
    return std::any_of(methods_.begin(), methods_.end(), [](const auto& m) { return m.time; });
  }

  ReportOptions options_;
  KnownEvents known_;
  Providers providers_;
  StringTable names_;
  std::map<std::tuple<ProcessId, ThreadId, std::uint64_t>, Open> open_;
  std::map<std::pair<ProcessId, std::uint64_t>, std::string> modules_;
  std::vector<Jitted> methods_;
  std::vector<ProcessId> processes_;  // of the methods of the trace being read
  std::size_t settled_ = 0;           // methods of earlier traces
  std::uint64_t loaded_jitted_ = 0;
  std::uint64_t loaded_precompiled_ = 0;
  nanoseconds total_{};
  TraceSpan span_;
  ByProcess by_process_;
};

JitAnswer Jit::result() const {
  JitAnswer answer{.jitted = methods_.size(),
                   .total = total_,
                   .duration = span_.length(),
                   .loaded = {loaded_jitted_, loaded_precompiled_},
                   .by_process = by_process_.all()};
  for (const auto& [tier, sums] : tiers())
    answer.by_tier.push_back({value_name("OptimizationTier", tier), sums.count, sums.time,
                              sums.il_bytes, sums.native_bytes});
  for (const auto& method : methods_)
    answer.methods.push_back({.method = std::string{names_.text(method.method)},
                              .module = method.module,
                              .tier = value_name("OptimizationTier", method.tier),
                              .il_bytes = method.il_bytes,
                              .native_bytes = method.native_bytes,
                              .start = method.start,
                              .time = method.time});
  return answer;
}

Document Jit::page() const {
  const auto at_end = fmt::format("Loaded at the end: {} jitted and {} precompiled methods.",
                                  count_text(loaded_jitted_), count_text(loaded_precompiled_));
  if (methods_.empty())
    return {.summary = {"No method compilation in this trace, or none was recorded.", at_end},
            .next = "Record it: clrscope collect -p PID --clrevents jit --clreventlevel verbose"};
  Document page;
  page.summary.push_back(
      fmt::format("{} method{} compiled in {}{}.", count_text(methods_.size()),
                  methods_.size() == 1 ? "" : "s", format_duration(span_.length()),
                  has_times() ? fmt::format(", {} of compiling", format_duration(total_))
                              : ", times not recorded"));
  if (loaded_jitted_ + loaded_precompiled_ > 0) page.summary.push_back(at_end);
  DocumentTable by_tier{.title = "By tier",
                        .columns = {">COUNT", ">TIME", ">IL", ">NATIVE", "TIER"}};
  for (const auto& [tier, sums] : tiers())
    by_tier.rows.push_back({count_text(sums.count), format_duration(sums.time),
                            format_bytes(sums.il_bytes), format_bytes(sums.native_bytes),
                            value_name("OptimizationTier", tier)});
  page.tables.push_back(std::move(by_tier));

  std::vector<const Jitted*> slowest;
  for (const auto& method : methods_) slowest.push_back(&method);
  std::stable_sort(slowest.begin(), slowest.end(), [](auto* a, auto* b) {
    return std::pair{a->time.value_or(nanoseconds{0}), a->native_bytes} >
           std::pair{b->time.value_or(nanoseconds{0}), b->native_bytes};
  });
  DocumentTable table{.title = has_times() ? "Slowest to compile" : "Largest",
                      .columns = {">TIME", ">IL", ">NATIVE", "TIER", "METHOD"},
                      .keeps = "METHOD"};
  const auto rows = std::min(slowest.size(), options_.rows != 0 ? options_.rows : 10);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& method = *slowest[i];
    table.rows.push_back({method.time ? format_duration(*method.time) : "?",
                          format_bytes(method.il_bytes), format_bytes(method.native_bytes),
                          value_name("OptimizationTier", method.tier),
                          std::string{names_.text(method.method)}});
  }
  if (rows < slowest.size())
    table.note = fmt::format("{} more: -n {}", count_text(slowest.size() - rows), slowest.size());
  page.tables.push_back(std::move(table));
  by_process_.add_table(page, "COUNT");
  return page;
}

}  // namespace

extern const ReportKind jit_report =
    report_kind<Jit>("jit", "methods compiled: times, tiers, sizes");

}  // namespace clrscope::analyze
