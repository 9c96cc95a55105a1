// HTTP requests that were served, with the spans of their methods: of clrscope requests -o.
#include <optional>

#include "analyze/report.h"
#include "analyze/request_document.h"
#include "analyze/request_recording.h"
#include "analyze/words.h"

namespace clrscope::analyze {
namespace {

constexpr std::size_t kRows = 30;

// The profile of the recording. What is missing has another name here: every report says by itself
// which events of its file were lost.
struct RequestsReportAnswer : RequestProfile {};
const Shape& shape_of(const RequestsReportAnswer*) {
  static const auto shape = [] {
    const auto& profile = shape_for<RequestProfile>();
    std::vector<Member> members{profile.members().begin(), profile.members().end()};
    for (auto& one : members)
      if (one.name == "lost") one.name = "losses";
    return Shape{"RequestsReport", profile.meaning(), std::move(members)};
  }();
  return shape;
}

class RequestsReport final : public ReportOf<RequestsReportAnswer> {
 public:
  explicit RequestsReport(const ReportOptions& options) : options_(options) {}

  void on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) override {
    recording_.on_batch(reader, batch);
  }
  void end_of_trace(const nettrace::Reader& reader) override { recording_.end_of_trace(reader); }
  RequestsReportAnswer result() const override { return {recording_.profile()}; }

  Document page() const override {
    const auto profile = recording_.profile();
    if (profile.seen == 0)
      return {.summary = {"This trace has no profiled requests."},
              .next = "clrscope requests -p PID --include PATTERN -o FILE.nettrace"};
    return requests_document(profile, options_.rows > 0 ? options_.rows : kRows,
                             WaterfallStyle::kUnicode);
  }

 private:
  ReportOptions options_;
  RequestRecording recording_;
};

}  // namespace

extern const ReportKind requests_report = report_kind<RequestsReport>(
    "requests", "HTTP requests served, with spans of methods (of clrscope requests -o)");

}  // namespace clrscope::analyze
