// Batches of an invented shop, for tests and benchmarks: the same numbers give the same batch.
#pragma once

#include <fmt/format.h>

#include <random>

#include "store/batch.h"

namespace clrscope::store {

struct TestBatch {
  std::string host = "web-1";
  std::string service = "shop";
  std::string version = "1.0";
  std::uint64_t number = 0;  // of the batches of this host
  std::size_t requests = 10;
  std::size_t spans = 8;  // of each request
  std::int64_t begin = 1'800'000'000'000'000'000;
  std::int64_t step = 1'000'000;  // between requests
  std::size_t routes = 4;
  std::size_t samples = 0;  // CPU samples of each request, in turn in its spans
};

inline TraceId test_trace(std::uint64_t batch, std::size_t request) {
  TraceId id{};
  std::mt19937_64 random{batch * 1'000'003 + request};
  for (std::size_t i = 0; i < id.size(); i += 8) {
    const auto word = random();
    for (std::size_t k = 0; k < 8; ++k) id[i + k] = static_cast<std::uint8_t>(word >> (8 * k));
  }
  return id;
}

inline Batch make_batch(const TestBatch& wanted) {
  std::mt19937_64 random{wanted.number + 17};
  Batch batch;
  batch.id = fmt::format("{}-{}-{:08}", wanted.service, wanted.host, wanted.number);
  batch.source = {.host = wanted.host,
                  .service = wanted.service,
                  .version = wanted.version,
                  .instance = (wanted.host + "-instance").substr(0, 16),
                  .pid = 7,
                  .runtime = ".NET 10.0.0",
                  .relay_version = "0.1.0"};
  batch.created = wanted.begin;
  batch.names = {"GET"};
  for (std::size_t i = 0; i < wanted.routes; ++i)
    batch.names.push_back(fmt::format("/route/{}", i));
  const auto methods = static_cast<std::uint32_t>(batch.names.size());
  constexpr std::uint32_t kMethods = 200;
  for (std::uint32_t i = 0; i < kMethods; ++i)
    batch.names.push_back(fmt::format("Shop.Namespace{}.Class{}.Method{}Async", i % 7, i % 31, i));
  constexpr std::uint32_t kStacks = 12;
  for (std::uint32_t i = 0; wanted.samples > 0 && i < kStacks; ++i) {
    batch.stacks.parent.push_back(i / 2);
    batch.stacks.method.push_back(methods + 1 + i);
  }
  for (std::size_t r = 0; r < wanted.requests; ++r) {
    BatchRequest request{.trace_id = test_trace(wanted.number, r),
                         .begin = wanted.begin + static_cast<std::int64_t>(r) * wanted.step,
                         .method = 1,
                         .route = static_cast<std::uint32_t>(2 + r % wanted.routes),
                         .spans = static_cast<std::uint32_t>(wanted.spans),
                         .status = static_cast<std::uint16_t>(r % 50 == 49 ? 500 : 200),
                         .flags = kSampled};
    auto& spans = batch.spans;
    const auto first = spans.method.size();
    // A tree: each call is made by the one before it or by one further up.
    std::uint64_t time = 0;
    for (std::uint32_t i = 0; i < wanted.spans; ++i) {
      const auto parent = i == 0 ? 0 : (random() % 3 == 0 ? (i + 1) / 2 : i);
      const auto self = 1000 + random() % 50'000;
      const auto caller = parent == 0 ? static_cast<std::uint32_t>(r % wanted.routes)
                                      : spans.method[first + parent - 1];
      spans.method.push_back(methods + 1 + (caller * 7 + i % 3) % kMethods);
      spans.parent.push_back(parent);
      spans.begin.push_back(time);
      spans.duration.push_back(self);
      spans.self.push_back(self);
      spans.queued.push_back(0);
      spans.thread.push_back(100 + static_cast<std::uint32_t>(r % 8));
      spans.kind.push_back(0);
      spans.steps.push_back(0);
      time += self;
    }
    for (std::size_t i = wanted.spans; i-- > 1;) {
      const auto parent = first + spans.parent[first + i] - 1;
      if (spans.parent[first + i] != 0) spans.duration[parent] += spans.duration[first + i];
    }
    request.duration = request.running = time;
    request.samples = static_cast<std::uint32_t>(wanted.samples);
    for (std::size_t i = 0; i < wanted.samples; ++i) {
      batch.samples.time.push_back(i * 1000);
      batch.samples.weight.push_back(10'000'000 + i);
      batch.samples.stack.push_back(static_cast<std::uint32_t>(1 + (r + i) % kStacks));
      batch.samples.span.push_back(static_cast<std::uint32_t>(i % (wanted.spans + 1)));
      batch.samples.thread.push_back(100 + static_cast<std::uint32_t>(r % 8));
    }
    batch.requests.push_back(request);
  }
  batch.written_requests = (wanted.number + 1) * wanted.requests;
  batch.written_spans = (wanted.number + 1) * wanted.requests * wanted.spans;
  batch.written_samples = (wanted.number + 1) * wanted.requests * wanted.samples;
  batch.recording = {.seen = 2 * wanted.requests, .sampled = wanted.requests};
  return batch;
}

}  // namespace clrscope::store
