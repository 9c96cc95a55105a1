// The shapes of the items of every live topic.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "analyze/collections.h"
#include "base/shape.h"
#include "live/items.h"
#include "nettrace/event_json.h"

namespace clrscope::live {

using nettrace::EventLine;

struct GcItem {
  WallTime time{};
  std::uint32_t number = 0, generation = 0;
  std::string reason{}, type{};
  std::chrono::nanoseconds pause{}, longest_pause{}, duration{};
  std::optional<analyze::HeapSizes> heap_after{};
};
const Shape& shape_of(const GcItem*);

struct ExceptionItem {
  WallTime time{};
  std::string type{}, message{}, hresult{};
  ThreadId thread{};
  std::uint64_t number = 0;
};
const Shape& shape_of(const ExceptionItem*);

struct ContentionItem {
  WallTime time{};
  ThreadId thread{};
  std::chrono::nanoseconds waited{};
  std::optional<std::uint64_t> owner{};
  std::string lock{};
};
const Shape& shape_of(const ContentionItem*);

struct JitItem {
  WallTime time{};
  std::string method{}, tier{};
  std::uint64_t native_bytes = 0;
  std::optional<std::uint64_t> il_bytes{};
  std::optional<std::chrono::nanoseconds> jit{};
};
const Shape& shape_of(const JitItem*);

// How many workers there are, or how the pool changed their number.
struct ThreadPoolItem {
  WallTime time{};
  std::optional<std::uint32_t> workers{};
  std::optional<std::uint32_t> threads{};
  std::string reason{};
  std::optional<double> throughput{};
};
const Shape& shape_of(const ThreadPoolItem*);

// A thread that started.
struct ThreadItem {
  WallTime time{};
  ThreadId thread{};
};
const Shape& shape_of(const ThreadItem*);

// In place of an item: some are missing here.
struct LiveGap {
  std::optional<std::uint64_t> dropped{};
  std::optional<std::uint64_t> left_out{};
};
const Shape& shape_of(const LiveGap*);

}  // namespace clrscope::live
