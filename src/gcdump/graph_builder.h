// The graph of a .gcdump file as it lies there, and the heap that it stands for.
// For the files of this room.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "model/heap.h"

namespace clrscope::gcdump {

struct FileType {
  std::string name{};
  std::int32_t size = 0;  // of a node that does not say its own
  std::string module{};   // a path, or the name of a file
};

struct FileGraph {
  std::int32_t root = -1;  // the node that refers to all roots
  std::vector<FileType> types{};
  Bytes places{};     // by node: 4 bytes, where it lies in `nodes`
  Bytes nodes{};      // type, size, children of each node
  Bytes addresses{};  // by node: 8 bytes
  // dotnet-gcdump has several types for objects of one type: "System.Byte[] (Bytes > 10K)".
  bool merge_types = false;
};

struct BuiltGraph {
  HeapGraph graph{};
  std::uint64_t unresolved_edges = 0;  // to nodes that are not described, or that are no objects
};

Result<BuiltGraph> build_graph(const FileGraph& file);

}  // namespace clrscope::gcdump
