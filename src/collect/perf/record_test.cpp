#include "collect/perf/record.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "collect/perf/registers_x64.h"

namespace clrscope::collect::perf {
namespace {

constexpr std::uint64_t kTail =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;

// Writes a record as the kernel does; the size is filled in at the end.
class RecordBytes {
 public:
  RecordBytes(std::uint32_t type, std::uint16_t misc) {
    out_.write(perf_event_header{type, misc, 0});
  }

  template <class T>
  RecordBytes& add(T value) {
    out_.write(value);
    return *this;
  }
  RecordBytes& text(std::string_view value) {
    out_.put(value);
    do out_.write(std::uint8_t{0});
    while (out_.size() % 8 != 0);
    return *this;
  }
  RecordBytes& bytes(std::size_t count, std::uint8_t value) {
    for (std::size_t i = 0; i < count; ++i) out_.write(value);
    return *this;
  }
  RecordBytes& tail(std::uint64_t id) {
    return add<std::uint32_t>(100)
        .add<std::uint32_t>(101)
        .add<std::uint64_t>(5000)
        .add<std::uint32_t>(3)
        .add<std::uint32_t>(0)
        .add(id);
  }
  std::vector<std::uint8_t> done() {
    out_.patch(6, static_cast<std::uint16_t>(out_.size()));
    return std::move(out_).take();
  }

