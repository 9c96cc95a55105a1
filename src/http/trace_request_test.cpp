#include "http/trace_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace clrscope::http {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view json) {
  const auto request = parse_trace_body(json);
  return request ? "" : request.error().what;
}

TEST(TraceBody, TakesOursAndDotnetMonitors) {
  const auto ours = parse_trace_body(
      R"({"pid":7,"profile":"cpu-sampling","providers":[{"name":"A","keywords":"0x1",)"
      R"("eventLevel":"Verbose","arguments":{"k":"v","l":"w;x"},"eventIds":[5,1,5]}],"bufferSizeMB":64,)"
      R"("durationSeconds":5,"leaseSeconds":9,"requestRundown":false,"sampler":"agent"})");
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->selector.pid, 7);
  EXPECT_EQ(ours->profile, "cpu-sampling");
  ASSERT_EQ(ours->providers.size(), 1U);
  EXPECT_EQ(ours->providers[0].keywords, 1U);
  EXPECT_EQ(ours->providers[0].level, ops::Level::kVerbose);
  EXPECT_EQ(ours->providers[0].event_ids, (std::vector<std::uint32_t>{1, 5}));
  EXPECT_EQ(ours->providers[0].arguments, "k=\"v\";l=\"w;x\"");
  EXPECT_EQ(ours->buffer_mb, 64U);
  EXPECT_EQ(ours->duration_seconds, 5);
  EXPECT_EQ(ours->lease_seconds, 9);
  EXPECT_EQ(ours->rundown, false);
  EXPECT_EQ(ours->sampler, ops::Sampler::kAgent);

  const auto theirs = parse_trace_body(
      R"({"Providers":[{"Name":"B","EventLevel":"Informational"},{"Name":"C","Keywords":"20"}],)"
      R"("BufferSizeInMB":1024})");
  ASSERT_TRUE(theirs);
  ASSERT_EQ(theirs->providers.size(), 2U);
  EXPECT_EQ(theirs->providers[0].keywords, ~std::uint64_t{0});
  EXPECT_EQ(theirs->providers[1].keywords, 20U);
  EXPECT_EQ(theirs->buffer_mb, 1024U);
  EXPECT_TRUE(parse_trace_body(" \n"));
}

TEST(TraceBody, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(error_of("{"), HasSubstr("not JSON"));
  EXPECT_THAT(error_of("7"), HasSubstr("object"));
  EXPECT_THAT(error_of(R"({"pids":7})"), HasSubstr("pids"));
  EXPECT_THAT(error_of(R"({"pid":"7"})"), HasSubstr("pid"));
  EXPECT_THAT(error_of(R"({"pid":0})"), HasSubstr("pid"));
  EXPECT_THAT(error_of(R"({"uid":7})"), HasSubstr("uid"));
  EXPECT_THAT(error_of(R"({"sampler":"eperf"})"), HasSubstr("sampler"));
  EXPECT_THAT(error_of(R"({"name":"a","Name":"b"})"), HasSubstr("Name: is given twice"));
  EXPECT_THAT(error_of(R"({"providers":[]})"), HasSubstr("providers"));
  EXPECT_THAT(error_of(R"({"providers":{}})"), HasSubstr("providers"));
  EXPECT_THAT(error_of(R"({"providers":[7]})"), HasSubstr("providers[0]"));
  EXPECT_THAT(error_of(R"({"providers":[{"name":"A"},{}]})"), HasSubstr("providers[1].name"));
  EXPECT_THAT(error_of(R"({"providers":[{"name":"A","x":1}]})"), HasSubstr("providers[0].x"));
  EXPECT_THAT(error_of(R"({"providers":[{"name":"A","keywords":"-1"}]})"),
              HasSubstr("providers[0].keywords"));
  EXPECT_THAT(error_of(R"({"providers":[{"name":"A","eventIds":[]}]})"),
              HasSubstr("providers[0].eventIds"));
  EXPECT_THAT(error_of(R"({"providers":[{"name":"A","eventIds":[1,65536]}]})"),
              HasSubstr("providers[0].eventIds[1]"));
  EXPECT_THAT(error_of(R"({"providers":[{"name":"A","eventLevel":9}]})"),
              HasSubstr("providers[0].eventLevel"));
  EXPECT_THAT(error_of(R"({"providers":[{"name":"A","arguments":{"k":"\""}}]})"),
              HasSubstr("providers[0].arguments.k"));
  EXPECT_THAT(error_of(R"({"bufferSizeMB":1025})"), HasSubstr("bufferSizeMB"));
  EXPECT_THAT(error_of(R"({"durationSeconds":-2})"), HasSubstr("durationSeconds"));
  EXPECT_THAT(error_of(R"({"leaseSeconds":0})"), HasSubstr("leaseSeconds"));
  EXPECT_THAT(error_of(R"({"requestRundown":1})"), HasSubstr("requestRundown"));
}

TEST(TraceBody, TurnsDotnetMonitorsProfilesIntoOurs) {
  const auto request =
      record_request({.profile = "Cpu,Metrics,Http,logs,gc-verbose", .metrics_seconds = 5});
  ASSERT_TRUE(request) << request.error().what;
  EXPECT_EQ(request->providers.profiles, "dotnet-common,dotnet-sampled-thread-time,gc-verbose");
  const auto parsed = ops::parse_selection(request->providers);
  ASSERT_TRUE(parsed) << parsed.error().what;
  bool counters = false;
  for (const auto& one : parsed->providers)
    counters = counters || (one.provider.name == "System.Runtime" &&
                            one.provider.arguments == "EventCounterIntervalSec=5");
  EXPECT_TRUE(counters);
  const auto wrong = record_request({.profile = "cpu,nonsense"});
  ASSERT_FALSE(wrong);
  EXPECT_THAT(wrong.error().what, HasSubstr("profile: unknown profile 'nonsense'"));
}

}  // namespace
}  // namespace clrscope::http
