#include "doctor/answer.h"

#include <fmt/format.h>

#include "base/clock.h"

namespace clrscope::doctor {
namespace {

std::string docs_of(std::string_view id) { return fmt::format("docs/findings/{}.md", id); }

}  // namespace

ReportAnswer answer_of(const Report& report) {
  ReportAnswer answer{
      .id = report.id,
      .title = report.title,
      .severity = report.severity,
      .confidence = report.confidence,
      .summary = report.summary,
      .evidence = {.threads = report.threads, .numbers = report.numbers, .details = report.details},
      .advice = report.advice,
      .next = report.next,
      .docs = docs_of(report.id),
      .because_of = report.because_of,
      .part_of = report.part_of};
  for (const auto& object : report.objects)
    answer.evidence.objects.push_back(
        {inspect::address_text(object.address), object.type, object.role});
  return answer;
}

ExaminationAnswer answer_of(const Examination& examination) {
  const auto& process = examination.process;
  ExaminationAnswer answer{
      .pid = process.pid,
      .process = process.name,
      .runtime = process.runtime,
      .time = std::chrono::time_point_cast<std::chrono::nanoseconds>(examination.taken),
      .duration = examination.took,
      .watched = examination.watched,
      .snapshots = examination.snapshots,
      .pause = examination.paused,
      .lost = examination.lost,
      .core = examination.core,
      .source = examination.source,
      .notes = examination.notes};
  if (examination.cost) {
    answer.cpus_before = examination.cost->cpus_before;
    answer.cpus_during = examination.cost->cpus_during;
  }
  for (const auto& report : examination.diagnosis.reports)
    answer.findings.push_back(answer_of(report));
  for (const auto& one : examination.diagnosis.examined)
    answer.examined.push_back({one.finding->id, one.finding->title, one.outcome, one.reason});
  return answer;
}

FindingAnswer answer_of(const Finding& finding) {
  return {.id = finding.id,
          .name = finding.title,
          .description = finding.description,
          .needs = kind_of(finding.needs),
          .live = finding.needs.live,
          .duration = finding.needs.least,
          .price = finding.price,
          .rights = finding.rights,
          .docs = docs_of(finding.id),
          .parameters = {finding.parameters.begin(), finding.parameters.end()}};
}

const Shape& shape_of(const ObjectAnswer*) {
  using T = ObjectAnswer;
  static const auto shape = describe<T>("FindingObject", "an object that a finding is about",
                                        {member<&T::address>("address", "address of the object"),
                                         member<&T::type>("type", "type of the object"),
                                         member<&T::role>("role", "role of the object: lock")});
  return shape;
}

const Shape& shape_of(const ShownThread*) {
  using T = ShownThread;
  static const auto shape = describe<T>(
      "FindingThread", "a thread that a finding is about",
      {member<&T::os_id>("osId", "operating system's thread id"),
       member_or_null<&T::managed_id>("managedId", "managed thread id, null if unknown"),
       member<&T::name>("name", "name given by the program, or the operating system's"),
       member<&T::does>("does", "what the thread does, as text"),
       member<&T::frames>("frames", "the frames that matter, innermost first")});
  return shape;
}

const Shape& shape_of(const ShownNumber*) {
  using T = ShownNumber;
  static const auto shape = describe<T>(
      "FindingNumber", "a number that a finding is based on",
      {member<&T::name>("name", "name of the number"), member<&T::value>("value", "the number"),
       member<&T::unit>("unit", "unit of the number"),
       member<&T::words>("text", "the number as text")});
  return shape;
}

const Shape& shape_of(const EvidenceAnswer*) {
  using T = EvidenceAnswer;
  static const auto shape = describe<T>(
      "Evidence", "what a finding is based on",
      {member<&T::threads>("threads", "threads"), member<&T::objects>("objects", "objects"),
       member<&T::numbers>("numbers", "numbers"),
       member<&T::details>("details", "more facts, one per line")});
  return shape;
}

const Shape& shape_of(const ReportAnswer*) {
  using T = ReportAnswer;
  static const auto shape = describe<T>(
      "Finding", "something that is wrong with a process",
      {member<&T::id>("id", "id of the finding, such as CS1001"),
       member<&T::title>("title", "what is wrong, in one line"),
       member<&T::severity>("severity", "how harmful it is"),
       member<&T::confidence>("confidence", "how certain it is"),
       member<&T::summary>("summary", "what is wrong, in one or two sentences"),
       member<&T::evidence>("evidence", "what it is based on"),
       member<&T::advice>("advice", "what to do"),
       member_unless_empty<&T::next>("next", "commands that show more"),
       member<&T::docs>("docs", "file that explains the finding"),
       member_unless_empty<&T::because_of>("becauseOf", "id of the finding that causes this one"),
       member_unless_empty<&T::part_of>("partOf",
                                        "id of the worse finding about the same threads")});
  return shape;
}

const Shape& shape_of(const ExaminedAnswer*) {
  using T = ExaminedAnswer;
  static const auto shape = describe<T>(
      "Examined", "outcome of one examination",
      {member<&T::id>("id", "id of the finding"), member<&T::name>("name", "name of the finding"),
       member<&T::outcome>("outcome", "outcome of the examination"),
       member_unless_empty<&T::reason>("reason", "why it could not run")});
  return shape;
}

const Shape& shape_of(const ExaminationAnswer*) {
  using T = ExaminationAnswer;
  static const auto shape = describe<T>(
      "Examination", "findings about a process, the most harmful first",
      {member<&T::pid>("pid", "process id"), member<&T::process>("process", "process name"),
       member<&T::runtime>("runtime", ".NET version"),
       member<&T::time>("time", "start of the examination"),
       member<&T::duration>("durationMs", "duration of the examination"),
       member<&T::watched>("watchedMs", "time the process was watched"),
       member<&T::snapshots>("snapshots", "number of snapshots of all threads and locks"),
       member<&T::pause>("pauseMs", "time the process was paused"),
       member<&T::lost>("lost", "events that were lost"),
       member<&T::cpus_before>("programCpusBefore", "CPUs the process used before"),
       member<&T::cpus_during>("programCpusDuring", "CPUs the process used while watched"),
       member_unless_empty<&T::core>("core", "path of the core file"),
       member_unless_empty<&T::source>("source", "how threads and locks were read"),
       member<&T::findings>("findings", "findings; the first is the diagnosis"),
       member<&T::examined>("examined", "outcome of each examination"),
       member<&T::notes>("notes", "what could not be seen, and why")});
  return shape;
}

const Shape& shape_of(const Parameter*) {
  static const auto shape =
      describe<Parameter>("FindingParameter", "a threshold of a finding",
                          {member<&Parameter::name>("name", "name of the parameter"),
                           member<&Parameter::value>("default", "default value"),
                           member<&Parameter::meaning>("meaning", "what the parameter decides")});
  return shape;
}

const Shape& shape_of(const FindingAnswer*) {
  using T = FindingAnswer;
  static const auto shape =
      describe<T>("FindingInfo", "a finding that doctor looks for",
                  {member<&T::id>("id", "id of the finding, such as CS1001"),
                   member<&T::name>("name", "name of the finding"),
                   member<&T::description>("description", "what it finds"),
                   member<&T::needs>("needs", "evidence it needs"),
                   member<&T::live>("live", "whether it needs a live process"),
                   member<&T::duration>("durationMs", "minimum time to watch the process"),
                   member<&T::price>("price", "what it costs the process"),
                   member<&T::rights>("rights", "rights it needs"),
                   member<&T::docs>("docs", "file that explains the finding"),
                   member<&T::parameters>("parameters", "thresholds that can be set")});
  return shape;
}

}  // namespace clrscope::doctor
