// Batches from any gRPC client: what passes the checks must be storable, and come back as it was.
//
// The corpus are serialized RequestBatch messages; tests/data/fuzz/fleet_batch/.
#include <cstdint>

#include "base/bytes.h"
#include "fleet/convert.h"
#include "store/sqlite/chunk.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace clrscope;
  fleet::silence_protobuf();
  (void)fleet::outline_of(as_text(Bytes{data, size}));
  fleet::v1::BatchEnvelope envelope;
  envelope.set_id("fuzz-batch");
  if (!envelope.mutable_batch()->ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto batch = fleet::batch_of(envelope, 1 << 20);
  if (!batch) return 0;
  store::ChunkBuilder builder;
  std::size_t span = 0, step = 0;
  for (const auto& request : batch->requests) {
    const std::vector<std::uint32_t> paths(request.spans, 1);
    builder.add(request, 1, request.begin / store::kBucket, batch->spans, span, step, paths);
    span += request.spans, step += request.steps;
  }
  const auto blobs = builder.finish();
  const auto head = store::read_head(as_bytes(blobs.head));
  const auto stacks = store::read_stacks(as_bytes(blobs.stacks));
  CHECK(head && stacks && head->size() == batch->requests.size());
  span = 0;
  for (std::size_t r = 0; r < batch->requests.size(); ++r) {
    const auto spans = store::read_spans(*head, r, *stacks, as_bytes(blobs.rest));
    CHECK(spans && spans->size() == batch->requests[r].spans);
    for (const auto& one : *spans) {
      CHECK(one.begin == batch->spans.begin[span] && one.self == batch->spans.self[span]);
      CHECK(one.duration == batch->spans.duration[span] && one.parent == batch->spans.parent[span]);
      CHECK(one.thread == batch->spans.thread[span] && one.kind == batch->spans.kind[span]);
      CHECK(one.steps.size() == batch->spans.steps[span]);
      ++span;
    }
  }
  return 0;
}