 private:
  ByteWriter out_;
};

template <class T>
T parsed(const RecordParser& parser, Bytes bytes) {
  const auto record = parser.parse(bytes);
  if (!record) {
    ADD_FAILURE() << record.error().what;
    return {};
  }
  const auto* value = std::get_if<T>(&*record);
  if (value == nullptr) {
    ADD_FAILURE() << "other kind of record: " << record->index();
    return {};
  }
  return *value;
}

RecordParser tail_parser() { return RecordParser{RecordLayout{.sample_type = kTail}}; }

TEST(PerfRecord, SampleYieldsChainRegistersAndTheCopiedPartOfTheStack) {
  const RecordLayout layout{.sample_type = kTail | PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD |
                                           PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
                                           PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                            .user_registers = 1U << x64::kRbp | 1U << x64::kRsp | 1U << x64::kRip};
  const auto bytes = RecordBytes{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL}
                         .add<std::uint64_t>(77)      // id
                         .add<std::uint64_t>(0xff00)  // ip
                         .add<std::uint32_t>(100)
                         .add<std::uint32_t>(101)
                         .add<std::uint64_t>(5000)  // time
                         .add<std::uint32_t>(3)
                         .add<std::uint32_t>(0)
                         .add<std::uint64_t>(1001001)  // period
                         .add<std::uint64_t>(5)        // chain
                         .add(static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL))
                         .add<std::uint64_t>(0xff00)
                         .add(static_cast<std::uint64_t>(PERF_CONTEXT_USER))
                         .add<std::uint64_t>(0x10)
                         .add<std::uint64_t>(0x20)
                         .add<std::uint32_t>(4)
                         .add<std::uint32_t>(0xabcd)  // raw
                         .add<std::uint64_t>(PERF_SAMPLE_REGS_ABI_64)
                         .add<std::uint64_t>(0xb0)
                         .add<std::uint64_t>(0x50)
                         .add<std::uint64_t>(0x10)
                         .add<std::uint64_t>(32)
                         .bytes(32, 7)
                         .add<std::uint64_t>(24)
                         .done();
  RecordParser parser;
  parser.add(EventId{77}, EventIndex{2}, layout);
  const auto sample = parsed<Sample>(parser, bytes);
  EXPECT_EQ(sample.origin.event, EventIndex{2});
  EXPECT_EQ(sample.origin.id, EventId{77});
  EXPECT_EQ(sample.origin.process, ProcessId{100});
  EXPECT_EQ(sample.origin.thread, ThreadId{101});
  EXPECT_EQ(sample.origin.time.time_since_epoch().count(), 5000);
  EXPECT_EQ(sample.origin.cpu, 3U);
  EXPECT_EQ(sample.mode, CodeMode::kKernel);
  EXPECT_EQ(sample.ip, 0xff00U);
  EXPECT_EQ(sample.period, 1001001U);
  ASSERT_EQ(sample.callchain.kernel.size(), 1U);
  ASSERT_EQ(sample.callchain.user.size(), 2U);
  EXPECT_EQ(sample.callchain.user[1], 0x20U);
  EXPECT_EQ(sample.raw.size(), 4U);
  EXPECT_EQ(sample.registers.get(x64::kRsp), 0x50U);
  EXPECT_EQ(sample.registers.get(x64::kRip), 0x10U);
  EXPECT_FALSE(sample.registers.get(x64::kRax).has_value());
  EXPECT_EQ(sample.stack.size(), 24U);
}

TEST(PerfRecord, SampleOfAKernelThreadHasNeitherRegistersNorStack) {
  const RecordLayout layout{.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
                            .user_registers = x64::kGeneralRegisters};
  const auto bytes = RecordBytes{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL}
                         .add<std::uint64_t>(PERF_SAMPLE_REGS_ABI_NONE)
                         .add<std::uint64_t>(0)
                         .done();
  const auto sample = parsed<Sample>(RecordParser{layout}, bytes);
  EXPECT_TRUE(sample.registers.empty());
  EXPECT_TRUE(sample.stack.empty());
}

TEST(PerfRecord, MappingWithBuildId) {
  const auto bytes = RecordBytes{PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID}
                         .add<std::uint32_t>(100)
                         .add<std::uint32_t>(101)
                         .add<std::uint64_t>(0x1000)
                         .add<std::uint64_t>(0x2000)
                         .add<std::uint64_t>(0x3000)
                         .add<std::uint8_t>(20)
                         .bytes(3, 0)
                         .bytes(20, 0xab)
                         .add<std::uint32_t>(5)
                         .add<std::uint32_t>(2)
                         .text("/usr/lib/libc.so.6")
                         .tail(1)
                         .done();
  const auto m = parsed<Mapping>(tail_parser(), bytes);
  EXPECT_EQ(m.process, ProcessId{100});
  EXPECT_EQ(m.address, 0x1000U);
  EXPECT_EQ(m.size, 0x2000U);
  EXPECT_EQ(m.file_offset, 0x3000U);
  EXPECT_EQ(m.build_id.size(), 20U);
  EXPECT_EQ(m.inode, 0U);
  EXPECT_EQ(m.protection, 5U);
  EXPECT_EQ(m.path, "/usr/lib/libc.so.6");
  EXPECT_EQ(m.origin.time.time_since_epoch().count(), 5000);
}

TEST(PerfRecord, MappingWithInode) {
  const auto bytes = RecordBytes{PERF_RECORD_MMAP2, 0}
                         .add<std::uint32_t>(100)
                         .add<std::uint32_t>(101)
                         .add<std::uint64_t>(0x1000)
                         .add<std::uint64_t>(0x2000)
                         .add<std::uint64_t>(0)
                         .add<std::uint32_t>(8)
                         .add<std::uint32_t>(1)
                         .add<std::uint64_t>(4711)
                         .add<std::uint64_t>(0)
                         .add<std::uint32_t>(5)
                         .add<std::uint32_t>(2)
                         .text("//anon")
                         .tail(1)
                         .done();
  const auto m = parsed<Mapping>(tail_parser(), bytes);
  EXPECT_TRUE(m.build_id.empty());
  EXPECT_EQ(m.major, 8U);
  EXPECT_EQ(m.inode, 4711U);
}

TEST(PerfRecord, BuildIdLongerThanItsPlaceIsRefused) {
  const auto bytes = RecordBytes{PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID}
                         .bytes(32, 0)
                         .add<std::uint8_t>(21)
                         .bytes(23, 0)
                         .bytes(8, 0)
                         .text("x")
                         .tail(1)
                         .done();
  EXPECT_FALSE(tail_parser().parse(bytes).has_value());
}

TEST(PerfRecord, NameAfterExecSaysSo) {
  const auto bytes = RecordBytes{PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC}
                         .add<std::uint32_t>(7)
                         .add<std::uint32_t>(7)
                         .text("dotnet")
                         .tail(1)
                         .done();
  const auto name = parsed<ThreadName>(tail_parser(), bytes);
  EXPECT_TRUE(name.exec);
  EXPECT_EQ(name.name, "dotnet");
}

TEST(PerfRecord, ForkTellsAProcessFromAThread) {
  const auto fork = [](std::uint32_t child) {
    return RecordBytes{PERF_RECORD_FORK, 0}
        .add<std::uint32_t>(child)
        .add<std::uint32_t>(7)
        .add<std::uint32_t>(child + 1)
        .add<std::uint32_t>(7)
        .add<std::uint64_t>(900)
        .tail(1)
        .done();
  };
  EXPECT_FALSE(parsed<Task>(tail_parser(), fork(7)).is_process());
  EXPECT_TRUE(parsed<Task>(tail_parser(), fork(8)).is_process());
}

TEST(PerfRecord, SwitchOutByForceIsPreemption) {
  const auto bytes = RecordBytes{PERF_RECORD_SWITCH_CPU_WIDE,
                                 PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT}
                         .add<std::uint32_t>(9)
                         .add<std::uint32_t>(10)
                         .tail(1)
                         .done();
  const auto s = parsed<Switch>(tail_parser(), bytes);
  EXPECT_TRUE(s.out);
  EXPECT_TRUE(s.preempted);
  EXPECT_EQ(s.other_thread, ThreadId{10});
  EXPECT_EQ(s.origin.thread, ThreadId{101});
}

TEST(PerfRecord, LostRecordsAreCounted) {
  const auto bytes =
      RecordBytes{PERF_RECORD_LOST, 0}.add<std::uint64_t>(1).add<std::uint64_t>(42).tail(1).done();
  EXPECT_EQ(parsed<Lost>(tail_parser(), bytes).count, 42U);
}

TEST(PerfRecord, RecordOfAnotherEventIsRefused) {
  RecordParser parser;
  parser.add(EventId{77}, EventIndex{0}, {.sample_type = kTail});
  const auto bytes = RecordBytes{PERF_RECORD_SWITCH, 0}.tail(78).done();
  EXPECT_FALSE(parser.parse(bytes).has_value());
}

TEST(PerfRecord, EveryTruncationIsRefusedOrShorterButNeverRead) {
  const RecordLayout layout{.sample_type = kTail | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER};
  auto whole = RecordBytes{PERF_RECORD_SAMPLE, 0}
                   .bytes(32, 1)
                   .add<std::uint64_t>(2)
                   .bytes(16, 9)
                   .add<std::uint64_t>(16)
                   .bytes(16, 3)
                   .add<std::uint64_t>(16)
                   .done();
  const RecordParser parser{layout};
  EXPECT_TRUE(parser.parse(whole).has_value());
  for (std::size_t size = 8; size < whole.size(); ++size) {
    std::vector<std::uint8_t> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    cut[6] = static_cast<std::uint8_t>(size);
    EXPECT_FALSE(parser.parse(cut).has_value()) << size;
  }
}

TEST(PerfRecord, ChainLongerThanTheRecordIsRefused) {
  const auto bytes = RecordBytes{PERF_RECORD_SAMPLE, 0}
                         .add<std::uint64_t>(0x2000000000000001)
                         .add<std::uint64_t>(5)
                         .done();
  const RecordParser parser{RecordLayout{.sample_type = PERF_SAMPLE_CALLCHAIN}};
  EXPECT_FALSE(parser.parse(bytes).has_value());
}

TEST(PerfRecord, AddressesBeforeAnyMarkerBelongToTheInterruptedMode) {
  const std::uint64_t addresses[] = {1, 2, static_cast<std::uint64_t>(PERF_CONTEXT_GUEST), 3};
  const auto chain = split_callchain(
      {reinterpret_cast<const std::uint8_t*>(addresses), sizeof addresses}, CodeMode::kUser);
  EXPECT_EQ(chain.user.size(), 2U);
  EXPECT_TRUE(chain.kernel.empty());
}

}  // namespace
}  // namespace clrscope::collect::perf
