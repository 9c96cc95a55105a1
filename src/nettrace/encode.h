// The pieces of a V6 trace as bytes. No state: the writer decides what is written when.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "nettrace/framing.h"
#include "nettrace/reader.h"

namespace clrscope::nettrace {

void put_text(ByteWriter& out, std::string_view text);
void put_wall_time(ByteWriter& out, WallTime time);

// Everything before the first block, and the trace block.
constexpr std::size_t kHeadSize = 20;
void put_trace_header(ByteWriter& out, const TraceInfo& info);
void put_block(ByteWriter& out, BlockKind kind, Bytes content);
// For the blocks from `begin` on: see BlockChecks.
void put_check(ByteWriter& out, std::size_t begin);
// What could not be read of the trace that is converted; nothing when all could.
void put_source(ByteWriter& out, const Summary& read, std::span<const Damage> damage);

// A type as a metadata row says it, after the number: the same for the same type. Fields or texts
// that do not fit into a row are left out.
std::string encode_type(const EventType& type);
void put_metadata_row(ByteWriter& out, std::uint32_t number, std::string_view encoded_type);

void put_thread_row(ByteWriter& out, std::uint64_t index, ProcessId process, ThreadId thread,
                    std::string_view name);

// Empty when the event has no labels at all.
void encode_labels(ByteWriter& out, const Event& event);

}  // namespace clrscope::nettrace
