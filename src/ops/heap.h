// The managed heap of a process, a core or a file: the use case and its text.
//
// Of a process it is read from a frozen copy (twin): the process stands still for milliseconds.
// The expected cost is reported first, and the snapshot is refused where the process has too little
// memory left. If its memory may not be read, the runtime's own events over the diagnostic port
// have the same data, but then the process is paused for a whole collection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/heap/answer.h"
#include "analyze/heap/report.h"
#include "base/document.h"
#include "base/result.h"
#include "model/heap.h"
#include "ops/target.h"

namespace clrscope::ops {

// Words of rooms below that are part of this interface.
using analyze::HeapAnswer;
using analyze::HeapDiffAnswer;
using analyze::HeapObjectAnswer;
using analyze::HeapReport;
using analyze::HeapTypeAnswer;

struct HeapRequest {
  TargetRequest target{};                   // by pid or name
  std::string file{};                       // or this .gcdump, core or trace
  bool force = false;                       // also when the process may have too little memory left
  bool strings = false;                     // count equal strings, which reads them all
  std::uint64_t largest_file = 8ULL << 30;  // of a .gcdump: bytes that are read into memory
};

// What a snapshot will cost the process.
struct HeapPrice {
  HeapSource source = HeapSource::kTwin;  // kTwin or kEvents
  std::chrono::milliseconds least_pause{}, most_pause{};
  std::uint64_t memory = 0;  // bytes that it may take more until the snapshot is read
};

struct HeapWatcher {
  std::function<void(std::string_view process, pid_t pid, const HeapPrice& price)> on_price{};
  std::function<void(std::string_view step)> on_step{};  // "reading objects"
};

// The graph of the snapshot is checked: every index is in range.
Result<HeapSnapshot> take_heap(const HeapRequest& request, const HeapWatcher& watcher);

// By its beginning.
bool is_gcdump_file(const std::string& path);

// A .gcdump; returns its size. `path` "-" is standard output. An old file stays until the new one
// is whole.
Result<std::uint64_t> write_heap(const HeapSnapshot& heap, const std::string& path);
// The default name, or what -o says with its % words replaced.
std::string heap_file_name(const std::string& wanted, const HeapSnapshot& heap);

struct HeapStyle {
  std::size_t rows = 20;  // of each table
  bool dominators = false;
  bool strings = false;
  bool paths = false;    // of a type: of every object too
  std::string target{};  // as it is named in a command: "-p 4312", "FILE"; empty: no next steps
};
// What keeps memory alive comes first, then types and generations.
Document heap_document(const HeapAnswer& heap, const HeapStyle& style);
Document heap_type_document(const HeapTypeAnswer& type, const HeapStyle& style);
Document heap_object_document(const HeapObjectAnswer& object, const HeapStyle& style);
Document heap_diff_document(const HeapDiffAnswer& diff, const HeapStyle& style);

// "Dictionary<String, Order>" of
// "System.Collections.Generic.Dictionary`2[System.String,Shop.Order]".
std::string short_type(std::string_view name);
// "static field Shop.Cart.s_all > List<Order> > Order[] > Order".
std::string path_text(const std::vector<analyze::HeapStep>& steps);

}  // namespace clrscope::ops
