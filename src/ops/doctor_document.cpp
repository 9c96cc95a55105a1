#include "ops/doctor_document.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace clrscope::ops {
namespace {

using doctor::Report;
using doctor::Severity;
using Blocks = std::vector<Block>;

constexpr std::size_t kIndent = 4;

Tone tone_of(Severity severity) {
  return severity == Severity::kError     ? Tone::kHarm
         : severity == Severity::kWarning ? Tone::kWarning
                                          : Tone::kPlain;
}
std::string_view sign_of(Severity severity) {
  return severity == Severity::kError ? "✖" : severity == Severity::kWarning ? "⚠" : "·";
}

// The title, and at the right how sure it is.
Heading heading_of(const Report& report) {
  return {.text = fmt::format("{} {} {}", sign_of(report.severity), report.id, report.title),
          .tone = tone_of(report.severity),
          .aside = std::string{name_of(report.confidence)}};
}

FrameLine line_of(const doctor::ShownFrame& frame) {
  if (frame.file.empty()) return {frame.method};
  return {frame.method,
          fmt::format("{}:{}", frame.file.substr(frame.file.rfind('/') + 1), frame.line)};
}

void add_thread(Blocks& blocks, const doctor::ShownThread& thread) {
  auto line = thread.os_id == 0 ? std::string{} : fmt::format("thread {}", thread.os_id);
  if (!thread.name.empty()) line += fmt::format(" \"{}\"", thread.name);
  if (!thread.does.empty()) line += fmt::format("{}{}", line.empty() ? "" : "  ", thread.does);
  blocks.emplace_back(Paragraph{std::move(line), kIndent});
  FrameLines frames{.frames = {}, .indent = 2 * kIndent};
  for (const auto& frame : thread.frames) frames.frames.push_back(line_of(frame));
  blocks.emplace_back(std::move(frames));
}

// A consequence of another finding gets a line or two.
void add_report(Blocks& blocks, const Report& report) {
  const auto paragraph = [&](std::string text) {
    blocks.emplace_back(Paragraph{std::move(text), kIndent});
  };
  blocks.emplace_back(heading_of(report));
  if (!report.because_of.empty()) paragraph(fmt::format("because of {}", report.because_of));
  if (!report.part_of.empty())
    paragraph(fmt::format("part of {}: the same threads", report.part_of));
  if (!report.folded())
    for (const auto& thread : report.threads) add_thread(blocks, thread);
  if (!report.summary.empty()) paragraph(report.summary);
  if (!report.folded()) {
    for (const auto& line : report.details)
      blocks.emplace_back(Paragraph{line, kIndent, Fit::kCut});
    paragraph(fmt::format("Do: {}.", report.advice));
    if (!report.next.empty())
      blocks.emplace_back(NextSteps{.label = "Next", .remedies = report.next, .indent = kIndent});
    blocks.emplace_back(NextSteps{.label = "More",
                                  .remedies = {{"doctor", {{"explain", std::string{report.id}}}}},
                                  .indent = kIndent});
  }
  blocks.emplace_back(Gap{});
}

void add_outcomes(Blocks& blocks, const doctor::Diagnosis& diagnosis) {
  const auto nothing =
      std::ranges::count(diagnosis.examined, doctor::Outcome::kNothing, &doctor::Examined::outcome);
  const auto not_run =
      std::ranges::count(diagnosis.examined, doctor::Outcome::kNotRun, &doctor::Examined::outcome);
  std::string line;
  if (nothing > 0)
    line = fmt::format("{} examination{} found nothing.", nothing, nothing == 1 ? "" : "s");
  if (not_run > 0) line += fmt::format("{}{} could not run:", line.empty() ? "" : " ", not_run);
  if (!line.empty()) blocks.emplace_back(Paragraph{std::move(line)});
  for (auto& one : not_run_lines(diagnosis)) blocks.emplace_back(Paragraph{std::move(one), 2});
}

}  // namespace

Document doctor_document(const doctor::Examination& examination) {
  Document page{.summary = {headline(examination)}};
  auto& blocks = page.blocks;
  blocks.emplace_back(Gap{});
  const auto& diagnosis = examination.diagnosis;
  if (diagnosis.reports.empty()) {
    const bool whole = std::ranges::none_of(diagnosis.examined, [](const auto& one) {
      return one.outcome == doctor::Outcome::kNotRun;
    });
    blocks.emplace_back(Paragraph{
        whole ? "Nothing found." : "Nothing found. Some examinations could not run: see below."});
    blocks.emplace_back(Gap{});
  }
  for (const auto& report : diagnosis.reports) add_report(blocks, report);
  add_outcomes(blocks, diagnosis);
  for (const auto& note : examination.notes) blocks.emplace_back(Paragraph{note});
  return page;
}

Document round_document(const Round& round) {
  const auto all = round.examined.size() + round.skipped.size();
  Document page{
      .summary = {fmt::format("{} of {} .NET process{} examined in {}", round.examined.size(), all,
                              all == 1 ? "" : "es", format_duration(round.took))}};
  auto& blocks = page.blocks;
  blocks.emplace_back(Gap{});
  std::vector<std::string> healthy;
  for (const auto& one : round.examined) {
    const auto& reports = one.diagnosis.reports;
    auto who = fmt::format("{} ({})", one.process.name, one.process.pid);
    if (reports.empty()) {
      healthy.push_back(std::move(who));
      continue;
    }
    blocks.emplace_back(Paragraph{std::move(who)});
    blocks.emplace_back(heading_of(reports.front()));
    if (reports.size() > 1)
      blocks.emplace_back(
          NextSteps{.label = fmt::format("{} more", reports.size() - 1),
                    .remedies = {{"doctor", {{"pid", std::to_string(one.process.pid)}}}},
                    .indent = kIndent});
  }
  if (healthy.size() < round.examined.size()) blocks.emplace_back(Gap{});
  if (!healthy.empty())
    blocks.emplace_back(Paragraph{fmt::format("Nothing found: {}", fmt::join(healthy, ", "))});
  for (const auto& one : round.skipped)
    blocks.emplace_back(
        Paragraph{fmt::format("Not examined: {} ({}): {}", one.name, one.pid, one.reason)});
  return page;
}

Document registry_document() {
  Document page{.summary = {}};
  auto& blocks = page.blocks;
  const auto paragraph = [&](std::string text) {
    blocks.emplace_back(Paragraph{std::move(text), kIndent});
  };
  for (const auto* finding : doctor::findings()) {
    blocks.emplace_back(Heading{.text = fmt::format("{}  {}", finding->id, finding->title)});
    paragraph(std::string{finding->description});
    paragraph(fmt::format("price: {}", finding->price));
    paragraph(fmt::format("needs: {}{}", finding->rights,
                          finding->needs.least.count() > 0
                              ? fmt::format("; {} or more", format_duration(finding->needs.least))
                              : ""));
    for (const auto& parameter : finding->parameters)
      paragraph(fmt::format("parameter {}.{}: {} (default: {})", finding->id, parameter.name,
                            parameter.meaning, parameter.value));
    blocks.emplace_back(Gap{});
  }
  return page;
}

}  // namespace clrscope::ops
