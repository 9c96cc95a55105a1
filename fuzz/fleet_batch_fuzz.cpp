// Batches from any gRPC client: what passes the checks must be storable, and come back as it was.
//
// The corpus are serialized RequestBatch messages; tests/data/fuzz/fleet_batch/.
#include <cstdint>

#include "base/bytes.h"
#include "fleet/convert.h"
#include "store/sqlite/chunk_sums.h"

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
  std::size_t span = 0, step = 0, sample = 0;
  for (const auto& request : batch->requests) {
    const std::vector<std::uint32_t> paths(request.spans, 1);
    const std::vector<std::uint32_t> sample_paths(request.samples, 1);
    builder.add({.request = request,
                 .source = 1,
                 .spans = batch->spans,
                 .span = span,
                 .step = step,
                 .paths = paths,
                 .samples = batch->samples,
                 .sample = sample,
                 .sample_paths = sample_paths},
                request.begin / store::kBucket);
    span += request.spans, step += request.steps, sample += request.samples;
  }
  const auto blobs = builder.finish(1);
  const auto head = store::read_head(as_bytes(blobs.head));
  const auto stacks = store::read_stacks(as_bytes(blobs.stacks));
  CHECK(head && stacks && head->size() == batch->requests.size());
  CHECK(blobs.sums.empty() || store::ChunkSums::read(as_bytes(blobs.sums)));
  const auto all = store::read_spans(*head, 0, head->size(), *stacks, as_bytes(blobs.rest));
  CHECK(all && all->parent == batch->spans.parent && all->kind == batch->spans.kind);
  CHECK(all->begin == batch->spans.begin && all->duration == batch->spans.duration);
  CHECK(all->self == batch->spans.self && all->queued == batch->spans.queued);
  CHECK(all->thread == batch->spans.thread && all->steps == batch->spans.steps);
  CHECK(all->step_begin == batch->spans.step_begin);
  CHECK(all->step_duration == batch->spans.step_duration);
  CHECK(all->step_thread == batch->spans.step_thread);
  if (!batch->samples.time.empty()) {
    const auto cpu = store::read_stacks(as_bytes(blobs.cpu_stacks));
    CHECK(cpu);
    const auto samples =
        store::read_samples(*head, 0, head->size(), *cpu, as_bytes(blobs.cpu_rest));
    CHECK(samples && samples->time == batch->samples.time);
    CHECK(samples->weight == batch->samples.weight && samples->span == batch->samples.span);
    CHECK(samples->thread == batch->samples.thread);
  }
  for (std::size_t r = 0; r < head->size(); ++r) {
    const auto one = store::read_spans(*head, r, 1, *stacks, as_bytes(blobs.rest));
    CHECK(one && one->method.size() == batch->requests[r].spans);
  }
  return 0;
}
