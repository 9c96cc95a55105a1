#include "nettrace/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "nettrace/test_support.h"

namespace clrscope::nettrace {
namespace {

using ::testing::HasSubstr;

const OnBatch kIgnore = [](const Batch&) {};

std::string file_with(const std::string& name, std::string_view content) {
  const auto path = ::testing::TempDir() + "clrscope_" + std::to_string(::getpid()) + name;
  std::ofstream{path, std::ios::binary} << content;
  return path;
}

TEST(NettraceFile, ReadsPlainAndCompressedFiles) {
  for (const auto& [name, events] :
       {std::pair{"net10-v4.nettrace", 727U}, {"net10-loss.nettrace.zst", 65025U}}) {
    Reader reader;
    const auto end = read_trace_file(data_path(name), reader, kIgnore);
    ASSERT_TRUE(end) << end.error().what;
    EXPECT_FALSE(end->cut_short);
    EXPECT_EQ(reader.summary().events, events);
  }
}

TEST(NettraceFile, ReadsACompressedFileUpToWhereItWasCut) {
  const auto content = read_text_file(data_path("net10-loss.nettrace.zst"));
  const auto path = file_with("cut.zst", std::string_view{content}.substr(0, content.size() / 2));
  Reader reader;
  const auto end = read_trace_file(path, reader, kIgnore);
  ::unlink(path.c_str());
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_TRUE(end->cut_short);
  EXPECT_TRUE(reader.summary().truncated);
  EXPECT_GT(reader.summary().events, 10'000U);
}

TEST(NettraceFile, ReadsAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto trace = trace_file("net10-v3.netperf");
  std::jthread writer{[&] {
    EXPECT_EQ(::write(ends[1], trace.data(), trace.size()), static_cast<ssize_t>(trace.size()));
    ::close(ends[1]);
  }};
  Reader reader;
  const auto end = read_trace_file(fmt::format("/proc/self/fd/{}", ends[0]), reader, kIgnore);
  ::close(ends[0]);
  ASSERT_TRUE(end) << end.error().what;
  EXPECT_EQ(reader.summary().events, 523U);
}

TEST(NettraceFile, SaysWhichFileCannotBeRead) {
  Reader reader;
  const auto folder = read_trace_file(::testing::TempDir(), reader, kIgnore);
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().what, HasSubstr("is a folder"));

  const auto missing = read_trace_file("/nowhere/a.nettrace", reader, kIgnore);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::kNotFound);

  const auto path = file_with("other.txt", "hello, this is a text");
  const auto other = read_trace_file(path, reader, kIgnore);
  ::unlink(path.c_str());
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().what, HasSubstr(path));
}

}  // namespace
}  // namespace clrscope::nettrace
