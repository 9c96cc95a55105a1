#include "collect/machine/tracepoint_type.h"

#include <gtest/gtest.h>

#include "nettrace/payload.h"

namespace clrscope::collect {
namespace {

constexpr std::string_view kExec = R"(name: sched_process_exec
ID: 365
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:__data_loc char[] filename;	offset:8;	size:4;	signed:0;
	field:pid_t pid;	offset:12;	size:4;	signed:1;
	field:char comm[8];	offset:16;	size:8;	signed:0;
	field:unsigned long args[2];	offset:24;	size:16;	signed:0;

print fmt: "%s", __get_str(filename)
)";
constexpr std::string_view kExit = R"(name: sys_exit
ID: 22
format:
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:long id;	offset:8;	size:8;	signed:1;
	field:long ret;	offset:16;	size:8;	signed:1;
)";

perf::TracepointFormat format_of(std::string_view text, std::string_view system) {
  auto format = perf::parse_tracepoint_format(text);
  CHECK(format.has_value());
  format->system = system;
  return *std::move(format);
}

std::string text_at(const nettrace::PayloadPlan& plan, std::string_view name, Bytes payload) {
  const auto value = nettrace::read_field(plan, *plan.find(name), payload);
  return value ? nettrace::text_of(*value) : "?";
}

TEST(TracepointType, IsReadBackByItsOwnDescription) {
  const auto format = format_of(kExec, "sched");
  ByteWriter raw;
  raw.write<std::uint64_t>(0);
  raw.write<std::uint32_t>(40U | 5U << 16);
  raw.write<std::int32_t>(-3);
  raw.put(std::string_view{"bash\0xyz", 8});
  raw.write<std::uint64_t>(7);
  raw.write<std::uint64_t>(9);
  raw.put(std::string_view{"/bin\0\0\0\0", 8});
  const auto type = type_of_tracepoint(format);
  EXPECT_EQ(type.name, "sched:sched_process_exec");
  ASSERT_EQ(type.fields.size(), 4U);

  ByteWriter payload;
  put_tracepoint(format, raw.bytes(), payload);
  const auto plan = nettrace::make_plan(type, 8);
  EXPECT_EQ(text_at(plan, "filename", payload.bytes()), "/bin");
  EXPECT_EQ(text_at(plan, "comm", payload.bytes()), "bash");
  EXPECT_EQ(nettrace::read_field(plan, *plan.find("pid"), payload.bytes())->i, -3);
  const auto args = nettrace::read_field(plan, *plan.find("args"), payload.bytes());
  ASSERT_TRUE(args);
  EXPECT_EQ(args->count, 2U);
}

TEST(TracepointType, NamesSystemCalls) {
  const auto format = format_of(kExit, "raw_syscalls");
  ByteWriter raw;
  raw.write<std::uint64_t>(0);
  raw.write<std::int64_t>(257);
  raw.write<std::int64_t>(-2);
  ByteWriter payload;
  put_tracepoint(format, raw.bytes(), payload);
  const auto plan = nettrace::make_plan(type_of_tracepoint(format), 8);
  EXPECT_EQ(text_at(plan, "name", payload.bytes()), "openat");
  EXPECT_EQ(nettrace::read_field(plan, *plan.find("ret"), payload.bytes())->i, -2);
}

TEST(TracepointType, StaysReadableWhenTheKernelSaysLess) {
  const auto format = format_of(kExec, "sched");
  const auto plan = nettrace::make_plan(type_of_tracepoint(format), 8);
  for (const std::size_t size : {0U, 7U, 12U, 20U}) {
    const std::vector<std::uint8_t> raw(size, 0xff);
    ByteWriter payload;
    put_tracepoint(format, raw, payload);
    const auto decoded = nettrace::for_each_field(plan, payload.bytes(), [](auto&&...) {});
    EXPECT_EQ(decoded, nettrace::Decoded::kComplete) << size;
  }
}

}  // namespace
}  // namespace clrscope::collect
