#include "analyze/request_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "analyze/durations.h"
#include "analyze/words.h"
#include "base/text.h"

namespace clrscope::analyze {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kBar = 40;    // columns of a waterfall
constexpr std::size_t kLabel = 38;  // columns of the method beside it
constexpr std::size_t kMostLines = 40;
constexpr std::size_t kMostWaits = 10;
constexpr std::size_t kMostUnmeasured = 10;
constexpr std::size_t kDeepest = 12;  // further levels are not indented more

struct Marks {
  std::string_view running, waiting, queued;
};
constexpr Marks kUnicodeMarks{"▇", "·", "░"};
constexpr Marks kAsciiMarks{"#", ".", "~"};

const Marks& marks_of(WaterfallStyle style) {
  return style == WaterfallStyle::kUnicode ? kUnicodeMarks : kAsciiMarks;
}

// What a span does, column by column. A column with several states shows the one that runs, then
// the one that is queued: those are short, and would be lost otherwise.
class Bar {
 public:
  Bar(nanoseconds from, nanoseconds to) : from_(from), length_(between_ns(from, to)) {}

  enum State : std::uint8_t { kNothing, kWaiting, kQueued, kRunning };
  void put(nanoseconds begin, nanoseconds end, State state) {
    if (end < from_ || length_ <= 0) return;
    const auto first = column_of(begin);
    const auto last = std::max(first, column_of(nanoseconds{end.count() - 1}));
    for (auto at = first; at <= last; ++at) columns_[at] = std::max(columns_[at], state);
  }
  std::string text(const Marks& marks) const {
    std::string out;
    for (const auto state : columns_)
      out += state == kRunning   ? marks.running
             : state == kQueued  ? marks.queued
             : state == kWaiting ? marks.waiting
                                 : std::string_view{" "};
    return out;
  }

 private:
  static double between_ns(nanoseconds from, nanoseconds to) {
    return static_cast<double>(to.count()) - static_cast<double>(from.count());
  }
  std::size_t column_of(nanoseconds at) const {
    const auto share = between_ns(from_, at) / length_;
    return static_cast<std::size_t>(
        std::clamp(share * static_cast<double>(kBar), 0.0, static_cast<double>(kBar - 1)));
  }

