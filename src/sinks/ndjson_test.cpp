#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "base/fd.h"
#include "base/guarded.h"
#include "base/io.h"
#include "sinks/rotation.h"
#include "sinks/test_events.h"
#include "sinks/test_wait.h"

namespace clrscope::sinks {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

UniqueFd listen_on(const std::string& path) {
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::memcpy(at.sun_path, path.data(), path.size());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(::listen(fd.get(), 1), 0);
  return fd;
}

TEST(NdjsonSink, WritesLinesToAFileAndPutsItAsideWhenItIsFull) {
  const TestFolder folder;
  const auto path = folder / "a.ndjson";
  const TestProcess one{7};
  const auto sink = make_sink("ndjson:" + path + ",max-size=2000");
  ASSERT_TRUE(sink->open());
  ASSERT_TRUE(sink->on_batch(one.batch(0, 10, TraceClock::now())));
  ASSERT_TRUE(sink->on_dropped(17));
  ASSERT_TRUE(sink->on_batch(one.batch(10, 10, TraceClock::now())));
  ASSERT_TRUE(sink->close({}));
  const auto first = read_file(name_when_aside(path)).value();
  const auto second = read_file(path).value();
  EXPECT_EQ(lines_in(first), 11U);
  EXPECT_THAT(first, testing::EndsWith("{\"dropped\":17}\n"));
  EXPECT_EQ(lines_in(second), 10U);
  EXPECT_THAT(second, HasSubstr(R"("payload":{"n":19,"what":"aé"}})"));
}

TEST(NdjsonSink, SendsLinesToASocket) {
  const TestFolder folder;
  const auto listener = listen_on(folder / "s");
  const auto sink = make_sink("ndjson:unix:" + (folder / "s"));
  ASSERT_TRUE(sink->open());
  ASSERT_TRUE(sink->on_batch(TestProcess{7}.batch(0, 100, TraceClock::now())));
  const UniqueFd peer{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  ASSERT_TRUE(peer);
  std::string got;
  while (lines_in(got) < 100) {
    char piece[4096];
    const auto size = ::recv(peer.get(), piece, sizeof piece, 0);
    ASSERT_GT(size, 0);
    got.append(piece, static_cast<std::size_t>(size));
  }
  EXPECT_THAT(got, HasSubstr(R"("n":99,)"));
  ASSERT_TRUE(sink->close({}));
  EXPECT_THAT(sink->state(), StartsWith("delivered 100"));
}

TEST(NdjsonSink, BoundsWhatWaitsForAReaderAndTellsItWhatWasDropped) {
  const TestFolder folder;
  const TestProcess one{7};
  const auto sink = make_sink("ndjson:unix:" + (folder / "s") + ",buffer=64KiB");
  ASSERT_TRUE(sink->open());
  // Nobody is there yet: about 150 bytes a line, so most are dropped.
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(sink->on_batch(one.batch(i * 100, 100, TraceClock::now())));
  EXPECT_THAT(sink->state(), HasSubstr("dropped 9"));
  const auto listener = listen_on(folder / "s");
  const UniqueFd peer{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
  Guarded<std::string> heard;
  const std::jthread reader{[&](const std::stop_token& stop) {
    char piece[4096];
    while (!stop.stop_requested()) {
      if (!wait_readable(peer.get(), Deadline{std::chrono::milliseconds{50}}).value_or(false))
        continue;
      const auto size = ::recv(peer.get(), piece, sizeof piece, 0);
      if (size <= 0) return;
      heard.with([&](auto& text) { text.append(piece, static_cast<std::size_t>(size)); });
    }
  }};
  ASSERT_TRUE(until([&] { return sink->state().find("waiting 0") != std::string::npos; }))
      << sink->state();
  ASSERT_TRUE(sink->on_batch(one.batch(0, 1, TraceClock::now())));
  std::string got;
  EXPECT_TRUE(until([&] {
    got = heard.with([](const auto& text) { return text; });
    return got.find("\"n\":0,", got.find("\"dropped\"")) != std::string::npos;
  }));
  EXPECT_FALSE(sink->close({}));  // there was nobody at first
  const auto told = got.find("{\"dropped\":");
  const auto dropped = std::stoul(got.substr(told + 11));
  EXPECT_EQ(lines_in(got.substr(0, told)) + dropped, 10'000U);
}

TEST(NdjsonSink, RefusesOptionsThatMeanNothing) {
  for (const auto* text : {"ndjson:-,max-size=1MB", "ndjson:a,buffer=1MB",
                           "ndjson:unix:/x,max-size=1MB", "ndjson:a,max-size=0"}) {
    const auto address = parse_sink(text);
    ASSERT_TRUE(address);
    EXPECT_FALSE(address->kind->make(*address, {})) << text;
  }
}

}  // namespace
}  // namespace clrscope::sinks
