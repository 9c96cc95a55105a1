// The doctor's answers in JSON: one examination, and the list of all findings.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"
#include "doctor/examination.h"

namespace clrscope::doctor {

struct ObjectAnswer {
  std::string address{};
  std::string type{};
  std::string role{};
};
const Shape& shape_of(const ObjectAnswer*);

const Shape& shape_of(const ShownThread*);
const Shape& shape_of(const ShownNumber*);

struct EvidenceAnswer {
  std::vector<ShownThread> threads{};
  std::vector<ObjectAnswer> objects{};
  std::vector<ShownNumber> numbers{};
  std::vector<std::string> details{};
};
const Shape& shape_of(const EvidenceAnswer*);

struct ReportAnswer {
  std::string_view id{};
  std::string title{};
  Severity severity = Severity::kInfo;
  Confidence confidence = Confidence::kCertain;
  std::string summary{};
  EvidenceAnswer evidence{};
  std::string advice{};
  std::vector<Remedy> next{};
  std::string docs{};
  std::string_view because_of{};
  std::string_view part_of{};
};
const Shape& shape_of(const ReportAnswer*);
ReportAnswer answer_of(const Report& report);

struct ExaminedAnswer {
  std::string_view id{};
  std::string_view name{};
  Outcome outcome = Outcome::kNothing;
  std::string reason{};
};
const Shape& shape_of(const ExaminedAnswer*);

struct ExaminationAnswer {
  pid_t pid = 0;
  std::string process{};
  std::string runtime{};
  WallTime time{};
  std::chrono::nanoseconds duration{};
  std::chrono::nanoseconds watched{};
  std::size_t snapshots = 0;
  std::chrono::nanoseconds pause{};
  std::uint64_t lost = 0;
  std::optional<double> cpus_before{};
  std::optional<double> cpus_during{};
  std::string core{};
  inspect::SnapshotSource source = inspect::SnapshotSource::kNone;
  std::vector<ReportAnswer> findings{};
  std::vector<ExaminedAnswer> examined{};
  std::vector<std::string> notes{};
};
const Shape& shape_of(const ExaminationAnswer*);
ExaminationAnswer answer_of(const Examination& examination);

const Shape& shape_of(const Parameter*);

// One of the registry.
struct FindingAnswer {
  std::string_view id{};
  std::string_view name{};
  std::string_view description{};
  EvidenceKind needs = EvidenceKind::kProcess;
  bool live = false;
  std::chrono::nanoseconds duration{};
  std::string_view price{};
  std::string_view rights{};
  std::string docs{};
  std::vector<Parameter> parameters{};
};
const Shape& shape_of(const FindingAnswer*);
FindingAnswer answer_of(const Finding& finding);

}  // namespace clrscope::doctor
