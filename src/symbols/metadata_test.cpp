#include "symbols/metadata.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "base/test_data.h"
#include "symbols/signature.h"

namespace clrscope {
namespace {

// What the C# compiler made of tests/data/inspect/shop.cs.
class ShopMetadata : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file{test_data("inspect/shop.metadata"), std::ios::binary};
    bytes_.assign(std::istreambuf_iterator<char>{file}, {});
    auto opened = Metadata::open(std::make_unique<WholeMetadata>(bytes_));
    ASSERT_TRUE(opened) << opened.error().what;
    metadata_ = std::make_unique<Metadata>(*std::move(opened));
  }

  std::uint32_t method(std::string_view name) {
    for (std::uint32_t row = 1; row <= metadata_->rows(Metadata::kMethodDef); ++row)
      if (metadata_->method_name(0x06000000 | row) == name) return 0x06000000 | row;
    return 0;
  }
  std::string arguments(std::string_view name) {
    SignatureNames names;
    names.type = [&](std::uint32_t token) { return metadata_->own_name(token); };
    names.handle = [](std::uint64_t) { return std::string{"?"}; };
    return arguments_of_signature(metadata_->method_signature(method(name)), names);
  }

  std::vector<std::uint8_t> bytes_;
  std::unique_ptr<Metadata> metadata_;
};

TEST_F(ShopMetadata, NamesTypesWithNamespaceAndNesting) {
  std::vector<std::string> names;
  for (std::uint32_t row = 1; row <= metadata_->rows(Metadata::kTypeDef); ++row)
    names.push_back(metadata_->type_name(0x02000000 | row));
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  EXPECT_TRUE(has("Shop.Cart`1"));
  EXPECT_TRUE(has("Shop.Cart`1+Line"));
  EXPECT_TRUE(has("Shop.Cart`1+Line+Part"));
  EXPECT_TRUE(has("Shop.Program"));
  EXPECT_EQ(metadata_->type_name(0x02000000), "");
  EXPECT_EQ(metadata_->type_name(0x02ffffff), "");
}

TEST_F(ShopMetadata, WritesArgumentsAsPeopleReadThem) {
  EXPECT_EQ(arguments("Add"),
            "(int, string, !0&, System.Collections.Generic.List`1<System.Collections.Generic."
            "Dictionary`2<string,!0[]>>)");
  EXPECT_EQ(arguments("Map"), "(System.Func`2<!0,!!0>, int[,], object[])");
  EXPECT_EQ(arguments("Raw"), "(int*, fnptr void(int), Part<!0>)");
  EXPECT_EQ(arguments("Main"), "()");
}

TEST_F(ShopMetadata, SaysWhichTypeHasAMethod) {
  EXPECT_EQ(metadata_->type_name(metadata_->declaring_type(method("Add"))), "Shop.Cart`1");
  EXPECT_EQ(metadata_->type_name(metadata_->declaring_type(method("Main"))), "Shop.Program");
  EXPECT_EQ(metadata_->declaring_type(0x06000000), 0u);
  EXPECT_EQ(metadata_->declaring_type(0x06ffffff), 0u);
  EXPECT_EQ(metadata_->declaring_type(0x0a000001), 0u);
  EXPECT_FALSE(metadata_->is_native_call(method("Add")));
}

TEST_F(ShopMetadata, NamesFields) {
  std::vector<std::string> names;
  for (std::uint32_t row = 1; row <= metadata_->rows(Metadata::kField); ++row)
    names.push_back(metadata_->field_name(0x04000000 | row));
  EXPECT_NE(std::find(names.begin(), names.end(), "Count"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "items"), names.end());
}

TEST_F(ShopMetadata, IsRefusedOrReadAtEveryLength) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    auto cut = Metadata::open(std::make_unique<WholeMetadata>(Bytes{bytes_}.first(size)));
    if (cut) {
      EXPECT_EQ(cut->rows(Metadata::kTypeDef), metadata_->rows(Metadata::kTypeDef));
    }
  }
}

TEST(Signature, ReadsNumbersOfEveryWidth) {
  const auto read = [](std::vector<std::uint8_t> bytes) {
    ByteReader in{bytes};
    return read_compressed(in);
  };
  EXPECT_EQ(read({0x03}), 3u);
  EXPECT_EQ(read({0x80, 0x80}), 0x80u);
  EXPECT_EQ(read({0xbf, 0xff}), 0x3fffu);
  EXPECT_EQ(read({0xc0, 0x00, 0x40, 0x00}), 0x4000u);
}

TEST(Signature, IsEmptyWhenItMakesNoSense) {
  SignatureNames names;
  names.type = [](std::uint32_t) { return std::string{"T"}; };
  names.handle = [](std::uint64_t) { return std::string{"?"}; };
  const auto text = [&](std::vector<std::uint8_t> bytes) {
    return arguments_of_signature(bytes, names);
  };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({0x06, 0x08}), "");                           // a field
  EXPECT_EQ(text({0x00, 0x02, 0x01, 0x08}), "");               // an argument is missing
  EXPECT_EQ(text({0x00, 0x01, 0x01, 0x7f}), "");               // no such type
  EXPECT_EQ(text(std::vector<std::uint8_t>(4000, 0x0f)), "");  // a pointer to a pointer to …
  EXPECT_EQ(text({0x00, 0xdf, 0xff, 0xff, 0xff, 0x01}), "");   // half a billion arguments
  EXPECT_EQ(text({0x00, 0x01, 0x01, 0x1d, 0x12, 0x05}), "(T[])");
}

}  // namespace
}  // namespace clrscope
