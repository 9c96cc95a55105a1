// Between the messages of proto/ and the batches and answers of the store.
#pragma once

#include <clrscope/fleet/v1/ingest.pb.h>
#include <clrscope/fleet/v1/query.pb.h>
#include "base/result.h"
#include "store/answers.h"
#include "store/batch.h"

namespace clrscope::fleet {

// Bad input is answered to whoever sent it, and not written to our log by the library.
void silence_protobuf();

// Checked: what it returns may be stored. `max_bytes`: of the uncompressed batch.
Result<store::Batch> batch_of(const v1::BatchEnvelope& envelope, std::uint64_t max_bytes);

// Of a batch as it is sent, for the relay: whose it is and how much it holds.
struct BatchOutline {
  std::uint64_t requests = 0;
  std::uint64_t spans = 0;
  std::uint64_t samples = 0;
  std::uint64_t written_requests = 0;
  std::uint64_t written_spans = 0;
};
Result<BatchOutline> outline_of(std::string_view serialized_batch);

store::TimeRange range_of(const v1::TimeRange& range);
store::Selection selection_of(const v1::Selection& selection);
Result<TraceId> trace_id_of(std::string_view hex);

void fill(const store::ServiceSummary& from, v1::ServiceSummary& to);
void fill(const store::RouteSummary& from, v1::RouteSummary& to);
void fill(const store::Flame& from, v1::FlameAnswer& to);
void fill(const store::StoredRequest& from, v1::StoredRequest& to);
void fill(const store::Series& from, v1::SeriesGroup& to);
void fill(const store::HostSummary& from, v1::HostSummary& to);
void fill(const store::Latency& from, v1::Latency& to);

}  // namespace clrscope::fleet
