#include "sinks/sink_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sinks/test_events.h"

namespace clrscope::sinks {
namespace {

using testing::HasSubstr;

TEST(ParseSink, TakesKindTargetAndOptionsApart) {
  const auto address = parse_sink("ndjson:unix:/run/x.sock,interval=10s,block=yes");
  ASSERT_TRUE(address) << address.error().what;
  EXPECT_EQ(address->kind->name, "ndjson");
  EXPECT_EQ(address->target, "unix:/run/x.sock");
  EXPECT_EQ(address->duration("interval", {}).value(), std::chrono::seconds{10});
  EXPECT_TRUE(address->truth("block", false).value());
}

TEST(ParseSink, NamesTheKindsThereAreWhenOneIsUnknown) {
  const auto address = parse_sink("grafite:1.2.3.4:2003");
  ASSERT_FALSE(address);
  EXPECT_THAT(address.error().what, HasSubstr("'grafite'"));
  EXPECT_THAT(address.error().hint, HasSubstr("ndjson"));
}

TEST(ParseSink, AsksForATarget) {
  const auto address = parse_sink("ndjson");
  ASSERT_FALSE(address);
  EXPECT_THAT(address.error().what, HasSubstr("a target is required"));
}

TEST(ParseSink, RefusesAnOptionThatTheKindDoesNotHave) {
  const auto address = parse_sink("ndjson:-,color=red");
  ASSERT_FALSE(address);
  EXPECT_THAT(address.error().what, HasSubstr("'color'"));
  EXPECT_THAT(address.error().hint, HasSubstr("interval"));
}

TEST(ParseSink, RefusesAnOptionWithoutAValueAndAWrongOne) {
  EXPECT_FALSE(parse_sink("ndjson:-,block"));
  const auto address = parse_sink("ndjson:-,block=perhaps,interval=soon");
  ASSERT_TRUE(address);
  EXPECT_FALSE(address->truth("block", false));
  EXPECT_FALSE(address->duration("interval", {}));
}

TEST(SinkKinds, RefuseATargetThatCannotBeWrittenBeforeTheyBegin) {
  const TestFolder folder;
  const auto why = [](const std::string& to) {
    const auto address = parse_sink(to).value();
    const auto sink = address.kind->make(address, {});
    return sink ? std::string{} : sink.error().what;
  };
  for (const std::string kind : {"file:", "ndjson:"}) {
    EXPECT_THAT(why(kind + (folder / "none/x")), HasSubstr("No such file"));
    EXPECT_THAT(why(kind + (folder / "")), HasSubstr("Is a directory"));
    EXPECT_EQ(why(kind + (folder / "x")), "");
  }
  EXPECT_EQ(why("ctf:" + (folder / "new")), "");
  EXPECT_EQ(why("ctf:" + (folder / "")), "");
  std::ofstream{folder / "x"} << "x";
  EXPECT_THAT(why("ctf:" + (folder / "")), HasSubstr("is not empty"));
  EXPECT_THAT(why("ctf:" + (folder / "x")), HasSubstr("is not a folder"));
  EXPECT_THAT(why("ctf:" + (folder / "none/x")), HasSubstr("No such file"));
}

TEST(SinkKinds, HaveWhatHelpNeeds) {
  for (const auto* kind : sink_kinds()) {
    EXPECT_FALSE(kind->name.empty());
    EXPECT_FALSE(kind->summary.empty()) << kind->name;
    EXPECT_NE(kind->make, nullptr) << kind->name;
  }
}

}  // namespace
}  // namespace clrscope::sinks
