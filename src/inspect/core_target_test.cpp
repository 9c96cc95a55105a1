// Cores on disk, and the files beside them that fill their gaps.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/io.h"
#include "inspect/module_files.h"
#include "inspect/target.h"
#include "inspect/test_core.h"

namespace clrscope::inspect {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CoreOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = "/tmp/clrscope-core-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, Bytes bytes) const {
    const auto path = folder_ + "/" + name;
    std::ofstream{path, std::ios::binary} << as_text(bytes);
    return path;
  }
  // Our own executable: a real ELF file with a build-id.
  void make_library() { library_ = read_file("/proc/self/exe", std::size_t{1} << 30).value(); }
  // A core that has only the headers of a mapped file.
  TestCore core_with(const std::string& path, std::string_view head, std::uint64_t size) const {
    TestCore core;
    core.add_process(5, "x");
    core.add_files({{0x100000, 0x100000 + size, 0, path}});
    core.add_memory(0x100000, std::string{head}, PF_R);
    return core;
  }
  static std::string read(Target& target, std::uint64_t address, std::size_t size) {
    std::string out(size, '\0');
    out.resize(target.memory().read(address, {reinterpret_cast<std::uint8_t*>(out.data()), size}));
    return out;
  }

  std::string folder_;
  std::string library_;
};

constexpr std::uint64_t kBase = 0x100000;

TEST_F(CoreOnDisk, FillsReadOnlyPagesFromTheFileOfTheSameBuild) {
  make_library();
  const auto elf = ElfFile::parse(as_bytes(library_));
  ASSERT_TRUE(elf.has_value());
  if (elf->build_id().empty()) GTEST_SKIP() << "this program was linked without a build-id";
  const auto path = write("lib.so", as_bytes(library_));
  const auto size = (library_.size() + 4095) / 4096 * 4096;
  const auto core = core_with(path, library_.substr(0, 4096), size);
  const auto target = open_core(write("core", core.bytes()));
  ASSERT_TRUE(target.has_value()) << target.error().what;
  for (const auto& segment : elf->segments()) {
    if (segment.type != PT_LOAD) continue;
    // Mapped here as one piece: only where address and offset agree it is what a loader maps.
    if (segment.vaddr != segment.offset) continue;
    const auto at = std::max<std::uint64_t>(segment.offset, 4096);
    const auto got = read(**target, kBase + at, 64);
    if ((segment.flags & PF_W) != 0)
      EXPECT_EQ(got, "");
    else
      EXPECT_EQ(got, library_.substr(at, 64));
  }
  EXPECT_TRUE((*target)->open_file(path).has_value());
}

TEST_F(CoreOnDisk, NeverReadsAnotherBuild) {
  make_library();
  const auto id = ElfFile::parse(as_bytes(library_))->build_id();
  if (id.empty()) GTEST_SKIP() << "this program was linked without a build-id";
  std::string note;
  for (std::size_t i = 0; i < id.size(); i += 2)
    note += static_cast<char>(std::stoi(id.substr(i, 2), nullptr, 16));
  auto other = library_;
  const auto at = other.find(note);
  ASSERT_LT(at, 4096U);
  other[at] = static_cast<char>(other[at] ^ 1);
  const auto path = write("lib.so", as_bytes(other));
  const auto core = core_with(path, library_.substr(0, 4096), 1 << 20);
  const auto target = open_core(write("core", core.bytes()));
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(read(**target, kBase + 8192, 64), "");
  const auto file = (*target)->open_file(path);
  ASSERT_FALSE(file.has_value());
  EXPECT_THAT(file.error().what, HasSubstr("but the core was made with"));
}

TEST_F(CoreOnDisk, NeverReadsAFileWithoutEvidence) {
  make_library();
  const auto path = write("lib.so", as_bytes(library_));
  TestCore core;
  core.add_files({{kBase, kBase + 0x10000, 0, path}});
  core.add_memory(0x1000, "elsewhere");
  const auto target = open_core(write("core", core.bytes()));
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(read(**target, kBase + 8192, 64), "");
  EXPECT_EQ((*target)->open_file(path).error().code, Errc::kUnsupported);
  EXPECT_TRUE((*target)->open_file(folder_ + "/core").has_value()) << "was not mapped";
}

// A managed module of one read-only and one writable section.
std::string small_image(char stamp) {
  std::string image(0x3000, '\0');
  const auto put = [&](std::size_t at, auto value) {
    std::memcpy(&image[at], &value, sizeof value);
  };
  image[0] = 'M', image[1] = 'Z';
  put(0x3c, std::uint32_t{0x80});
  put(0x80, std::uint32_t{0x4550});
  put(0x84, std::uint16_t{0x8664});
  put(0x86, std::uint16_t{2});
  image[0x88] = stamp;
  put(0x94, std::uint16_t{240});
  put(0x98, std::uint16_t{0x20b});
  std::size_t section = 0x98 + 240;
  for (const auto& [offset, flags] :
       {std::pair{0x1000U, 0x60000020U}, std::pair{0x2000U, 0xc0000040U}}) {
    put(section + 8, std::uint32_t{0x1000});
    put(section + 12, std::uint32_t{offset});
    put(section + 16, std::uint32_t{0x1000});
    put(section + 20, std::uint32_t{offset});
    put(section + 36, std::uint32_t{flags});
    section += 40;
  }
  std::fill_n(image.begin() + 0x1000, 0x1000, 't');
  std::fill_n(image.begin() + 0x2000, 0x1000, 'd');
  return image;
}

