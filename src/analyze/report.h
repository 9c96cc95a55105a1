// A report: events in, one answer out: a described struct, and a page of words and tables.
//
// Each kind is one file in reports/, listed in reports.inc. A report reads one trace after the
// other in one pass each; what it keeps grows with what is distinct (stacks, types, collections),
// never with the number of events alike. One report belongs to one thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/document.h"
#include "base/shape.h"
#include "nettrace/reader.h"
#include "symbols/line_at.h"

namespace clrscope {
class SourceLines;
}

namespace clrscope::analyze {

// What reports and the doctor read.
using TraceReader = nettrace::Reader;
using TraceBatch = nettrace::Batch;

struct ReportOptions {
  std::size_t rows = 0;          // of a page's longest table; 0: as many as the report finds fit
  bool messages = true;          // of exceptions: what the program said
  bool inclusive = false;        // methods by what they and their callees took
  SourceLines* lines = nullptr;  // source lines are wanted, and found by it; outlives the report
  LineAt line_at{};              // of a process that runs: asked about the places that are shown
};

class Report {
 public:
  virtual ~Report() = default;
  // Called with the batches of one trace, then end_of_trace(), then perhaps those of the next.
  virtual void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) = 0;
  virtual void end_of_trace(const nettrace::Reader& reader) = 0;
  // The members of a JSON object; the caller opens and closes it, and adds loss and damage.
  virtual void write_members(JsonWriter& json) const = 0;
  virtual Document page() const = 0;
};

// A report whose answer is a T. Ask for it when all traces have been read.
template <Described T>
class ReportOf : public Report {
 public:
  using Result = T;
  virtual T result() const = 0;
  void write_members(JsonWriter& json) const final { clrscope::write_members(json, result()); }
};

struct ReportKind {
  std::string_view name;
  std::string_view summary;  // one line, for --help
  std::unique_ptr<Report> (*make)(const ReportOptions& options);
  const Shape& (*shape)();  // of its answer
  std::string_view alias{};
};
template <class R>
std::unique_ptr<Report> make_report_of(const ReportOptions& options) {
  return std::make_unique<R>(options);
}
// For a class with its answer's type as Result and a constructor that takes the options.
template <class R>
constexpr ReportKind report_kind(std::string_view name, std::string_view summary) {
  return {name, summary, make_report_of<R>, shape_for<typename R::Result>};
}
std::span<const ReportKind* const> report_kinds();
const ReportKind* find_report(std::string_view name);  // by name or alias

}  // namespace clrscope::analyze
