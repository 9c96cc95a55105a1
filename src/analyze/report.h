// A report: events in, one answer out, as JSON and as a page of words and tables.
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

#include "base/json.h"
#include "nettrace/reader.h"

namespace clrscope {
class SourceLines;
}

namespace clrscope::analyze {

// What is shown to people. Whoever renders it aligns the columns; a column is right-aligned when
// its title begins with '>'.
struct PageTable {
  std::string title{};  // a line above it, if any
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows{};
  std::string note{};  // a line below it, if any
};
struct Page {
  std::vector<std::string> summary;  // sentences; the first says the most important
  std::vector<PageTable> tables{};
  std::string next{};  // what to do next, if anything
};

struct ReportOptions {
  std::size_t rows = 0;          // of a page's longest table; 0: as many as the report finds fit
  bool messages = true;          // of exceptions: what the program said
  bool inclusive = false;        // methods by what they and their callees took
  SourceLines* lines = nullptr;  // source lines are wanted, and found by it; outlives the report
};

class Report {
 public:
  virtual ~Report() = default;
  // Called with the batches of one trace, then end_of_trace(), then perhaps those of the next.
  virtual void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) = 0;
  virtual void end_of_trace(const nettrace::Reader& reader) = 0;
  // The members of a JSON object; the caller opens and closes it, and adds loss and damage.
  virtual void write_members(JsonWriter& json) const = 0;
  virtual Page page() const = 0;
};

struct ReportKind {
  std::string_view name;
  std::string_view summary;  // one line, for --help
  std::unique_ptr<Report> (*make)(const ReportOptions& options);
  std::string_view alias{};
};
std::span<const ReportKind* const> report_kinds();
const ReportKind* find_report(std::string_view name);  // by name or alias

}  // namespace clrscope::analyze
