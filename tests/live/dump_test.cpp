// The four kinds of dump, written by real runtimes.
#include <elf.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>

#include "ipc/commands.h"
#include "live/target.h"

namespace clrscope::live {
namespace {

using ipc::DumpKind;
using testing::HasSubstr;

constexpr std::chrono::seconds kDumpPatience{60};

bool is_core(const std::string& path) {
  Elf64_Ehdr header{};
  std::ifstream file{path, std::ios::binary};
  if (!file.read(reinterpret_cast<char*>(&header), sizeof header)) return false;
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_type == ET_CORE &&
         header.e_phnum > 0;
}

std::int64_t size_of(const std::string& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? file.st_size : -1;
}

using DumpTest = LiveTest;

TEST_P(DumpTest, IsACoreOfEachKindAndTheLargerTheMoreItHolds) {
  const auto target = start_ready({"big-heap", "0.1"});
  const auto runtime = target->endpoint();
  std::map<DumpKind, std::int64_t> sizes;
  for (const auto kind : {DumpKind::kMini, DumpKind::kTriage, DumpKind::kHeap, DumpKind::kFull}) {
    const auto path = scratch_ / "core";
    const auto written = ipc::write_dump(*runtime, kind, path, kDumpPatience);
    ASSERT_TRUE(written) << written.error().what;
    EXPECT_TRUE(is_core(path)) << static_cast<int>(kind);
    struct stat file {};
    ASSERT_EQ(::stat(path.c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600U);
    sizes[kind] = size_of(path);
    RecordProperty("bytes_of_kind_" + std::to_string(static_cast<int>(kind)),
                   std::to_string(sizes[kind]));
    ASSERT_EQ(::unlink(path.c_str()), 0);
  }
  EXPECT_LT(sizes[DumpKind::kMini], sizes[DumpKind::kHeap]);
  EXPECT_LT(sizes[DumpKind::kTriage], sizes[DumpKind::kHeap]);
  EXPECT_LT(sizes[DumpKind::kHeap], sizes[DumpKind::kFull]);
  EXPECT_TRUE(ipc::process_info(*runtime, kPatience)) << "it lives on";
}

TEST_P(DumpTest, ThatCannotBeWrittenIsRefusedInWords) {
  const auto target = start_ready({"idle"});
  const auto written =
      ipc::write_dump(*target->endpoint(), DumpKind::kMini, "/nowhere/core", kDumpPatience);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().what, HasSubstr("/nowhere/core"));
  EXPECT_THAT(written.error().what, HasSubstr("No such file or directory"));
}

TEST_P(DumpTest, IsWrittenByARuntimeThatWaits) {
  auto port = ipc::ReversePort::listen(scratch_ / "port");
  ASSERT_TRUE(port) << port.error().what;
  const auto target = start({"idle"}, {{"DOTNET_DiagnosticPorts", (*port)->path()}});
  const auto runtime = (*port)->next_runtime(Deadline{kPatience});
  ASSERT_TRUE(runtime) << runtime.error().what;
  const auto endpoint = (*port)->endpoint(*runtime);
  const auto written =
      ipc::write_dump(*endpoint, DumpKind::kFull, scratch_ / "core", kDumpPatience);
  EXPECT_TRUE(written) << written.error().what;
  EXPECT_TRUE(is_core(scratch_ / "core"));
  ASSERT_TRUE(ipc::resume_runtime(*endpoint, kPatience));
  // createdump tells its progress on the target's own stdout.
  EXPECT_THAT(target->next_line(), HasSubstr("[createdump]"));
  EXPECT_TRUE(target->ready());
}

INSTANTIATE_TEST_SUITE_P(Runtimes, DumpTest, every_framework(), framework_name);

}  // namespace
}  // namespace clrscope::live
