#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/decompress.h"
#include "base/io.h"
#include "base/json_reader.h"
#include "base/test_data.h"
#include "base/text.h"
#include "export/byte_sink.h"
#include "export/format.h"
#include "nettrace/event_json.h"
#include "nettrace/writer.h"

namespace clrscope::exports {
namespace {

using nettrace::Batch;
using nettrace::Reader;
using std::string;

struct Made {
  string text;
  Result<Rewritten> result;
};

Made rewrite(std::string_view format, std::string_view trace, std::size_t piece = 1000) {
  const ReadTrace read = [&](const OnChunk& on_chunk) -> Result<> {
    for (auto left = trace; !left.empty(); left.remove_prefix(std::min(piece, left.size())))
      TRY(on_chunk(as_bytes(left.substr(0, piece))));
    return {};
  };
  string text;
  ByteSink out{text};
  auto result = find_format(format)->rewrite(read, out);
  return {std::move(text), std::move(result)};
}

nettrace::Summary summary_of(std::string_view trace) {
  Reader reader;
  EXPECT_TRUE(reader.feed(as_bytes(trace), [](const Batch&) {}));
  EXPECT_TRUE(reader.finish([](const Batch&) {}));
  return reader.summary();
}

std::vector<std::filesystem::path> recorded_traces() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator{test_data("nettrace")})
    if (const auto end = entry.path().extension();
        end == ".nettrace" || end == ".netperf" || end == ".zst")
      paths.push_back(entry.path());
  return paths;
}

string plain_trace(const std::filesystem::path& path) {
  const auto file = read_file(path);
  EXPECT_TRUE(file);
  string trace;
  const Decompressor::OnBytes keep = [&](Bytes bytes) -> Result<> {
    trace += as_text(bytes);
    return {};
  };
  Decompressor plain;
  EXPECT_TRUE(plain.feed(as_bytes(*file), keep));
  EXPECT_TRUE(plain.finish(keep));
  return trace;
}

std::vector<std::string_view> sorted_lines(const string& text) {
  auto lines = split(text, '\n');
  std::sort(lines.begin(), lines.end());
  return lines;
}

