// For tests of this room: recorded traces, what is in a trace as text, and traces made by hand.
#pragma once

#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "base/decompress.h"
#include "base/test_data.h"
#include "nettrace/reader.h"

namespace clrscope::nettrace {

inline std::string read_text_file(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  CHECK(file);
  return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

inline std::string data_path(std::string_view name) {
  return test_data("nettrace/" + std::string{name});
}

// A recorded trace, without its compression.
inline std::string trace_file(std::string_view name) {
  std::string out;
  Decompressor decompressor;
  const auto append = [&](Bytes bytes) -> Result<> {
    out += as_text(bytes);
    return {};
  };
  CHECK(decompressor.feed(as_bytes(read_text_file(data_path(name))), append));
  CHECK(decompressor.finish(append).value_or(false));
  return out;
}

// TraceEvent has no stacks for events that only name code.
inline bool stack_is_known_to_traceevent(const EventType& type) {
  if (type.provider.ends_with("DotNETRuntimeRundown")) return false;
  return type.provider != "Microsoft-Windows-DotNETRuntime" ||
         !((type.id >= 140 && type.id <= 144) || type.id == 190);
}

// The same text that tests/data/nettrace/make_expected writes, less the line with the version.
class Describer {
 public:
  explicit Describer(const Reader& reader) : reader_(reader) {}

  void operator()(const Batch& batch) {
    for (const auto& event : batch.events) {
      ++kinds_[fmt::format("{} {} {}", event.type->provider, event.type->id, event.type->version)];
      payload_ += event.payload.size();
      ticks_ += static_cast<std::uint64_t>(event.ticks);
      threads_ += static_cast<std::uint64_t>(event.thread);
      if (!stack_is_known_to_traceevent(*event.type)) continue;
      const auto stack = reader_.stack(event.stack);
      frames_ += stack.size();
      for (std::size_t i = 0; i < stack.size(); ++i) addresses_ += stack[i];
    }
  }

  std::string text() const {
    auto out = fmt::format(
        "events {}\nlost {}\npayload bytes {}\nframes {}\nsum of addresses {}\nsum of ticks {}\n"
        "sum of threads {}\n",
        reader_.summary().events, reader_.summary().lost, payload_, frames_, addresses_, ticks_,
        threads_);
    for (const auto& [kind, count] : kinds_) out += fmt::format("{}: {}\n", kind, count);
    return out;
  }

 private:
  const Reader& reader_;
  std::map<std::string, std::uint64_t> kinds_;
  std::uint64_t payload_ = 0, ticks_ = 0, threads_ = 0, frames_ = 0, addresses_ = 0;
};

// Reads all of it in pieces and hands every batch on; the first failure ends it.
inline Result<> read_all(Reader& reader, std::string_view trace, const OnBatch& on_batch,
                         std::size_t piece = std::string_view::npos) {
  while (!trace.empty()) {
    const auto now = trace.substr(0, piece);
    TRY(reader.feed(as_bytes(now), on_batch));
    trace.remove_prefix(now.size());
  }
  return reader.finish(on_batch);
}

inline std::string describe(std::string_view trace, std::size_t piece = std::string_view::npos) {
  Reader reader;
  Describer describer{reader};
  const auto done = read_all(reader, trace, std::ref(describer), piece);
  if (!done) return done.error().what;
  if (reader.summary().damaged > 0) return "damaged: " + reader.damage()[0].what;
  if (reader.summary().truncated) return "truncated";
  return describer.text();
}

// A V4 trace put together by hand.
class V4Builder {
 public:
  V4Builder() {
    out_.put("Nettrace");
    out_.write(std::uint32_t{20});
    out_.put("!FastSerialization.1");
    ByteWriter trace;
    for (const int part : {2026, 11, 0, 15, 3, 4, 5, 678})
      trace.write(static_cast<std::uint16_t>(part));
    trace.write(std::int64_t{1000});
    trace.write(std::int64_t{1'000'000'000});
    for (const std::uint32_t value : {8, 4312, 2, 1'000'000}) trace.write(value);
    begin_object("Trace", 4);
    out_.put(trace.bytes());
    out_.write(std::uint8_t{6});
  }

  V4Builder& block(std::string_view name, Bytes content) {
    begin_object(name, 2);
    out_.write(static_cast<std::uint32_t>(content.size()));
    while (out_.size() % 4 != 0) out_.write(std::uint8_t{0});
    out_.put(content);
    out_.write(std::uint8_t{6});
    return *this;
  }

  // Rows of an EventBlock or MetadataBlock.
  V4Builder& rows(std::string_view name, Bytes rows, bool packed = true) {
    ByteWriter content;
    content.write(std::uint16_t{20});
    content.write(static_cast<std::uint16_t>(packed ? 1 : 0));
    content.write(std::uint64_t{0});
    content.write(std::uint64_t{0});
    content.put(rows);
    return block(name, content.bytes());
  }

  // Declares an event of provider "P" with this number, id and name, with no fields.
  V4Builder& declare(std::uint32_t number, std::string_view name = "E") {
    return declare_raw(declaration(number, name).bytes());
  }

  V4Builder& declare_raw(Bytes declaration) {
    ByteWriter row;
    row.write(std::uint8_t{0x80});
    row.write_varuint(0);  // time
    row.write_varuint(declaration.size());
    row.put(declaration);
    return rows("MetadataBlock", row.bytes());
  }

  static ByteWriter declaration(std::uint32_t number, std::string_view name) {
    ByteWriter out;
    out.write(number);
    put_utf16z(out, "P");
    out.write(number);
    put_utf16z(out, name);
    out.write(std::uint64_t{0});
    out.write(std::uint32_t{1});
    out.write(std::uint32_t{4});
    out.write(std::uint32_t{0});
    return out;
  }

  static void put_utf16z(ByteWriter& out, std::string_view text) {
    for (const char c : text) out.write(static_cast<std::uint16_t>(c));
    out.write(std::uint16_t{0});
  }

  // One block of one event of type 1.
  V4Builder& event(std::uint64_t thread, std::uint32_t sequence, std::int64_t ticks,
                   std::uint32_t stack = 0) {
    ByteWriter row;
    row.write(std::uint8_t{1 | 2 | 4 | 8});
    row.write_varuint(1);
    row.write_varuint(sequence - 1);
    row.write_varuint(thread);
    row.write_varuint(0);
    row.write_varuint(thread);
    row.write_varuint(stack);
    row.write_varuint(static_cast<std::uint64_t>(ticks));
    return rows("EventBlock", row.bytes());
  }

  V4Builder& sequence_point(std::int64_t ticks,
                            const std::vector<std::pair<std::uint64_t, std::uint32_t>>& threads) {
    ByteWriter content;
    content.write(ticks);
    content.write(static_cast<std::uint32_t>(threads.size()));
    for (const auto& [thread, sequence] : threads) {
      content.write(thread);
      content.write(sequence);
    }
    return block("SPBlock", content.bytes());
  }

  V4Builder& stack(std::uint32_t id, std::uint64_t address) {
    ByteWriter content;
    content.write(id);
    content.write(std::uint32_t{1});
    content.write(std::uint32_t{8});
    content.write(address);
    return block("StackBlock", content.bytes());
  }

  std::string end() const { return std::string{as_text(out_.bytes())} + '\x01'; }
  std::string open() const { return std::string{as_text(out_.bytes())}; }
  std::size_t size() const { return out_.size(); }

 private:
  void begin_object(std::string_view name, std::uint32_t version) {
    out_.put(std::string_view{"\x05\x05\x01"});
    out_.write(version);
    out_.write(version);
    out_.write(static_cast<std::uint32_t>(name.size()));
    out_.put(name);
    out_.write(std::uint8_t{6});
  }

  ByteWriter out_;
};

}  // namespace clrscope::nettrace
