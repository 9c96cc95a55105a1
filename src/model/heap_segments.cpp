#include "model/heap_segments.h"

#include <algorithm>

namespace clrscope {

void count_objects(const HeapGraph& graph, std::vector<HeapSegment>& segments) {
  std::ranges::sort(segments, {}, &HeapSegment::start);
  std::uint32_t object = 0;
  for (auto& segment : segments) {
    while (object < graph.objects() && graph.addresses[object] < segment.start) ++object;
    auto end_of_last = segment.start;
    for (; object < graph.objects() && graph.addresses[object] < segment.end; ++object) {
      const auto address = graph.addresses[object];
      if (address > end_of_last)
        segment.largest_free = std::max(segment.largest_free, address - end_of_last);
      const auto size = graph.size_of(object);
      ++segment.objects;
      segment.object_bytes += size;
      end_of_last = size > UINT64_MAX - address ? UINT64_MAX : address + size;
    }
    if (segment.end > end_of_last)
      segment.largest_free = std::max(segment.largest_free, segment.end - end_of_last);
    const auto used = segment.end - segment.start;
    segment.free_bytes = used > segment.object_bytes ? used - segment.object_bytes : 0;
  }
}

}  // namespace clrscope