// One event with a text and a number, one of a provider that describes nothing.
string small_trace() {
  EventType described{.provider = "Shop \"A\"", .name = "Sold", .id = 5};
  described.fields = {{.name = "What", .type = TypeCode::kUtf16Text},
                      {.name = "Count", .type = TypeCode::kInt32}};
  const EventType bare{.index = 1, .provider = "Nobody", .name = "", .id = 9};
  string trace;
  const nettrace::TraceInfo info{.version = 6,
                                 .start = WallTime{std::chrono::seconds{1'700'000'000}},
                                 .sync_ticks = 0,
                                 .ticks_per_second = 1'000'000'000};
  nettrace::Writer writer{info, [&](Bytes bytes) -> Result<> {
                            trace += as_text(bytes);
                            return {};
                          }};
  const auto source = writer.add_source(nettrace::Writer::Numbering::kFromZero);
  const std::uint8_t sold[] = {'h', 0, '"', 0, 0, 0, 7, 0, 0, 0};
  const std::uint8_t unknown[] = {0xab, 1};
  EXPECT_TRUE(writer.write(source, {.type = &described,
                                    .ticks = 1'250'000'123,
                                    .thread = ThreadId{11},
                                    .capture_thread = 11,
                                    .payload = sold,
                                    .process = ProcessId{7},
                                    .sequence = 1}));
  EXPECT_TRUE(writer.write(source, {.type = &bare,
                                    .ticks = 2'000'000'000,
                                    .thread = ThreadId{11},
                                    .capture_thread = 11,
                                    .payload = unknown,
                                    .process = ProcessId{7},
                                    .sequence = 4}));
  EXPECT_TRUE(writer.finish());
  return trace;
}

TEST(Ndjson, WritesEachEventAsALine) {
  const auto made = rewrite("ndjson", small_trace());
  ASSERT_TRUE(made.result) << made.result.error().what;
  EXPECT_EQ(made.result->events, 2U);
  EXPECT_EQ(made.result->lost, 2U);
  constexpr std::string_view kLines =
      R"~({"time":"2023-11-14T22:13:21.250000Z","atMs":1250.000123,"provider":"Shop \"A\"","name":"Sold","id":5,"pid":7,"osId":11,"payload":{"What":"h\"","Count":7}}
{"time":"2023-11-14T22:13:22.000000Z","atMs":2000.000000,"provider":"Nobody","name":"EventID(9)","id":9,"pid":7,"osId":11,"payloadHex":"ab01"}
)~";
  EXPECT_EQ(made.text, kLines);
}

TEST(Ndjson, HasTheMembersOfItsShape) {
  const auto& shape = shape_of(static_cast<const nettrace::EventLine*>(nullptr));
  const auto made = rewrite("ndjson", small_trace());
  for (const auto line : split(trim(made.text), '\n')) {
    const auto json = read_json(line);
    ASSERT_TRUE(json && json->object()) << line;
    auto member = shape.members().begin();  // in the same order, but for optional ones
    for (const auto& [name, value] : *json->object()) {
      while (member != shape.members().end() && member->name != name && member->value->optional)
        ++member;
      ASSERT_NE(member, shape.members().end()) << name;
      EXPECT_EQ(member->name, name);
      ++member;
    }
    for (; member != shape.members().end(); ++member) EXPECT_TRUE(member->value->optional);
  }
}

TEST(Ndjson, HasALineForEveryEventOfARecordedTrace) {
  ASSERT_FALSE(recorded_traces().empty());
  for (const auto& path : recorded_traces()) {
    const auto trace = plain_trace(path);
    const auto made = rewrite("ndjson", trace);
    ASSERT_TRUE(made.result) << path << made.result.error().what;
    const auto lines = std::count(made.text.begin(), made.text.end(), '\n');
    EXPECT_EQ(static_cast<std::uint64_t>(lines), summary_of(trace).events) << path;
    EXPECT_EQ(made.result->lost, summary_of(trace).lost) << path;
  }
}

TEST(Ndjson, LeavesOutAnEventWithTheSmallestTime) {
  const auto trace = read_file(test_data("fuzz/export/int64min.nettrace"));
  ASSERT_TRUE(trace);
  const auto made = rewrite("ndjson", *trace);
  ASSERT_TRUE(made.result) << made.result.error().what;
  EXPECT_EQ(made.text, "");
  ASSERT_EQ(made.result->damage.size(), 1U);
  EXPECT_NE(made.result->damage[0].what.find("invalid time"), string::npos);
}

TEST(Nettrace, KeepsEventsAndLossesOfARecordedTrace) {
  for (const auto& path : recorded_traces()) {
    const auto trace = plain_trace(path);
    const auto made = rewrite("nettrace", trace);
    ASSERT_TRUE(made.result) << path << made.result.error().what;
    const auto before = summary_of(trace), after = summary_of(made.text);
    EXPECT_EQ(after.events, before.events) << path;
    EXPECT_EQ(after.lost, before.lost) << path;
    EXPECT_EQ(made.result->lost, before.lost) << path;
    EXPECT_TRUE(after.ended) << path;
    const auto events = rewrite("ndjson", trace).text, again = rewrite("ndjson", made.text).text;
    EXPECT_TRUE(sorted_lines(events) == sorted_lines(again)) << path;
  }
}

TEST(Rewriting, ReadsATruncatedTraceUpToItsEnd) {
  const auto trace = small_trace();
  for (const std::string_view format : {"ndjson", "nettrace"}) {
    const auto made = rewrite(format, std::string_view{trace}.substr(0, trace.size() - 20));
    ASSERT_TRUE(made.result) << format;
    EXPECT_TRUE(made.result->read.truncated || !made.result->read.ended) << format;
  }
}

TEST(Rewriting, RefusesWhatIsNoTrace) {
  for (const std::string_view format : {"ndjson", "nettrace"}) {
    EXPECT_FALSE(rewrite(format, "this is certainly no trace at all").result) << format;
    EXPECT_FALSE(rewrite(format, "").result) << format;
  }
}

TEST(Rewriting, EndsEarlyWhenItsOutputFails) {
  const auto trace = small_trace();
  const ReadTrace read = [&](const OnChunk& on_chunk) { return on_chunk(as_bytes(trace)); };
  for (const auto* format : formats()) {
    if (!format->rewrite) continue;
    ByteSink out{-1};
    EXPECT_FALSE(format->rewrite(read, out)) << format->name;
  }
}

}  // namespace
}  // namespace clrscope::exports
