#include "nettrace/trace_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "base/io.h"
#include "base/temp_file.h"
#include "nettrace/reader.h"
#include "nettrace/writer.h"

namespace clrscope::nettrace {
namespace {

// Blocks of a trace that never ends.
class Grower {
 public:
  explicit Grower(TraceOutput& output)
      : writer_({.version = 6, .sync_ticks = 1, .ticks_per_second = 1'000'000'000},
                [&output](Bytes bytes) { return output.write(bytes); }),
        source_(writer_.add_source(nettrace::Writer::Numbering::kNone)),
        payload_(1000, 0xab) {
    type_.provider = "P";
    type_.id = 1;
  }

  Result<> grow(std::size_t events) {
    for (std::size_t i = 0; i < events; ++i)
      TRY(writer_.write(source_, {.type = &type_, .ticks = ++ticks_, .payload = payload_}));
    return writer_.flush();
  }
  Result<> finish() { return writer_.finish(); }
  std::uint64_t events() const { return writer_.summary().events; }

 private:
  nettrace::Writer writer_;
  nettrace::SourceId source_;
  EventType type_;
  std::vector<std::uint8_t> payload_;
  std::int64_t ticks_ = 1;
};

nettrace::Summary read(int file) {
  nettrace::Reader reader;
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)));
  EXPECT_EQ(::pread(file, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  const auto ignore = [](const nettrace::Batch&) {};
  EXPECT_TRUE(reader.feed(bytes, ignore));
  EXPECT_TRUE(reader.finish(ignore));
  return reader.summary();
}

UniqueFd temp_file() {
  auto file = open_temp_file(::testing::TempDir());
  CHECK(file);
  return std::move(*file);
}

TEST(TraceOutput, FileIsWholeAfterEveryWrite) {
  const auto file = temp_file();
  TraceOutput output{file.get(), Packing::kPlain, TraceVersion::kV6};
  Grower trace{output};
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(trace.grow(100));
    const auto summary = read(file.get());
    EXPECT_TRUE(summary.ended);
    EXPECT_EQ(summary.damaged, 0U);
    EXPECT_EQ(summary.events, trace.events());
    EXPECT_EQ(summary.bytes, output.bytes());
  }
  ASSERT_TRUE(trace.finish());
  ASSERT_TRUE(output.finish());
  const auto summary = read(file.get());
  EXPECT_TRUE(summary.ended);
  EXPECT_EQ(summary.damaged, 0U) << "a second end mark";
  EXPECT_EQ(summary.bytes, output.bytes());
}

TEST(TraceOutput, BeginsWhereTheFileStands) {
  const auto file = temp_file();
  ASSERT_TRUE(write_all(file.get(), as_bytes("before")));
  TraceOutput output{file.get(), Packing::kPlain, TraceVersion::kV4};
  ASSERT_TRUE(output.write(as_bytes("Nettrace")));
  ASSERT_TRUE(output.write(as_bytes("block")));
  ASSERT_TRUE(output.finish_early());
  ASSERT_TRUE(write_all(file.get(), as_bytes("after")));
  std::string text(100, '\0');
  text.resize(static_cast<std::size_t>(::pread(file.get(), text.data(), text.size(), 0)));
  EXPECT_EQ(text, "beforeNettraceblock\1after");
  EXPECT_EQ(output.bytes(), std::string_view{"Nettraceblock\1"}.size());
}

TEST(TraceOutput, PipeGetsItsMarkAtTheEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd out{ends[0]}, in{ends[1]};
  TraceOutput output{in.get(), Packing::kPlain, TraceVersion::kV4};
  ASSERT_TRUE(output.write(as_bytes("Nettrace")));
  ASSERT_TRUE(output.write(as_bytes("block")));
  ASSERT_TRUE(output.finish_early());
  char text[100];
  EXPECT_EQ(::read(out.get(), text, sizeof text), 14);
  EXPECT_EQ(std::string_view(text, 14), "Nettraceblock\1");
}

TEST(TraceOutput, WriteThatFailsHalfWayLeavesTheTraceBefore) {
  const auto file = temp_file();
  TraceOutput output{file.get(), Packing::kPlain, TraceVersion::kV6};
  Grower trace{output};
  ASSERT_TRUE(trace.grow(100));
  const auto before = output.bytes();
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{before + 5000, limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto done = trace.grow(100);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ::signal(SIGXFSZ, old_handler);
  EXPECT_FALSE(done);
  const auto summary = read(file.get());
  EXPECT_TRUE(summary.ended);
  EXPECT_EQ(summary.events, 100U);
  EXPECT_EQ(summary.damaged, 0U);
  EXPECT_EQ(output.bytes(), before);
}

// Where a reader that goes from block to block meets the end, mark included; nothing: not in the
// file.
std::optional<off_t> first_end_mark(int file) {
  const auto size = ::lseek(file, 0, SEEK_END);
  for (off_t at = 20;;) {  // behind the file's head
    std::uint32_t head = 0;
    if (::pread(file, &head, sizeof head, at) != sizeof head) return std::nullopt;
    at += 4 + (head & 0xffffff);
    if (at > size) return std::nullopt;
    if (head >> 24 == 0) return at;
  }
}

// Blocks of any size, so that marks lie anywhere in a page.
[[noreturn]] void write_until_killed(int file) {
  TraceOutput output{file, Packing::kPlain, TraceVersion::kV6};
  Grower trace{output};
  for (std::size_t events = 1;; events = events * 7 % 997)
    if (!trace.grow(events) || output.bytes() > (64 << 20)) ::_exit(1);
}

TEST(TraceOutput, KilledAtAnyInstantTheFileIsWhole) {
  std::minstd_rand random{42};
  for (int i = 0; i < 100; ++i) {
    const auto file = temp_file();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(file.get());
    struct ::stat status {};
    while (::fstat(file.get(), &status) == 0 && status.st_size < 10'000) ::usleep(100);
    ::usleep(static_cast<useconds_t>(random() % 3000));
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    const auto end = first_end_mark(file.get());
    ASSERT_TRUE(end) << "of " << ::lseek(file.get(), 0, SEEK_END) << " bytes";
    ASSERT_EQ(::ftruncate(file.get(), *end), 0);  // others read no further
    const auto summary = read(file.get());
    EXPECT_TRUE(summary.ended);
    EXPECT_EQ(summary.damaged, 0U);
    EXPECT_GT(summary.events, 0U);
  }
}

}  // namespace
}  // namespace clrscope::nettrace
