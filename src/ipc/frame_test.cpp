#include "ipc/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ipc/refusal.h"

namespace clrscope::ipc {
namespace {

using testing::HasSubstr;

std::vector<std::uint8_t> header(std::uint16_t size, std::uint8_t set = 0xff, std::uint8_t id = 0) {
  ByteWriter out;
  out.put(kMagic);
  out.write(size);
  out.write(set);
  out.write(id);
  out.write(std::uint16_t{0});
  return std::move(out).take();
}

TEST(Frame, PutsSizeAndCommandBehindTheMagic) {
  const std::array<std::uint8_t, 2> payload{0xaa, 0xbb};
  const auto frame = encode_frame(kStopTracing, payload);
  ASSERT_TRUE(frame);
  EXPECT_EQ(frame->size(), 22U);
  EXPECT_EQ((*frame)[14], 22);
  EXPECT_EQ((*frame)[16], 2);
  EXPECT_EQ((*frame)[17], 1);
  EXPECT_EQ((*frame)[21], 0xbb);
}

TEST(Frame, RefusesAPayloadBeyondSixteenBits) {
  EXPECT_TRUE(encode_frame(kStopTracing, std::vector<std::uint8_t>(kLargestPayload)));
  EXPECT_FALSE(encode_frame(kStopTracing, std::vector<std::uint8_t>(kLargestPayload + 1)));
}

TEST(Frame, ReadsAHeader) {
  const auto decoded = decode_header(header(24));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->payload_size, 4U);
  EXPECT_TRUE(is_success(*decoded).value());
}

TEST(Frame, TellsARefusalFromASuccess) {
  EXPECT_FALSE(is_success(*decode_header(header(24, 0xff, 0xff))).value());
  EXPECT_FALSE(is_success(*decode_header(header(24, 0x04, 0x00))).has_value());
}

TEST(Frame, RefusesAHeaderSmallerThanItself) { EXPECT_FALSE(decode_header(header(19))); }

TEST(Frame, RefusesAHeaderCutShort) { EXPECT_FALSE(decode_header(Bytes{header(20)}.first(19))); }

TEST(Frame, CarriesStringsThereAndBack) {
  for (const std::string text : {"", "a", "Größe 𝛑"}) {
    ByteWriter out;
    write_string(out, text);
    ByteReader in{out.bytes()};
    EXPECT_EQ(read_string(in), text);
    EXPECT_TRUE(in.ok() && in.at_end());
  }
}

TEST(Frame, FailsAStringThatRunsPastItsEnd) {
  ByteWriter out;
  out.write(std::uint32_t{0x80000001});  // doubled it would be small again
  out.put(std::string_view{"ab"});
  ByteReader in{out.bytes()};
  EXPECT_EQ(read_string(in), "");
  EXPECT_FALSE(in.ok());
}

TEST(Frame, KeepsAStringWithoutItsFinalZero) {
  ByteWriter out;
  out.write(std::uint32_t{2});
  out.put(std::string_view{"a\0b\0", 4});
  ByteReader in{out.bytes()};
  EXPECT_EQ(read_string(in), "ab");
}

TEST(Frame, AcceptsAProcessInfo3OfALaterVersion) {
  ByteWriter out;
  out.write(std::uint32_t{2});
  out.write(std::uint64_t{5});
  out.put(std::string_view{"0123456789abcdef"});
  for (const char* text : {"cmd", "Linux", "x64", "App", "11.0.0", "linux-x64"})
    write_string(out, text);
  out.put(std::string_view{"more to come"});
  const auto info = decode_process_info3(out.bytes());
  ASSERT_TRUE(info) << info.error().what;
  EXPECT_EQ(info->portable_rid, "linux-x64");
}

TEST(Frame, RefusesAProcessInfoCutShort) {
  ByteWriter out;
  out.write(std::uint64_t{5});
  EXPECT_FALSE(decode_process_info(out.bytes()));
}

TEST(Frame, StopsAtAnEnvironmentThatLiesAboutItsCount) {
  ByteWriter out;
  out.write(std::uint32_t{0xffffffff});
  write_string(out, "A=1");
  const auto environment = decode_environment(out.bytes());
  ASSERT_FALSE(environment);
  EXPECT_EQ(environment.error().code, Errc::kCorrupt);
}

TEST(Frame, ReadsAnAdvertisement) {
  ByteWriter out;
  out.put(std::string_view{"ADVR_V1\0", 8});
  out.put(std::string_view{"0123456789abcdef"});
  out.write(std::uint64_t{4711});
  out.write(std::uint16_t{0});
  ASSERT_EQ(out.size(), kAdvertisementSize);
  const auto runtime = decode_advertisement(out.bytes());
  ASSERT_TRUE(runtime);
  EXPECT_EQ(runtime->pid, 4711U);
  EXPECT_EQ(runtime->cookie[0], '0');
}

TEST(Frame, GivesEveryFormOfCollectTracingItsOwnPrefix) {
  const SessionConfig config{.providers = {{.name = "P", .keywords = 1}}};
  const std::size_t provider = 8 + 4 + (4 + 4) + 4;
  const std::size_t prefixes[] = {8, 9, 10, 17, 21};
  for (int form = 1; form <= 5; ++form) {
    const auto payload = encode_collect_tracing(form, config);
    ASSERT_TRUE(payload) << payload.error().what;
    const auto filter = form == 5 ? 5U : 0U;
    EXPECT_EQ(payload->size(), prefixes[form - 1] + 4 + provider + filter) << "form " << form;
  }
}

TEST(Frame, LeavesUnwantedEventsOutWhereTheFormCanSaySo) {
  SessionConfig config{.providers = {{.name = "P", .keywords = 1, .unwanted_ids = {39, 202}}}};
  EXPECT_TRUE(encode_collect_tracing(4, config));
  const auto payload = encode_collect_tracing(5, config);
  ASSERT_TRUE(payload);
  ByteWriter expected;
  expected.write(std::uint8_t{0});  // all but these
  expected.write(std::uint32_t{2});
  expected.write(std::uint32_t{39});
  expected.write(std::uint32_t{202});
  const Bytes all{*payload};
  EXPECT_TRUE(std::ranges::equal(all.last(expected.size()), expected.bytes()));
}

TEST(Frame, SaysWhichFormCannotExpressARundownKeyword) {
  const SessionConfig config{.rundown_keyword = 0x10, .providers = {{.name = "P"}}};
  EXPECT_TRUE(encode_collect_tracing(4, config));
  EXPECT_FALSE(encode_collect_tracing(3, config));
}

TEST(Refusal, HasANameForEveryCodeThatHelps) {
  EXPECT_EQ(name_of_code(0x80131385), "CORDIAGIPC_E_UNKNOWN_COMMAND");
  EXPECT_EQ(name_of_code(0x80131515), "COR_E_NOTSUPPORTED");
  EXPECT_EQ(name_of_code(0x80070005), "E_ACCESSDENIED");
  EXPECT_EQ(name_of_code(1), "");
}

TEST(Refusal, IsAnErrorWithWhoWhatAndWhy) {
  const auto error = error_of(kAttachProfiler, "/tmp/s", {.code = 0x80131378});
  EXPECT_EQ(error.code, Errc::kDenied);
  EXPECT_THAT(error.what, HasSubstr("/tmp/s refused AttachProfiler: profiling is switched off"));
  EXPECT_THAT(error.hint, HasSubstr("DOTNET_EnableDiagnostics"));
}

}  // namespace
}  // namespace clrscope::ipc
