// Records about requests, over any bytes: what the assembler makes of them, as a file has it, and
// as an answer.
//
// Records lie one after the other, as in a ring; a record of kind 0 ends a round of draining. The
// corpus is tests/data/fuzz/requests/.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "analyze/request_document.h"
#include "analyze/request_recording.h"
#include "base/result.h"
#include "collect/agent/request_assembler.h"

namespace {

using namespace clrscope;

void check_tree(const RequestBatch& batch) {
  for (const auto& request : batch.requests) {
    CHECK(request.end >= request.begin);
    CHECK(request.waiting <= request.end - request.begin + std::chrono::microseconds{1});
    CHECK(request.queued <= request.waiting + std::chrono::microseconds{1});
    std::unordered_set<std::uint64_t> known{0};
    for (const auto& span : request.spans) {
      CHECK(known.contains(span.parent));
      CHECK(span.method < batch.methods.size());
      CHECK(span.end >= span.begin);
      known.insert(span.id);
    }
  }
}

// Through a file, everything comes back.
void check_file(const RequestBatch& batch, std::uint64_t sampled) {
  std::string bytes;
  nettrace::TraceInfo info;
  info.ticks_per_second = 1'000'000'000;
  nettrace::Writer writer{info, [&](Bytes more) -> Result<> {
                            bytes += as_text(more);
                            return {};
                          }};
  analyze::RequestEventWriter events{writer, ProcessId{1}};
  CHECK(events.write(batch));
  CHECK(writer.finish());
  analyze::RequestRecording recording;
  nettrace::Reader reader;
  const auto on_batch = [&](const nettrace::Batch& read) { recording.on_batch(reader, read); };
  CHECK(reader.feed(as_bytes(bytes), on_batch));
  CHECK(reader.finish(on_batch));
  recording.end_of_trace(reader);
  const auto profile = recording.profile();
  CHECK(profile.sampled == sampled);
  (void)analyze::requests_document(profile, 10, analyze::WaterfallStyle::kAscii);
  (void)json_text(profile);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  collect::RequestAssembler assembler{
      [](std::uint32_t method) { return method < 8 ? "Shop+<A>d__1.MoveNext" : ""; },
      {.requests = 8, .records_per_request = 64, .records = 256}};
  const collect::TickClock clock{{0, 0}, {2000, 1000}};
  TraceTime now{};
  RequestBatch all;
  std::uint64_t sampled = 0;
  const auto add = [&](RequestBatch batch) {
    check_tree(batch);
    if (!batch.methods.empty()) all.methods = std::move(batch.methods);
    for (auto& request : batch.requests) {
      // A trace begins at 0 here.
      if (request.begin < TraceTime{}) continue;
      sampled += request.sampled ? 1 : 0;
      all.requests.push_back(std::move(request));
    }
  };
  alignas(8) std::uint8_t copy[1024];
  for (std::size_t at = 0; at + 8 <= size;) {
    std::uint16_t header[2];
    std::memcpy(header, data + at, sizeof header);
    const auto bytes = std::clamp<std::size_t>(header[1] & ~7U, 8,
                                               std::min(size - at, sizeof copy) & ~std::size_t{7});
    std::memcpy(copy, data + at, bytes);
    at += bytes;
    if (header[0] != 0) {
      assembler.take(copy, static_cast<std::uint32_t>(bytes));
      continue;
    }
    now += std::chrono::milliseconds{150};
    assembler.end_round(now);
    add(assembler.hand_over(clock));
  }
  assembler.end_round(now);
  assembler.finish();
  add(assembler.hand_over(clock));
  check_file(all, sampled);
  return 0;
}
