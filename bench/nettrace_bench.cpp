// How fast traces are read and converted, in MB per second of one core's time, on a recorded trace
// whose blocks are repeated until it is large.
//
//   nettrace_bench TRACE [MEGABYTES [FILE]]     FILE: also writes the large trace there
//
// One line per number: name, value, unit. bench/nettrace_bench.py puts TraceEvent beside it.
#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "base/decompress.h"
#include "nettrace/convert.h"
#include "nettrace/framing.h"
#include "nettrace/payload.h"
#include "nettrace/payload_text.h"
#include "nettrace/reader.h"

using namespace clrscope;
using namespace clrscope::nettrace;

namespace {

[[noreturn]] void give_up(const std::string& what) {
  fmt::print(stderr, "nettrace_bench: {}\n", what);
  std::exit(2);
}

std::string load(const char* path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) give_up(fmt::format("cannot open {}", path));
  const std::string raw{std::istreambuf_iterator<char>{file}, {}};
  std::string out;
  Decompressor decompressor;
  const auto append = [&](Bytes bytes) -> Result<> {
    out += as_text(bytes);
    return {};
  };
  if (!decompressor.feed(as_bytes(raw), append) || !decompressor.finish(append))
    give_up(fmt::format("{} cannot be decompressed", path));
  return out;
}

// Blocks are aligned to their offset in the file, so each is put together anew.
void put_object(ByteWriter& out, Bytes header_with_size, Bytes content) {
  out.put(header_with_size);
  while (out.size() % 4 != 0) out.write(std::uint8_t{0});
  out.put(content);
  out.write(std::uint8_t{6});
}

// A V4 trace whose events, stacks and sequence points come again and again.
std::vector<std::uint8_t> repeated(const std::string& trace, std::size_t megabytes) {
  constexpr std::size_t kBegin = 8 + 24;
  const auto in = as_bytes(trace);
  ByteWriter out;
  out.put(in.first(kBegin));
  std::vector<std::pair<Bytes, Bytes>> blocks;  // header up to the size, content
  for (std::size_t at = kBegin;;) {
    const auto frame = next_object(in.subspan(at), at, false);
    if (frame.status != Frame::Status::kBlock) give_up("the trace is damaged");
    if (frame.kind == BlockKind::kEnd) break;
    const auto content = in.subspan(at + frame.content_begin, frame.content_size);
    const auto name = ByteReader{in.subspan(at + 11)}.read<std::uint32_t>();
    if (frame.kind == BlockKind::kTrace)
      out.put(in.subspan(at, frame.size));
    else if (frame.kind == BlockKind::kMetadata)
      put_object(out, in.subspan(at, 16 + name + 4), content);  // once: TraceEvent wants it so
    else
      blocks.emplace_back(in.subspan(at, 16 + name + 4), content);
    at += frame.size;
  }
  while (out.size() < megabytes << 20)
    for (const auto& [header, content] : blocks) put_object(out, header, content);
  out.write(std::uint8_t{1});
  return std::move(out).take();
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// The best of three: what the code costs, not what else the machine does.
template <class Run>
double best_seconds(Run&& run) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto begin = cpu_seconds();
    run();
    best = std::min(best, cpu_seconds() - begin);
  }
  return best;
}

void print(const char* name, double value, const char* unit) {
  fmt::print("{} {:.1f} {}\n", name, value, unit);
}

void require(const Result<>& result) {
  if (!result) give_up(result.error().what);
}

std::uint64_t count(Bytes trace, std::size_t piece) {
  Reader reader;
  std::uint64_t events = 0;
  const OnBatch on_batch = [&](const Batch& batch) { events += batch.events.size(); };
  for (; !trace.empty(); trace = trace.subspan(std::min(piece, trace.size())))
    require(reader.feed(trace.first(std::min(piece, trace.size())), on_batch));
  require(reader.finish(on_batch));
  return events;
}

std::uint64_t count_frames(Bytes trace) {
  Reader reader;
  std::uint64_t frames = 0;
  const OnBatch on_batch = [&](const Batch& batch) {
    for (const auto& event : batch.events) frames += reader.stack(event.stack).size();
  };
  require(reader.feed(trace, on_batch));
  require(reader.finish(on_batch));
  return frames;
}

// Reads a value, and what is inside it, as a sink would: nothing is skipped.
std::uint64_t take(const PayloadPlan& plan, const PayloadField& field, const Value& value) {
  std::uint64_t sum = value.u + value.bytes.size();
  const auto inside = [&](const PayloadField& inner, const Value& part) {
    sum += take(plan, inner, part);
  };
  if (value.kind == Value::Kind::kArray) for_each_element(plan, field, value, inside);
  if (value.kind == Value::Kind::kObject) for_each_member(plan, field, value, inside);
  return sum;
}

std::uint64_t decode(Bytes trace) {
  Reader reader;
  PayloadPlans plans{8};
  std::uint64_t sum = 0;
  const OnBatch on_batch = [&](const Batch& batch) {
    for (const auto& event : batch.events) {
      const auto& plan = plans.of(*event.type);
      for_each_field(plan, event.payload, [&](const PayloadField& field, const Value& value) {
        sum += take(plan, field, value);
      });
    }
  };
  require(reader.feed(trace, on_batch));
  require(reader.finish(on_batch));
  return sum;
}

std::uint64_t write_json(Bytes trace) {
  Reader reader;
  PayloadPlans plans{8};
  std::uint64_t sum = 0;
  std::string json;
  const OnBatch on_batch = [&](const Batch& batch) {
    for (const auto& event : batch.events) {
      json.clear();
      append_json(json, plans.of(*event.type), event.payload);
      sum += json.size();
    }
  };
  require(reader.feed(trace, on_batch));
  require(reader.finish(on_batch));
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "usage: nettrace_bench TRACE [MEGABYTES [FILE]]\n"), 3;
  const auto megabytes = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 512;
  const auto trace = repeated(load(argv[1]), megabytes);
  if (argc > 3)
    std::ofstream{argv[3], std::ios::binary}.write(reinterpret_cast<const char*>(trace.data()),
                                                   static_cast<std::streamsize>(trace.size()));
  const Bytes bytes{trace};
  const auto mb = static_cast<double>(bytes.size()) / 1e6;
  std::uint64_t events = 0;
  const auto whole = best_seconds([&] { events = count(bytes, bytes.size()); });
  print("size", mb, "MB");
  print("events", static_cast<double>(events), "events");
  print("count", mb / whole, "MB/s");
  print("count_events", static_cast<double>(events) / whole / 1e6, "M/s");
  print("count_in_pieces", mb / best_seconds([&] { count(bytes, 64 << 10); }), "MB/s");
  std::uint64_t sum = 0;
  print("decode", mb / best_seconds([&] { sum += decode(bytes); }), "MB/s");
  const auto writing = best_seconds([&] { sum += write_json(bytes); });
  print("json_events", static_cast<double>(events) / writing / 1e6, "M/s");
  if (sum == 0) give_up("the payloads are empty");
  print("count_frames", mb / best_seconds([&] { count_frames(bytes); }), "MB/s");

  std::string v6;
  const auto converting = best_seconds([&] {
    v6.clear();
    v6.reserve(trace.size());
    Converter converter{[&](Bytes out) -> Result<> {
      v6 += as_text(out);
      return {};
    }};
    require(converter.feed(bytes));
    require(converter.finish());
  });
  print("convert", mb / converting, "MB/s");
  const auto v6_mb = static_cast<double>(v6.size()) / 1e6;
  print("count_v6", v6_mb / best_seconds([&] { count(as_bytes(v6), v6.size()); }), "MB/s");
  return 0;
}