  nanoseconds from_;
  double length_;
  State columns_[kBar]{};
};

void put_steps(Bar& bar, nanoseconds start, nanoseconds duration,
               const std::vector<RunningStep>& steps) {
  bar.put(start, sum(start, duration), Bar::kWaiting);
  for (const auto& step : steps) {
    if (step.queued.count() > 0) bar.put(sum(step.start, -step.queued), step.start, Bar::kQueued);
    bar.put(step.start, sum(step.start, step.duration), Bar::kRunning);
  }
}

std::string cut_front(std::string_view text, std::size_t width) {
  if (text.size() <= width) return std::string{text};
  auto at = text.size() - (width - 1);
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return "…" + std::string{text.substr(at)};
}

std::string line_of(std::string_view label, std::size_t depth, const Bar& bar, const Marks& marks,
                    std::string_view times) {
  const auto indent = 2 * std::min(depth, kDeepest);
  const auto shown = cut_front(label, kLabel - indent);
  return fmt::format("{:{}}{:{}}  {}  {}", "", indent, shown, kLabel - indent, bar.text(marks),
                     times);
}

std::string times_text(nanoseconds duration, SpanOutcome outcome, nanoseconds queued) {
  std::string text = format_duration(duration);
  if (outcome != SpanOutcome::kReturned) text += fmt::format(", {}", name_of(outcome));
  if (queued.count() > 0) text += fmt::format(", queued {}", format_duration(queued));
  return text;
}

struct OwnWait {
  nanoseconds start{};
  nanoseconds duration{};
  nanoseconds queued{};
  std::uint32_t span = 0;
};

// Awaits of a method that no span below it explains: those that waited for something else.
std::vector<OwnWait> own_waits(const ProfiledRequest& request) {
  std::vector<std::vector<const ProfiledSpan*>> children(request.spans.size() + 1);
  for (const auto& span : request.spans)
    if (span.parent < children.size()) children[span.parent].push_back(&span);
  std::vector<OwnWait> out;
  for (const auto& span : request.spans) {
    if (span.id >= children.size()) continue;
    std::size_t next = 0;
    nanoseconds explained{};  // the latest end of an async child that had begun
    for (std::size_t i = 0; i < span.steps.size(); ++i) {
      const bool last = i + 1 == span.steps.size();
      if (last && span.outcome != SpanOutcome::kOpen) break;
      const auto begin = sum(span.steps[i].start, span.steps[i].duration);
      const auto end = last ? sum(span.start, span.duration) : span.steps[i + 1].start;
      for (; next < children[span.id].size() && children[span.id][next]->start <= begin; ++next) {
        const auto& child = *children[span.id][next];
        if (child.is_async) explained = std::max(explained, sum(child.start, child.duration));
      }
      if (explained > begin || end <= begin) continue;
      out.push_back({.start = begin,
                     .duration = end - begin,
                     .queued = last ? nanoseconds{} : span.steps[i + 1].queued,
                     .span = span.id});
    }
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &OwnWait::duration);
  return out;
}

std::string title_of(const ProfiledRequest& request) {
  return fmt::format("{} {}", request.method, request.path);
}

void add_waterfall(const ProfiledRequest& request, WaterfallStyle style, Document& page) {
  const auto& marks = marks_of(style);
  nanoseconds end = request.duration;
  for (const auto& span : request.spans) end = std::max(end, sum(span.start, span.duration));
  const auto add_line = [&](std::string text) {
    page.blocks.emplace_back(Paragraph{.text = std::move(text), .indent = 0, .fit = Fit::kCut});
  };
  page.blocks.emplace_back(
      Heading{.text = fmt::format("{}  {}  {}", title_of(request), request.status, request.error),
              .tone = request.status >= 500 || !request.error.empty() ? Tone::kHarm : Tone::kPlain,
              .aside = request.trace_id});
  add_line(fmt::format("{} running  {} waiting  {} queued for a thread of the pool", marks.running,
                       marks.waiting, marks.queued));
  Bar whole{{}, end};
  put_steps(whole, {}, request.duration, request.parts);
  add_line(line_of(request.route.empty() ? "(request)" : request.route, 0, whole, marks,
                   times_text(request.duration, SpanOutcome::kReturned, request.queued)));
  std::vector<std::size_t> depths(request.spans.size() + 1);
  std::vector<std::vector<const ProfiledSpan*>> children(request.spans.size() + 1);
  for (const auto& span : request.spans)
    if (span.parent < span.id) children[span.parent].push_back(&span);
  std::size_t lines = 0;
  // Depth first, so that the lines of a method stand below it.
  std::vector<const ProfiledSpan*> open{children[0].rbegin(), children[0].rend()};
  while (!open.empty() && lines < kMostLines) {
    const auto& span = *open.back();
    open.pop_back();
    ++lines;
    depths[span.id] = depths[span.parent] + 1;
    Bar bar{{}, end};
    if (span.is_async)
      put_steps(bar, span.start, span.duration, span.steps);
    else
      bar.put(span.start, sum(span.start, span.duration), Bar::kRunning);
    add_line(line_of(span.method, depths[span.id], bar, marks,
                     times_text(span.duration, span.outcome, span.queued)));
    for (auto at = children[span.id].rbegin(); at != children[span.id].rend(); ++at)
      open.push_back(*at);
  }
  if (lines < request.spans.size())
    add_line(fmt::format("… and {} more spans: see --json", request.spans.size() - lines));
  if (request.spans_lost > 0)
    add_line(fmt::format("{} spans of this request are missing.", request.spans_lost));
  const auto waits = own_waits(request);
  if (waits.empty()) return;
  page.blocks.emplace_back(Gap{});
  add_line("Longest waits");
  for (std::size_t i = 0; i < std::min(waits.size(), kMostWaits); ++i) {
    const auto& wait = waits[i];
    auto text = fmt::format("  {:>8} at +{}  await in {}", format_duration(wait.duration),
                            format_duration(wait.start), request.spans[wait.span - 1].method);
    if (wait.queued.count() > 0)
      text += fmt::format("  ({} of it queued)", format_duration(wait.queued));
    add_line(std::move(text));
  }
}

void add_losses(const RequestProfile& profile, Document& page) {
  const auto& lost = profile.lost;
  if (lost.records > 0)
    page.summary.push_back(
        fmt::format("Lost: {} records ({} ends of requests): the rings were full.",
                    format_count(lost.records), format_count(lost.requests)));
  if (lost.spans + lost.late + lost.damaged > 0)
    page.summary.push_back(
        fmt::format("Lost: {} spans beyond a limit, {} that ended too late, {} damaged records.",
                    format_count(lost.spans), format_count(lost.late), format_count(lost.damaged)));
  for (const auto& note : profile.notes) page.summary.push_back(note);
}

}  // namespace

