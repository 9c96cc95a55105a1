// Records that a 6.18 kernel wrote of `sh` counting and starting `true` twice; the fuzz corpus.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <fstream>
#include <iterator>

#include "base/io.h"
#include "base/test_data.h"
#include "collect/perf/record.h"
#include "collect/perf/registers_x64.h"
#include "collect/perf/tracepoint_format.h"

namespace clrscope::collect::perf {
namespace {

std::string corpus(const char* name) {
  const auto text = read_file(test_data(std::string{"fuzz/perf/"} + name));
  if (!text) ADD_FAILURE() << text.error().what;
  return text.value_or("");
}

struct Recording {
  explicit Recording(const char* name) : bytes_(corpus(name)) {
    ByteReader in{as_bytes(bytes_)};
    in.skip(1);
    const RecordLayout layout{.sample_type = in.read<std::uint64_t>(),
                              .user_registers = in.read<std::uint64_t>()};
    const RecordParser parser{layout};
    while (in.remaining() >= sizeof(perf_event_header)) {
      perf_event_header header{};
      std::memcpy(&header, bytes_.data() + in.offset(), sizeof header);
      auto record = parser.parse(in.take(header.size));
      if (!record)
        ADD_FAILURE() << record.error().what;
      else
        records.push_back(*record);
    }
  }
  template <class T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& record : records)
      if (const auto* value = std::get_if<T>(&record)) found.push_back(*value);
    return found;
  }

  std::vector<Record> records;

 private:
  std::string bytes_;
};

TEST(PerfRecorded, TheLifeOfTheChildrenIsThere) {
  const Recording recording{"records-cpu"};
  std::size_t processes = 0;
  for (const auto& task : recording.all<Task>())
    processes += task.kind == Task::Kind::kFork && task.is_process();
  EXPECT_GE(processes, 1U);
  std::size_t execs = 0;
  for (const auto& name : recording.all<ThreadName>())
    execs += name.exec && (name.name == "sh" || name.name == "true");
  EXPECT_EQ(execs, 3U);
}

TEST(PerfRecorded, MappingsHaveBuildIdsAndPaths) {
  const Recording recording{"records-cpu"};
  std::size_t libc = 0;
  for (const auto& mapping : recording.all<Mapping>()) {
    if (mapping.path != "/usr/lib/x86_64-linux-gnu/libc.so.6") continue;
    ++libc;
    EXPECT_EQ(mapping.build_id.size(), 20U);
    EXPECT_EQ(mapping.address % 4096, 0U);
  }
  EXPECT_EQ(libc, 3U);
}

TEST(PerfRecorded, SamplesStandWhereTheirChainsBegin) {
  const Recording recording{"records-cpu"};
  const auto samples = recording.all<Sample>();
  ASSERT_GE(samples.size(), 2U);
  for (const auto& sample : samples) {
    EXPECT_EQ(sample.period, 1001001U);
    const auto& chain =
        sample.mode == CodeMode::kKernel ? sample.callchain.kernel : sample.callchain.user;
    ASSERT_FALSE(chain.empty());
    EXPECT_EQ(chain[0], sample.ip);
    if (sample.mode == CodeMode::kUser) {
      EXPECT_EQ(sample.registers.get(x64::kRip), sample.ip);
    }
    EXPECT_LE(sample.stack.size(), 256U);
  }
}

TEST(PerfRecorded, SwitchesGoOutAndIn) {
  const Recording recording{"records-switch"};
  std::size_t outs = 0;
  std::size_t ins = 0;
  for (const auto& s : recording.all<Switch>()) ++(s.out ? outs : ins);
  EXPECT_GT(outs, 0U);
  EXPECT_GT(ins, 0U);
}

TEST(PerfRecorded, TracepointsDecodeByTheirFormat) {
  const auto text = corpus("format-sched_switch");
  const auto format = parse_tracepoint_format(std::string_view{text}.substr(65));
  ASSERT_TRUE(format.has_value());
  const Recording recording{"records-switch"};
  const auto samples = recording.all<Sample>();
  ASSERT_FALSE(samples.empty());
  for (const auto& sample : samples) {
    EXPECT_EQ(format->integer("prev_pid", sample.raw),
              static_cast<std::int64_t>(sample.origin.thread));
    EXPECT_FALSE(std::get<std::string_view>(*format->value("prev_comm", sample.raw)).empty());
  }
}

TEST(PerfRecorded, ADataLocFieldIsText) {
  const auto text = corpus("format-sched_process_exec");
  const auto format = parse_tracepoint_format(std::string_view{text}.substr(65));
  ASSERT_TRUE(format.has_value());
  const Recording recording{"records-exec"};
  std::vector<std::string> files;
  for (const auto& sample : recording.all<Sample>())
    files.emplace_back(std::get<std::string_view>(*format->value("filename", sample.raw)));
  EXPECT_EQ(files, (std::vector<std::string>{"/bin/sh", "/bin/true", "/bin/true"}));
}

}  // namespace
}  // namespace clrscope::collect::perf
