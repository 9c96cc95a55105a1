#include "nettrace/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nettrace/test_support.h"

namespace clrscope::nettrace {
namespace {

using ::testing::ElementsAre;

TEST(NettraceOrder, MergesTheThreadsBetweenSequencePoints) {
  const auto trace = V4Builder{}
                         .declare(1)
                         .event(7, 1, 50)
                         .event(7, 2, 70)
                         .event(8, 1, 40)
                         .event(8, 2, 60)
                         .sequence_point(75, {{7, 2}, {8, 2}})
                         .event(8, 3, 90)
                         .event(7, 3, 80)
                         .end();
  Reader reader;
  std::vector<std::int64_t> ticks;
  TimeOrder in_order{reader, [&](const Batch& batch) {
                       for (const auto& event : batch.events) ticks.push_back(event.ticks);
                       if (batch.sequence_point) ticks.push_back(-1);
                     }};
  ASSERT_TRUE(read_all(reader, trace, std::ref(in_order)));
  in_order.finish();
  EXPECT_THAT(ticks, ElementsAre(40, 50, 60, 70, -1, 80, 90));
  EXPECT_EQ(in_order.late(), 0U);
}

TEST(NettraceOrder, CountsWhatComesAfterItsSequencePoint) {
  const auto trace =
      V4Builder{}.declare(1).event(7, 1, 50).sequence_point(55, {}).event(8, 1, 40).end();
  Reader reader;
  TimeOrder in_order{reader, [](const Batch&) {}};
  ASSERT_TRUE(read_all(reader, trace, std::ref(in_order)));
  in_order.finish();
  EXPECT_EQ(in_order.late(), 1U);
}

TEST(NettraceOrder, KeepsEverythingOfARecordedTraceInAnyPieces) {
  for (const auto* name : {"net10-v4.nettrace", "net10-v3.netperf"}) {
    const auto trace = trace_file(name);
    Reader reader;
    Describer describer{reader};
    TraceTime last{TraceTime::min()};
    TimeOrder in_order{reader, [&](const Batch& batch) {
                         describer(batch);
                         for (const auto& event : batch.events) {
                           EXPECT_GE(event.time, last);
                           last = event.time;
                         }
                       }};
    ASSERT_TRUE(read_all(reader, trace, std::ref(in_order), 1000));
    in_order.finish();
    EXPECT_EQ(describer.text(), describe(trace)) << name;
  }
}

}  // namespace
}  // namespace clrscope::nettrace
