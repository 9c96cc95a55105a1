// What the reports on database commands, HTTP requests and look-ups of names share: the same
// numbers under other words.
#pragma once

#include "analyze/calls.h"
#include "analyze/report.h"

namespace clrscope::analyze {

struct CallWords {
  std::string_view noun;    // "database command"
  std::string_view column;  // "COMMAND"
  std::string_view next;    // how they are recorded
};

class CallsReport : public Report {
 public:
  CallsReport(const ReportOptions& options, const CallWords& words, std::string_view provider,
              ReadCall read)
      : options_(options), words_(words), calls_(provider, read) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    calls_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { calls_.end_of_trace(reader); }

  void write_members(JsonWriter& json) const override;
  Page page() const override;

 private:
  ReportOptions options_;
  const CallWords& words_;
  Calls calls_;
};

}  // namespace clrscope::analyze
