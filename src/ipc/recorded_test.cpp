// Answers recorded from real runtimes: what the decoders make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/io.h"
#include "base/test_data.h"
#include "ipc/frame.h"

namespace clrscope::ipc {
namespace {

struct Runtime {
  const char* name;
  const char* version;
};

class Recorded : public testing::TestWithParam<Runtime> {
 protected:
  std::string load(const std::string& answer) {
    const auto path = test_data(fmt::format("fuzz/ipc/{}-{}", answer, GetParam().name));
    auto bytes = read_file(path);
    EXPECT_TRUE(bytes) << bytes.error().what;
    return bytes.value_or("");
  }
};

TEST_P(Recorded, ProcessInfo3IsRead) {
  const auto bytes = load("info3");
  const auto header = decode_header(as_bytes(bytes).first(kHeaderSize));
  ASSERT_TRUE(header) << header.error().what;
  EXPECT_EQ(kHeaderSize + header->payload_size, bytes.size());
  const auto info = decode_process_info3(as_bytes(bytes).subspan(kHeaderSize));
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->entry_assembly, "samples");
  EXPECT_EQ(info->runtime_version, GetParam().version);
  EXPECT_EQ(info->portable_rid, "linux-x64");
  EXPECT_EQ(info->command_line, "/srv/shop/samples /srv/shop/samples.dll cpu");
}

TEST_P(Recorded, EarlierFormsOfProcessInfoAreRead) {
  const auto first = load("info1");
  const auto second = load("info2");
  const auto old = decode_process_info(as_bytes(first).subspan(kHeaderSize));
  const auto newer = decode_process_info2(as_bytes(second).subspan(kHeaderSize));
  ASSERT_TRUE(old && newer);
  EXPECT_EQ(old->cookie, newer->cookie);
  EXPECT_EQ(old->architecture, "x64");
  EXPECT_EQ(newer->runtime_version, GetParam().version);
}

TEST_P(Recorded, EnvironmentFollowsItsFrame) {
  const auto bytes = load("environment");
  const auto header = decode_header(as_bytes(bytes).first(kHeaderSize));
  ASSERT_TRUE(header) << header.error().what;
  const auto head = as_bytes(bytes).subspan(kHeaderSize, header->payload_size);
  const auto block = as_bytes(bytes).subspan(kHeaderSize + header->payload_size);
  EXPECT_EQ(decode_environment_size(head).value(), block.size());
  const auto environment = decode_environment(block);
  ASSERT_TRUE(environment) << environment.error().what;
  EXPECT_EQ(environment->at("GREETING"), "Grüß Gott 𝛑");
  EXPECT_EQ(environment->at("EMPTY"), "");
}

TEST_P(Recorded, AFailedDumpSpeaks) {
  const auto bytes = load("dump-error");
  const auto refusal = decode_refusal(as_bytes(bytes).subspan(kHeaderSize));
  ASSERT_TRUE(refusal) << refusal.error().what;
  EXPECT_EQ(refusal->code, 0x80004005U);
  EXPECT_THAT(refusal->text, testing::HasSubstr("No such file or directory"));
}

TEST_P(Recorded, AnAdvertisementBearsTheCookieOfProcessInfo) {
  const auto bytes = load("advertise");
  const auto answer = load("info3");
  const auto runtime = decode_advertisement(as_bytes(bytes));
  const auto info = decode_process_info3(as_bytes(answer).subspan(kHeaderSize));
  ASSERT_TRUE(runtime && info);
  EXPECT_EQ(runtime->cookie, info->cookie);
  EXPECT_EQ(runtime->pid, info->pid);
}

INSTANTIATE_TEST_SUITE_P(Runtimes, Recorded,
                         testing::Values(Runtime{"net8", "8.0.31"}, Runtime{"net9", "9.0.20"},
                                         Runtime{"net10", "10.0.12"}),
                         [](const auto& runtime) { return runtime.param.name; });

}  // namespace
}  // namespace clrscope::ipc
