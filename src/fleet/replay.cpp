#include "fleet/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "uplink/frame.h"

namespace clrscope::fleet {
namespace {

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ value >> 32U) * 0xd6e8feb86659fd93U;
  return (value ^ value >> 32U) * 0xd6e8feb86659fd93U;
}

std::string bytes_of(std::uint64_t first, std::uint64_t second) {
  std::string bytes(16, '\0');
  for (std::size_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<char>(first >> (8 * i));
    bytes[8 + i] = static_cast<char>(second >> (8 * i));
  }
  return bytes;
}

}  // namespace

Result<ReplayedHosts> ReplayedHosts::read(std::string_view frames, std::size_t hosts,
                                          std::uint64_t seed) {
  ReplayedHosts replayed;
  uplink::FrameReader reader;
  reader.feed(frames);
  while (const auto frame = reader.next()) {
    if (frame->kind == uplink::FrameKind::kEnd) break;
    if (frame->kind != uplink::FrameKind::kBatch) continue;
    v1::RequestBatch batch;
    if (!batch.ParseFromString(frame->payload))
      return fail(Errc::kCorrupt, "a frame does not hold a RequestBatch");
    replayed.batches_.push_back(std::move(batch));
  }
  if (replayed.batches_.empty())
    return fail(Errc::kCorrupt, "there is no batch in the recorded frames")
        .hint("record them with: clrscope requests … --to file:FRAMES");
  const auto [first, last] = std::minmax_element(
      replayed.batches_.begin(), replayed.batches_.end(),
      [](const auto& a, const auto& b) { return a.created_unix_ns() < b.created_unix_ns(); });
  const auto count = static_cast<std::int64_t>(replayed.batches_.size());
  const auto between =
      static_cast<std::int64_t>(last->created_unix_ns() - first->created_unix_ns());
  // The last batch takes as long as the others; hosts send about once a second.
  const std::chrono::nanoseconds measured{count > 1 ? between / (count - 1) * count : 0};
  replayed.length_ = std::max<std::chrono::nanoseconds>(measured, std::chrono::seconds{1});
  replayed.counts_.resize(hosts);
  replayed.seed_ = mix(seed + 1);
  return replayed;
}

std::string ReplayedHosts::next(WallTime now) {
  const auto host = next_host();
  const auto turn = sent_ / counts_.size();
  ++sent_;
  auto batch = batches_[(turn + host) % batches_.size()];  // each begins elsewhere
  auto& source = *batch.mutable_source();
  source.set_host(fmt::format("host-{:05}", host));
  source.set_instance(bytes_of(seed_, mix(seed_ + host)));
  const auto created = static_cast<std::uint64_t>(now.time_since_epoch().count());
  const auto shift = created - batch.created_unix_ns();  // may wrap: so does the sum
  batch.set_created_unix_ns(created);
  auto& counts = counts_[host];
  const auto salt = mix(seed_ ^ mix(host * 0x10001 + turn));
  for (auto& request : *batch.mutable_requests()) {
    request.set_begin_unix_ns(request.begin_unix_ns() + shift);
    for (std::size_t i = 0; i < request.trace_id().size(); ++i)
      (*request.mutable_trace_id())[i] =
          static_cast<char>(request.trace_id()[i] ^ static_cast<char>(salt >> (8 * (i % 8))));
    counts.spans += static_cast<std::uint64_t>(request.spans().method_size());
    counts.samples += static_cast<std::uint64_t>(request.samples().weight_ns_size());
  }
  counts.requests += static_cast<std::uint64_t>(batch.requests_size());
  batch.set_written_requests(counts.requests);
  batch.set_written_spans(counts.spans);
  batch.set_written_samples(counts.samples);
  return batch.SerializeAsString();
}

}  // namespace clrscope::fleet
