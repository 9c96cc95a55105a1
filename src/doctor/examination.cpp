#include "doctor/examination.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "doctor/threads.h"

namespace clrscope::doctor {
namespace {

double ms(std::chrono::nanoseconds time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

void write_frames(JsonWriter& json, const std::vector<ShownFrame>& frames) {
  json.key("frames").begin_array();
  for (const auto& frame : frames) {
    json.begin_object().member("method", frame.method).member("module", frame.module);
    if (!frame.file.empty()) json.member("file", frame.file).member("line", frame.line);
    json.end_object();
  }
  json.end_array();
}

void write_evidence(JsonWriter& json, const Report& report) {
  json.key("evidence").begin_object().key("threads").begin_array();
  for (const auto& thread : report.threads) {
    json.begin_object()
        .member("osId", thread.os_id)
        .member("managedId", thread.managed_id)
        .member("name", thread.name)
        .member("does", thread.does);
    write_frames(json, thread.frames);
    json.end_object();
  }
  json.end_array().key("objects").begin_array();
  for (const auto& object : report.objects)
    json.begin_object()
        .member("address", fmt::format("0x{:x}", object.address))
        .member("type", object.type)
        .member("role", object.role)
        .end_object();
  json.end_array().key("numbers").begin_array();
  for (const auto& number : report.numbers)
    json.begin_object()
        .member("name", number.name)
        .member("value", number.value)
        .member("unit", number.unit)
        .member("text", number.words)
        .end_object();
  json.end_array().key("details").begin_array();
  for (const auto& line : report.details) json.value(line);
  json.end_array().end_object();
}

void write_report(JsonWriter& json, const Report& report) {
  json.begin_object()
      .member("id", report.id)
      .member("title", report.title)
      .member("severity", name_of(report.severity))
      .member("confidence", name_of(report.confidence))
      .member("summary", report.summary);
  write_evidence(json, report);
  json.member("advice", report.advice)
      .member("docs", fmt::format("docs/findings/{}.md", report.id));
  if (!report.because_of.empty()) json.member("becauseOf", report.because_of);
  if (!report.part_of.empty()) json.member("partOf", report.part_of);
  json.end_object();
}

std::string_view needs_words(const Needs& needs) {
  if (needs.looks) return "memory";
  if (needs.events) return "events";
  if (needs.cpu) return "cpu";
  if (needs.events_or_looks) return "memory or events";
  return "process";
}

}  // namespace

std::string to_json(const Examination& examination) {
  JsonWriter json;
  const auto& process = examination.process;
  json.begin_object()
      .member("pid", process.pid)
      .member("name", process.name)
      .member("runtime", process.runtime)
      .member("time",
              iso8601(std::chrono::time_point_cast<std::chrono::nanoseconds>(examination.taken)))
      .member("durationMs", ms(examination.took))
      .member("watchedMs", ms(examination.watched))
      .member("looks", examination.looks)
      .member("pauseMs", ms(examination.paused))
      .member("lost", examination.lost);
  if (examination.cost)
    json.member("programCpusBefore", examination.cost->cpus_before)
        .member("programCpusDuring", examination.cost->cpus_during);
  if (!examination.core.empty()) json.member("core", examination.core);
  if (!examination.source.empty()) json.member("source", examination.source);
  json.key("findings").begin_array();
  for (const auto& report : examination.diagnosis.reports) write_report(json, report);
  json.end_array().key("examined").begin_array();
  for (const auto& one : examination.diagnosis.examined) {
    json.begin_object()
        .member("id", one.finding->id)
        .member("name", one.finding->title)
        .member("outcome", name_of(one.outcome));
    if (!one.reason.empty()) json.member("reason", one.reason);
    json.end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const auto& note : examination.notes) json.value(note);
  json.end_array().end_object();
  return std::move(json).take() + "\n";
}

std::string registry_json() {
  JsonWriter json;
  json.begin_array();
  for (const auto* finding : findings()) {
    json.begin_object()
        .member("id", finding->id)
        .member("name", finding->title)
        .member("description", finding->description)
        .member("needs", needs_words(finding->needs))
        .member("live", finding->needs.live)
        .member("durationSeconds", finding->needs.least.count())
        .member("price", finding->price)
        .member("rights", finding->rights)
        .member("docs", fmt::format("docs/findings/{}.md", finding->id));
    json.key("parameters").begin_array();
    for (const auto& parameter : finding->parameters)
      json.begin_object()
          .member("name", parameter.name)
          .member("default", parameter.value)
          .member("meaning", parameter.meaning)
          .end_object();
    json.end_array().end_object();
  }
  json.end_array();
  return std::move(json).take() + "\n";
}

std::vector<std::string> not_run_lines(const Diagnosis& diagnosis) {
  std::vector<std::pair<std::string, std::vector<std::string_view>>> reasons;
  for (const auto& one : diagnosis.examined) {
    if (one.outcome != Outcome::kNotRun) continue;
    auto at = std::ranges::find(reasons, one.reason, &decltype(reasons)::value_type::first);
    if (at == reasons.end()) at = reasons.insert(at, {one.reason, {}});
    at->second.push_back(one.finding->title);
  }
  std::vector<std::string> lines;
  for (const auto& [reason, names] : reasons)
    lines.push_back(fmt::format("{} ({})", fmt::join(names, ", "), reason));
  return lines;
}

std::string headline(const Examination& examination) {
  const auto& process = examination.process;
  auto text = fmt::format("{} ({})", process.name.empty() ? "process" : process.name, process.pid);
  if (!process.runtime.empty()) text += fmt::format(", .NET {}", process.runtime);
  if (process.up.count() > 0)
    text += fmt::format(
        ", {} up", format_uptime(std::chrono::duration_cast<std::chrono::seconds>(process.up)));
  if (!examination.core.empty()) return text + fmt::format(" · from {}", examination.core);
  text += fmt::format(
      " · looked for {}",
      format_duration(examination.watched.count() > 0 ? examination.watched : examination.took));
  if (examination.looks > 0)
    text += fmt::format(", paused it {:.{}f} ms", ms(examination.paused),
                        examination.paused.count() == 0 ? 0 : 1);
  if (const auto& cost = examination.cost)
    text += fmt::format(", it used {:.2f} CPUs before and {:.2f} meanwhile", cost->cpus_before,
                        cost->cpus_during);
  return text;
}

}  // namespace clrscope::doctor
