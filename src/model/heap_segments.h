// What segments of a heap hold, counted from its objects.
#pragma once

#include <vector>

#include "model/heap.h"

namespace clrscope {

// Sorts the segments by address and counts objects, bytes and free space of each.
void count_objects(const HeapGraph& graph, std::vector<HeapSegment>& segments);

}  // namespace clrscope
