#include <numeric>

#include "store/sqlite/chunk.h"
#include "store/sqlite/chunk_blob.h"
#include "store/sqlite/columns.h"

namespace clrscope::store {
namespace {

Failure damaged() { return fail(Errc::kCorrupt, "the CPU samples of a chunk are damaged"); }

}  // namespace

Result<BatchSamples> read_samples(const ChunkHead& head, std::size_t first, std::size_t count,
                                  const ChunkStacks& stacks, Bytes rest) {
  BatchSamples samples;
  const auto begin = head.samples.begin() + static_cast<std::ptrdiff_t>(first);
  const auto wanted =
      std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), std::uint64_t{0});
  if (wanted == 0) return samples;
  const auto before = std::accumulate(head.samples.begin(), begin, std::uint64_t{0});
  if (!stacks.holds(before, wanted)) return damaged();
  const auto blob = TRY(unpack_blob(rest));
  ByteReader all{as_bytes(blob.plain)};
  std::vector<ByteReader> columns;
  for (std::size_t i = 0; i < kCpuColumns; ++i) columns.emplace_back(all.take(all.read_varuint()));
  if (!all.ok() || !all.at_end()) return damaged();
  for (auto& column : columns)
    for (auto skipped = before; skipped > 0 && column.ok(); --skipped) (void)column.read_varuint();
  auto stack = before - stacks.first;
  for (std::size_t at = first; at < first + count; ++at) {
    std::uint64_t time = 0;
    std::uint32_t thread = 0;
    for (std::uint32_t i = 0; i < head.samples[at]; ++i, ++stack) {
      time += read_difference(columns[kCpuTime]);
      thread += static_cast<std::uint32_t>(read_difference(columns[kCpuThread]));
      samples.time.push_back(time);
      samples.thread.push_back(thread);
      samples.span.push_back(static_cast<std::uint32_t>(columns[kCpuSpan].read_varuint()));
      if (samples.span.back() > head.spans[at]) return damaged();
      samples.stack.push_back(stacks.path[stack]);
      samples.weight.push_back(stacks.self(stack));
    }
  }
  for (const auto& column : columns)
    if (!column.ok()) return damaged();
  return samples;
}

}  // namespace clrscope::store