Document routes_document(const RequestProfile& profile, std::size_t rows) {
  Document page;
  page.summary.push_back(fmt::format(
      "{} requests in {}; {} sampled ({}), sampling probability {}.", format_count(profile.seen),
      format_duration(profile.duration), format_count(profile.sampled),
      percent_text(profile.seen == 0 ? 0
                                     : 100.0 * static_cast<double>(profile.sampled) /
                                           static_cast<double>(profile.seen)),
      percent_text(100 * profile.probability)));
  if (profile.cost.process.count() > 0)
    page.summary.push_back(fmt::format("Profiling took {:.2f} % of the CPU time of the process.",
                                       profile.cost.cpu_percent));
  if (profile.methods.chosen > 0)
    page.summary.push_back(fmt::format("{} methods match, {} of them were called, {} refused.",
                                       profile.methods.chosen, profile.methods.instrumented,
                                       profile.methods.refused));
  add_losses(profile, page);
  if (!profile.file.empty())
    page.summary.push_back(fmt::format("Wrote {} with {} CPU samples.", profile.file,
                                       format_count(profile.samples.value_or(0))));
  if (profile.routes.empty()) return page;
  DocumentTable table{.columns = {">COUNT", ">PER S", ">P50", ">P95", ">P99", ">ERRORS", ">SAMPLED",
                                  ">RUNNING", ">WAITING", "ROUTE"}};
  for (std::size_t i = 0; i < std::min(profile.routes.size(), rows); ++i) {
    const auto& one = profile.routes[i];
    table.rows.push_back({format_count(one.count), fmt::format("{:.1f}", one.per_second),
                          format_duration(one.p50), format_duration(one.p95),
                          format_duration(one.p99), format_count(one.errors),
                          fmt::format("{:.0f} %", one.sampled_percent),
                          one.sampled > 0 ? format_duration(one.running) : "–",
                          one.sampled > 0 ? format_duration(one.waiting) : "–",
                          fmt::format("{} {}", one.method, one.route)});
  }
  if (profile.routes.size() > rows)
    table.note = fmt::format("… and {} more routes: see --json", profile.routes.size() - rows);
  page.tables.push_back(std::move(table));
  return page;
}

Document requests_document(const RequestProfile& profile, std::size_t rows, WaterfallStyle style) {
  auto page = routes_document(profile, rows);
  if (profile.sent) {
    const auto& sent = *profile.sent;
    page.summary.push_back(fmt::format(
        "Sent {} requests with {} spans to {}: {} of {} batches stored, {} requests lost.",
        format_count(sent.requests), format_count(sent.spans), sent.to,
        format_count(sent.delivered), format_count(sent.batches),
        format_count(sent.lost_requests)));
    if (sent.waiting_bytes > 0)
      page.summary.push_back(
          fmt::format("{} wait to be sent: {}.", format_bytes(sent.waiting_bytes), sent.trouble));
  }
  if (!profile.methods.not_measured.empty())
    page.tables.push_back(unmeasured_table(profile.methods.not_measured, kMostUnmeasured));
  if (profile.requests.empty()) return page;
  page.blocks.emplace_back(Heading{.text = "Slowest sampled request"});
  add_waterfall(profile.requests.front(), style, page);
  return page;
}

Document request_document(const ProfiledRequest& request, WaterfallStyle style) {
  Document page;
  page.summary.push_back(
      fmt::format("{} took {}: {} running, {} waiting, of which {} queued.", title_of(request),
                  format_duration(request.duration), format_duration(request.running),
                  format_duration(request.waiting), format_duration(request.queued)));
  add_waterfall(request, style, page);
  return page;
}

const ProfiledRequest* find_request(const RequestProfile& profile, std::string_view trace_id) {
  const ProfiledRequest* found = nullptr;
  if (trace_id.empty()) return nullptr;
  for (const auto& request : profile.requests) {
    if (request.trace_id == trace_id) return &request;
    if (!request.trace_id.starts_with(trace_id)) continue;
    if (found) return nullptr;
    found = &request;
  }
  return found;
}

}  // namespace clrscope::analyze
