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

struct Caller {
  Place place{};
  OutcomeTimes times{};
};
const Shape& shape_of(const Caller*);

struct CallTimes {
  std::string what{};
  OutcomeTimes times{};
  std::vector<Caller> callers{};
};
const Shape& shape_of(const CallTimes*);

struct CallsAnswer {
  OutcomeTimes times{};
  std::chrono::nanoseconds duration{};
  std::vector<CallTimes> calls{};
};
const Shape& shape_of(const CallsAnswer*);

class CallsReport : public ReportOf<CallsAnswer> {
 public:
  CallsReport(const ReportOptions& options, const CallWords& words, std::string_view provider,
              ReadCall read)
      : options_(options), words_(words), calls_(provider, read) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    calls_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { calls_.end_of_trace(reader); }

  CallsAnswer result() const override;
  Document page() const override;

 private:
  ReportOptions options_;
  const CallWords& words_;
  Calls calls_;
};

}  // namespace clrscope::analyze
