#include "symbols/bundle.h"

#include <gmock/gmock.h>

#include <string>

namespace clrscope {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;

constexpr std::string_view kMark =
    "\x8b\x12\x02\xb9\x6a\x61\x20\x38\x72\x7b\x93\x02\x14\xd7\xa0\x32"
    "\x13\xf5\xb9\xe6\xef\xae\x33\x18\xee\x3b\x2d\xce\x24\xb3\x6a\xae";

// A program as the SDK writes it: host, files, list.
class BundleTest : public testing::Test {
 protected:
  BundleTest() {
    out_.put("host ");
    place_of_header_ = out_.size();
    out_.write(std::uint64_t{0});
    out_.put(kMark);
  }

  void add(std::string_view path, std::string_view stored, std::uint64_t size,
           std::uint64_t packed_size = 0) {
    files_.write(static_cast<std::uint64_t>(out_.size()));
    files_.write(size);
    if (version_ >= 6) files_.write(packed_size);
    files_.write<std::uint8_t>(1);
    files_.write_varuint(path.size());
    files_.put(path);
    out_.put(stored);
    ++count_;
  }

  std::vector<std::uint8_t> program() {
    const auto header = static_cast<std::uint64_t>(out_.size());
    out_.write(version_);
    out_.write(0U);
    out_.write(count_);
    out_.write_varuint(2);
    out_.put("id");
    for (int i = 0; i < 5; ++i) out_.write(std::uint64_t{0});
    out_.put(files_.bytes());
    out_.patch(place_of_header_, header);
    return std::move(out_).take();
  }

  std::uint32_t version_ = 6;
  std::uint32_t count_ = 0;
  std::size_t place_of_header_ = 0;
  ByteWriter out_;
  ByteWriter files_;
};

TEST_F(BundleTest, GivesAFileByItsName) {
  add("Shop.deps.json", "{}", 2);
  add("Shop.dll", "MZ shop", 7);
  const auto file = file_in_bundle(program(), "Shop.dll");
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_THAT(*file, ElementsAreArray(as_bytes("MZ shop")));
}

TEST_F(BundleTest, KnowsTheHeaderOfOlderVersions) {
  version_ = 2;
  add("Shop.dll", "MZ shop", 7);
  EXPECT_TRUE(file_in_bundle(program(), "Shop.dll"));
}

TEST_F(BundleTest, UnpacksAPackedFile) {
  const std::string plain = "MZ shop";
  ByteWriter packed;  // one block that is stored as it is
  packed.write<std::uint8_t>(1);
  packed.write(static_cast<std::uint16_t>(plain.size()));
  packed.write(static_cast<std::uint16_t>(~plain.size()));
  packed.put(plain);
  add("Shop.dll", as_text(packed.bytes()), plain.size(), packed.size());
  const auto file = file_in_bundle(program(), "Shop.dll");
  ASSERT_TRUE(file) << file.error().what;
  EXPECT_EQ(as_text(*file), plain);
}

TEST_F(BundleTest, RefusesAFileThatRunsPastTheProgram) {
  add("Shop.dll", "MZ", std::uint64_t{1} << 40);
  add("Cart.dll", "MZ", 5000);
  const auto bytes = program();
  EXPECT_EQ(file_in_bundle(bytes, "Shop.dll").error().code, Errc::kCorrupt);
  EXPECT_THAT(file_in_bundle(bytes, "Cart.dll").error().what, HasSubstr("5000 bytes"));
}

TEST_F(BundleTest, FindsNothingInOtherPrograms) {
  add("Shop.dll", "MZ", 2);
  EXPECT_EQ(file_in_bundle(program(), "Cart.dll").error().code, Errc::kNotFound);
  EXPECT_EQ(file_in_bundle(as_bytes("host"), "Shop.dll").error().code, Errc::kNotFound);
  EXPECT_EQ(file_in_bundle(as_bytes(kMark), "Shop.dll").error().code, Errc::kNotFound);
  EXPECT_EQ(file_in_bundle({}, "Shop.dll").error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace clrscope
