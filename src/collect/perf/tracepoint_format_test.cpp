#include "collect/perf/tracepoint_format.h"

#include <gtest/gtest.h>

namespace clrscope::collect::perf {
namespace {

constexpr std::string_view kExec = R"(name: sched_process_exec
ID: 365
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:__data_loc char[] filename;	offset:8;	size:4;	signed:0;
	field:pid_t pid;	offset:12;	size:4;	signed:1;
	field:const char * where;	offset:16;	size:8;	signed:0;
	field:char comm[8];	offset:24;	size:8;	signed:0;
	field:unsigned long args[2];	offset:32;	size:16;	signed:0;
	field:__rel_loc u8[] more;	offset:48;	size:4;	signed:0;

print fmt: "field:nonsense %s", __get_str(filename)
)";

std::vector<std::uint8_t> raw_exec() {
  ByteWriter out;
  out.write<std::uint64_t>(0);
  out.write<std::uint32_t>(56U | 5U << 16);  // "/bin\0"
  out.write<std::int32_t>(-3);
  out.write<std::uint64_t>(0xffffffffffffffff);
  out.put(std::string_view{"bash\0xyz", 8});
  out.write<std::uint64_t>(1);
  out.write<std::uint64_t>(2);
  out.write<std::uint32_t>(4U | 2U << 16);  // 4 bytes after this field
  out.write<std::uint32_t>(0);
  out.put(std::string_view{"/bin\0\0\0\0", 8});
  return std::move(out).take();
}

TEST(TracepointFormat, ReadsNameIdAndFields) {
  const auto format = parse_tracepoint_format(kExec);
  ASSERT_TRUE(format.has_value());
  EXPECT_EQ(format->name, "sched_process_exec");
  EXPECT_EQ(format->id, 365U);
  ASSERT_EQ(format->fields.size(), 8U);
  EXPECT_EQ(format->find("args")->type, "unsigned long[2]");
  EXPECT_EQ(format->find("where")->type, "const char *");
}

TEST(TracepointFormat, DecodesEveryKindOfField) {
  const auto format = parse_tracepoint_format(kExec);
  const auto raw = raw_exec();
  EXPECT_EQ(std::get<std::string_view>(*format->value("filename", raw)), "/bin");
  EXPECT_EQ(format->integer("pid", raw), -3);
  EXPECT_EQ(std::get<std::uint64_t>(*format->value("where", raw)), ~std::uint64_t{0});
  EXPECT_EQ(std::get<std::string_view>(*format->value("comm", raw)), "bash");
  EXPECT_EQ(std::get<Bytes>(*format->value("args", raw)).size(), 16U);
  EXPECT_EQ(std::get<Bytes>(*format->value("more", raw))[0], '/');
  EXPECT_FALSE(format->value("nothing", raw).has_value());
}

TEST(TracepointFormat, AFieldBeyondTheBytesHasNoValue) {
  const auto format = parse_tracepoint_format(kExec);
  auto raw = raw_exec();
  raw[10] = 0xff;  // the text's size
  EXPECT_FALSE(format->value("filename", raw).has_value());
  raw.resize(14);
  EXPECT_FALSE(format->value("pid", raw).has_value());
}

TEST(TracepointFormat, RefusesTextWithoutId) {
  EXPECT_FALSE(parse_tracepoint_format("name: x\n").has_value());
  EXPECT_FALSE(parse_tracepoint_format("").has_value());
  EXPECT_FALSE(parse_tracepoint_format("name: x\nID: 1\n\tfield:int a;\toffset:-1;\n").has_value());
}

TEST(TracepointFormat, DescribesInOneLine) {
  const auto format = parse_tracepoint_format(kExec);
  EXPECT_TRUE(describe(*format, raw_exec()).starts_with("filename=/bin pid=-3 where=0xffff"));
}

TEST(SyscallNames, KnowsOldAndNewNumbers) {
  EXPECT_EQ(syscall_name(0), "read");
  EXPECT_EQ(syscall_name(257), "openat");
  EXPECT_EQ(syscall_name(202), "futex");
  EXPECT_EQ(syscall_name(298), "perf_event_open");
  EXPECT_EQ(syscall_name(435), "clone3");
  EXPECT_EQ(syscall_name(-1), "");
  EXPECT_EQ(syscall_name(400), "");
  EXPECT_EQ(syscall_name(100000), "");
}

}  // namespace
}  // namespace clrscope::collect::perf
