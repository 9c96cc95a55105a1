// Exceptions by type, and where they are thrown.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "analyze/report.h"
#include "analyze/sites.h"
#include "analyze/trace_span.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

using nettrace::Known;

constexpr std::uint16_t kReThrown = 4;
constexpr std::size_t kSitesShown = 3;  // of a type, as text

struct TypeCount {
  std::uint64_t count = 0;
  std::uint64_t rethrown = 0;
  std::string message{};  // of the first
  std::uint32_t hresult = 0;
  std::map<FrameId, std::uint64_t> sites{};
};

std::vector<std::pair<FrameId, std::uint64_t>> ranked(
    const std::map<FrameId, std::uint64_t>& sites) {
  std::vector<std::pair<FrameId, std::uint64_t>> all{sites.begin(), sites.end()};
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

class Exceptions final : public Report {
 public:
  explicit Exceptions(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    if (!trace_) trace_.emplace(frames_);
    for (const Event& event : batch.events) {
      if (trace_->providers.of(*event.type) != Provider::kRundown) span_.on_event(event.time);
      if (trace_->known.of(*event.type) == Known::kException)
        count(reader, event);
      else
        trace_->sites.on_other(event);
    }
    trace_->sites.on_batch_end(batch);
  }

  void end_of_trace(const nettrace::Reader& reader) override {
    span_.end_of_trace(reader);
    if (!trace_) return;
    for (const auto& [key, times] : trace_->by_stack)
      types_[std::string{names_.text(key.first)}].sites[trace_->sites.site(key.second)] += times;
    trace_.reset();
  }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  struct Trace {
    explicit Trace(FrameTable& frames) : sites(frames) {}
    KnownEvents known;
    Providers providers;
    Sites sites;
    std::map<std::pair<StringId, StackId>, std::uint64_t> by_stack;
  };

  void count(const nettrace::Reader& reader, const Event& event) {
    const auto thrown =
        nettrace::read_as<nettrace::ExceptionThrown>(event, reader.info()->pointer_size);
    if (!thrown) return;
    const auto name = names_.intern(utf8_of(thrown->type));
    auto& type = types_[std::string{names_.text(name)}];
    if (type.count == 0) {
      type.message = utf8_of(thrown->message);
      type.hresult = thrown->hresult;
    }
    ++type.count;
    ++total_;
    if ((thrown->flags & kReThrown) != 0) ++type.rethrown;
    ++trace_->by_stack[{name, trace_->sites.stack_of(reader, event)}];
  }

  double rate(std::uint64_t count) const {
    return span_.seconds() > 0 ? static_cast<double>(count) / span_.seconds() : 0;
  }
  std::vector<const std::pair<const std::string, TypeCount>*> ranked_types() const {
    std::vector<const std::pair<const std::string, TypeCount>*> all;
    for (const auto& one : types_) all.push_back(&one);
    std::stable_sort(all.begin(), all.end(),
                     [](auto* a, auto* b) { return a->second.count > b->second.count; });
    return all;
  }

  ReportOptions options_;
  FrameTable frames_;
  StringTable names_;
  std::optional<Trace> trace_;
  std::map<std::string, TypeCount> types_;
  std::uint64_t total_ = 0;
  TraceSpan span_;
};

void Exceptions::write_members(JsonWriter& json) const {
  json.member("exceptions", total_)
      .member("ratePerSecond", rate(total_))
      .member("durationMs", ms(span_.length()))
      .key("byType")
      .begin_array();
  for (const auto* one : ranked_types()) {
    const auto& [name, type] = *one;
    json.begin_object()
        .member("type", name)
        .member("count", type.count)
        .member("rethrown", type.rethrown)
        .member("percent", percent(type.count, total_))
        .member("ratePerSecond", rate(type.count))
        .member("message", type.message)
        .member("hresult", fmt::format("0x{:08X}", type.hresult))
        .key("sites")
        .begin_array();
    for (const auto& [site, count] : ranked(type.sites))
      json.begin_object()
          .member("method", frames_.frame(site).method)
          .member("module", frames_.frame(site).module)
          .member("count", count)
          .end_object();
    json.end_array().end_object();
  }
  json.end_array();
}

Page Exceptions::page() const {
  if (total_ == 0)
    return {.summary = {"No exception was thrown in this trace, or none was recorded."},
            .next = "Record them: clrscope collect -p PID --clrevents exception"};
  const auto types = ranked_types();
  Page page;
  page.summary.push_back(fmt::format("{} exception{} of {} type{} in {:.1f} s: {:.1f} a second.",
                                     count_text(total_), total_ == 1 ? "" : "s", types.size(),
                                     types.size() == 1 ? "" : "s", span_.seconds(), rate(total_)));
  PageTable table{.columns = {">COUNT", ">SHARE", "TYPE", "THROWN IN"}};
  const auto rows = std::min(types.size(), options_.rows != 0 ? options_.rows : 20);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto& [name, type] = *types[i];
    const auto sites = ranked(type.sites);
    for (std::size_t s = 0; s < std::min(sites.size(), kSitesShown); ++s)
      table.rows.push_back({s == 0 ? count_text(type.count) : "",
                            s == 0 ? share_text(type.count, total_) : "", s == 0 ? name : "",
                            sites.size() == 1 ? frames_.frame(sites[s].first).method
                                              : fmt::format("{} × {}", count_text(sites[s].second),
                                                            frames_.frame(sites[s].first).method)});
  }
  if (rows < types.size())
    table.note = fmt::format("{} more types: -n {}", types.size() - rows, types.size());
  page.tables.push_back(std::move(table));
  const auto& first = types.front()->second;
  if (!first.message.empty())
    page.summary.push_back(fmt::format("The most frequent says: {}", first.message));
  return page;
}

}  // namespace

extern const ReportKind exceptions_report{
    .name = "exceptions",
    .summary = "exceptions by type and by the place that throws",
    .make = [](const ReportOptions& options) -> std::unique_ptr<Report> {
      return std::make_unique<Exceptions>(options);
    },
};

}  // namespace clrscope::analyze
