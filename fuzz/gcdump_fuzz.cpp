// The reader of .gcdump files, over bytes that claim to be one; what it reads can be written and
// read again.
//
// The corpus: clrscope.gcdump is the heap of src/gcdump/test_heap.h; the others were made by hand.
#include <cstdint>
#include <string>

#include "gcdump/gcdump.h"

namespace {

using namespace clrscope;

void check(const HeapGraph& graph) {
  const auto objects = graph.objects();
  CHECK(graph.addresses.size() == objects && graph.sizes.size() == objects);
  CHECK(graph.first_edge.size() == std::size_t{objects} + 1);
  CHECK(graph.first_edge.back() == graph.edges.size());
  for (const auto edge : graph.edges) CHECK(edge < objects);
  for (const auto& root : graph.roots)
    CHECK(root.object < objects && root.name < graph.root_names.size());
  for (std::uint32_t i = 0; i < objects; ++i) {
    CHECK(graph.type_of[i] < graph.types.size());
    CHECK(i == 0 || graph.addresses[i - 1] <= graph.addresses[i]);
    (void)graph.size_of(i);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes{data, size};
  (void)gcdump::is_gcdump(bytes);
  const auto heap = gcdump::read_gcdump(bytes);
  if (!heap) return 0;
  check(heap->graph);
  std::string written;
  CHECK(gcdump::write_gcdump(*heap, [&](Bytes piece) -> Result<> {
    written += as_text(piece);
    return {};
  }));
  const auto again = gcdump::read_gcdump(as_bytes(written));
  CHECK(again);
  check(again->graph);
  return 0;
}