TEST_F(CoreOnDisk, FillsAManagedModuleThatHasItsHeaderInTheCore) {
  const auto image = small_image('a');
  const auto path = write("m.dll", as_bytes(image));
  TestCore core;
  core.add_files(
      {{kBase, kBase + 0x2000, 0, path}, {kBase + 0x2000, kBase + 0x3000, 0x2000, path}});
  core.add_memory(kBase, image.substr(0, 4096), PF_R);
  const auto target = open_core(write("core", core.bytes()));
  ASSERT_TRUE(target.has_value());
  EXPECT_EQ(read(**target, kBase + 0x1800, 0x1000), std::string(0x800, 't')) << "data may differ";
  EXPECT_TRUE((*target)->mappings()->at(0).executable);
  EXPECT_FALSE((*target)->mappings()->at(1).executable);
  const auto other = core_with(path, small_image('b').substr(0, 4096), 0x3000);
  const auto refused = open_core(write("core2", other.bytes()));
  EXPECT_EQ(read(**refused, kBase + 0x1800, 16), "");
}

TEST_F(CoreOnDisk, FillsAManagedModuleWithoutHeaderOnlyOnTheMachineOfTheCore) {
  make_library();
  if (ElfFile::parse(as_bytes(library_))->build_id().empty())
    GTEST_SKIP() << "this program was linked without a build-id";
  const auto module = write("m.dll", as_bytes(small_image('a')));
  const auto library = write("lib.so", as_bytes(library_));
  const auto read_module = [&](const std::string& native) {
    TestCore core;
    core.add_files({{kBase, kBase + 0x3000, 0, module}, {0x900000, 0x910000, 0, native}});
    core.add_memory(0x900000, library_.substr(0, 4096), PF_R);
    const auto target = open_core(write("core", core.bytes()));
    return target ? read(**target, kBase + 0x1800, 4) : target.error().what;
  };
  EXPECT_EQ(read_module(library), "tttt");
  EXPECT_EQ(read_module(folder_ + "/none.so"), "");
  // Changed after the core was written.
  const auto core = folder_ + "/core";
  EXPECT_EQ(read_module(library), "tttt");
  const timespec long_ago[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, core.c_str(), long_ago, 0), 0);
  const auto target = open_core(core);
  EXPECT_EQ(read(**target, kBase + 0x1800, 4), "");
}

// What compression makes no smaller.
std::string make_noise() {
  std::string noise(600'000, '\0');
  std::uint32_t word = 1;
  for (auto& c : noise) c = static_cast<char>((word = word * 1664525 + 1013904223) >> 24);
  return noise;
}

TEST_F(CoreOnDisk, IsReadCompressed) {
  TestCore core;
  core.add_process(5, "x");
  const auto noise = make_noise();
  core.add_memory(0x100000, noise);
  core.add_memory(0x1000, std::string(100'000, '\0') + "the end");
  const auto path = write("core", core.bytes());
  for (const auto* pack : {"gzip -k ", "zstd -q -k "})
    ASSERT_EQ(std::system((pack + path).c_str()), 0);
  for (const auto* end : {"", ".gz", ".zst"}) {
    const auto target = open_core(path + end);
    ASSERT_TRUE(target.has_value()) << target.error().what;
    EXPECT_EQ(read(**target, 0x1000 + 100'000, 100), "the end");
    EXPECT_EQ((*target)->pid(), 5);
  }
  std::filesystem::resize_file(path + ".zst", 400'000);
  const auto cut = open_core(path + ".zst");
  ASSERT_TRUE(cut.has_value()) << cut.error().what;
  EXPECT_THAT((*cut)->remarks(),
              ElementsAre(HasSubstr("the core is truncated"), HasSubstr("damaged or truncated")));
  EXPECT_EQ(read(**cut, 0x100000, 1000), noise.substr(0, 1000));
}

TEST_F(CoreOnDisk, WithAWrongChecksumIsReadWithAWord) {
  TestCore core;
  core.add_process(5, "x");
  core.add_memory(0x1000, make_noise());
  const auto path = write("core", core.bytes());
  ASSERT_EQ(std::system(("zstd -q " + path).c_str()), 0);
  EXPECT_THAT((*open_core(path + ".zst"))->remarks(), IsEmpty());
  std::fstream file{path + ".zst", std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(-1, std::ios::end);  // of the checksum that ends it
  const auto last = static_cast<char>(file.peek());
  file.seekp(-1, std::ios::end);
  file.put(static_cast<char>(last ^ 1));
  file.close();
  const auto damaged = open_core(path + ".zst");
  ASSERT_TRUE(damaged.has_value()) << damaged.error().what;
  EXPECT_THAT((*damaged)->remarks(), Contains(HasSubstr("damaged or truncated")));
}

TEST_F(CoreOnDisk, ThatIsNoneIsRefusedInWords) {
  for (const auto& path : {write("text", as_bytes("hello")), folder_, folder_ + "/none"}) {
    const auto target = open_core(path);
    ASSERT_FALSE(target.has_value());
    EXPECT_THAT(target.error().what, HasSubstr(path));
  }
}

}  // namespace
}  // namespace clrscope::inspect
