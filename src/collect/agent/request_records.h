// For tests: records about requests, as the agent writes them.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "wire/requests.h"

namespace clrscope::collect {

// Times are ticks; with kTickClock a tick is a nanosecond.
struct MadeRecord {
  std::vector<std::uint64_t> words{};  // aligned as records are

  const void* bytes() const { return words.data(); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(words.size() * 8); }
};

inline MadeRecord made(wire::RecordKind kind, void* fixed, std::size_t bytes,
                       std::string_view text = {}) {
  MadeRecord out;
  out.words.resize((bytes + text.size() + 7) / 8);
  auto* header = static_cast<wire::RecordHeader*>(fixed);
  header->kind = kind;
  header->bytes = static_cast<std::uint16_t>(out.words.size() * 8);
  std::memcpy(out.words.data(), fixed, bytes);
  if (!text.empty())
    std::memcpy(reinterpret_cast<char*>(out.words.data()) + bytes, text.data(), text.size());
  return out;
}

struct MadeSpan {
  std::uint64_t begin = 0, end = 0, span = 0, parent = 0;
  std::uint32_t method = 0, flags = 0, thread = 1, request = 1;
};
inline MadeRecord span_record(const MadeSpan& from) {
  wire::SpanRecord record{};
  record.header.thread = from.thread;
  record.header.time = from.begin;
  record.end = from.end;
  record.span = from.span;
  record.parent = from.parent;
  record.request = from.request;
  record.method = from.method;
  record.flags = from.flags;
  return made(wire::RecordKind::kSpan, &record, sizeof record);
}

inline MadeRecord flow_record(std::uint64_t begin, std::uint64_t end, std::uint32_t thread,
                              std::uint32_t request = 1) {
  wire::FlowRecord record{};
  record.header.thread = thread;
  record.header.time = begin;
  record.end = end;
  record.request = request;
  return made(wire::RecordKind::kFlow, &record, sizeof record);
}

inline MadeRecord goes_on_record(std::uint64_t at, std::uint32_t thread) {
  return flow_record(at, at, thread);
}

inline MadeRecord queued_record(std::uint64_t at, std::uint64_t span, std::uint32_t request = 1) {
  wire::QueuedRecord record{};
  record.header.time = at;
  record.span = span;
  record.request = request;
  return made(wire::RecordKind::kQueued, &record, sizeof record);
}

inline MadeRecord begin_record(std::uint64_t at, std::uint64_t root, std::uint32_t request = 1) {
  wire::RequestBegin record{};
  record.header.time = at;
  record.root = root;
  record.request = request;
  return made(wire::RecordKind::kRequestBegin, &record, sizeof record);
}

struct MadeEnd {
  std::uint64_t begin = 0, end = 0, root = 0;
  std::uint32_t request = 1;
  std::uint16_t status = 200;
  std::uint16_t flags = 0;
  std::string_view method = "GET", route = "/orders/{id}", path = "/orders/17", error = "";
};
inline MadeRecord end_record(const MadeEnd& from) {
  wire::RequestEnd record{};
  record.header.time = from.end;
  record.begin = from.begin;
  record.root = from.root;
  record.request = from.request;
  record.status = from.status;
  record.flags = from.flags;
  record.trace_id[0] = 0xab;
  record.bytes_in = ~std::uint64_t{0};
  record.bytes_out = 11;
  record.method_bytes = static_cast<std::uint16_t>(from.method.size());
  record.route_bytes = static_cast<std::uint16_t>(from.route.size());
  record.path_bytes = static_cast<std::uint16_t>(from.path.size());
  record.error_bytes = static_cast<std::uint16_t>(from.error.size());
  std::string text;
  text.append(from.method).append(from.route).append(from.path).append(from.error);
  return made(wire::RecordKind::kRequestEnd, &record, sizeof record, text);
}

}  // namespace clrscope::collect
