#include "http/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/io.h"

namespace clrscope::http {
namespace {

const WallTime kNow{std::chrono::seconds{1'800'000'000}};

class KeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = (std::filesystem::temp_directory_path() / "keysXXXXXX").string();
    ASSERT_TRUE(::mkdtemp(folder.data()));
    folder_ = folder + "/state";
  }
  void TearDown() override {
    std::filesystem::remove_all(std::filesystem::path{folder_}.parent_path());
  }
  Keys::Made make(const std::string& name, std::optional<WallTime> expires = {}) {
    auto made = Keys{folder_}.create(name, ScopeSet{}.add(Scope::kRead), expires, kNow);
    EXPECT_TRUE(made) << made.error().what;
    return *made;
  }
  std::string folder_;
};

TEST_F(KeysTest, AKeyIsFoundByItsWordOnly) {
  const auto made = make("reader");
  Keys keys{folder_};
  ASSERT_TRUE(keys.refresh(kNow));
  const auto found = keys.find(made.word, kNow);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->name, "reader");
  EXPECT_TRUE(found->scopes.has(Scope::kRead));
  EXPECT_FALSE(found->scopes.has(Scope::kTrace));
  EXPECT_FALSE(keys.find(made.word + "x", kNow));
  EXPECT_FALSE(keys.find(made.key.id, kNow));
  EXPECT_FALSE(keys.find(made.key.digest, kNow));
  EXPECT_FALSE(keys.find("", kNow));
}

TEST_F(KeysTest, TheFileHoldsNoWordAndIsForItsOwnerAlone) {
  const auto made = make("reader");
  const auto text = read_file(folder_ + "/keys.json");
  ASSERT_TRUE(text);
  EXPECT_EQ(text->find(made.word), std::string::npos);
  EXPECT_EQ(text->find(made.word.substr(4)), std::string::npos);
  struct stat file {
  }, folder{};
  ASSERT_EQ(::stat((folder_ + "/keys.json").c_str(), &file), 0);
  ASSERT_EQ(::stat(folder_.c_str(), &folder), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  EXPECT_EQ(folder.st_mode & 0777, 0700U);
}

// Made by somebody else: by a child of another user where we are root.
bool give_away(const std::string& path) { return ::chown(path.c_str(), 65534, 65534) == 0; }

TEST_F(KeysTest, AFolderOfAnotherUserIsRefusedForRootToo) {
  const auto made = make("reader");
  if (!give_away(folder_)) GTEST_SKIP() << "only root can give a folder away";
  Keys keys{folder_};
  const auto read = keys.refresh(kNow);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("belongs to user 65534"), std::string::npos);
  EXPECT_FALSE(keys.find(made.word, kNow));
  EXPECT_FALSE(Keys{folder_}.create("other", {}, {}, kNow));
}

TEST_F(KeysTest, AFileOfAnotherUserOpensNothing) {
  const auto made = make("reader");
  if (!give_away(folder_ + "/keys.json")) GTEST_SKIP() << "only root can give a file away";
  Keys keys{folder_};
  EXPECT_FALSE(keys.refresh(kNow));
  EXPECT_FALSE(keys.find(made.word, kNow));
}

TEST_F(KeysTest, AFileThatOthersMayWriteOpensNothing) {
  const auto made = make("reader");
  ASSERT_EQ(::chmod((folder_ + "/keys.json").c_str(), 0622), 0);
  Keys keys{folder_};
  EXPECT_FALSE(keys.refresh(kNow));
  EXPECT_FALSE(keys.find(made.word, kNow));
}

TEST_F(KeysTest, LinksAreNotFollowed) {
  const auto made = make("reader");
  std::filesystem::rename(folder_, folder_ + "2");
  std::filesystem::create_directory_symlink(folder_ + "2", folder_);
  Keys through_link{folder_};
  EXPECT_FALSE(through_link.refresh(kNow));
  EXPECT_FALSE(through_link.find(made.word, kNow));

  std::filesystem::rename(folder_ + "2/keys.json", folder_ + "2/x");
  std::filesystem::create_symlink("x", folder_ + "2/keys.json");
  Keys file_link{folder_ + "2"};
  EXPECT_FALSE(file_link.refresh(kNow));
  EXPECT_FALSE(file_link.find(made.word, kNow));
}

TEST_F(KeysTest, AFolderThatTakesTheNameLaterIsNotRead) {
  make("reader");
  Keys running{folder_};
  ASSERT_TRUE(running.refresh(kNow));
  std::filesystem::rename(folder_, folder_ + "2");
  const auto foreign = make("foreign");  // makes a new folder of the old name
  ASSERT_TRUE(running.refresh(kNow));
  EXPECT_FALSE(running.find(foreign.word, kNow));
}

TEST_F(KeysTest, ARevokedKeyIsGoodNoMoreAfterARefresh) {
  const auto made = make("reader");
  Keys running{folder_};
  ASSERT_TRUE(running.refresh(kNow));
  ASSERT_TRUE(running.find(made.word, kNow));
  ASSERT_TRUE(Keys{folder_}.revoke("reader"));
  ASSERT_TRUE(running.refresh(kNow));
  EXPECT_FALSE(running.find(made.word, kNow));
  EXPECT_FALSE(running.good(made.key.id, kNow));
}

TEST_F(KeysTest, AnExpiredKeyIsGoodNoMore) {
  const auto made = make("reader", kNow + std::chrono::seconds{10});
  Keys keys{folder_};
  ASSERT_TRUE(keys.refresh(kNow));
  EXPECT_TRUE(keys.find(made.word, kNow + std::chrono::seconds{9}));
  EXPECT_FALSE(keys.find(made.word, kNow + std::chrono::seconds{10}));
  EXPECT_FALSE(keys.good(made.key.id, kNow + std::chrono::seconds{10}));
}

TEST_F(KeysTest, UseIsWrittenDown) {
  const auto made = make("reader");
  Keys keys{folder_};
  ASSERT_TRUE(keys.refresh(kNow));
  ASSERT_TRUE(keys.find(made.word, kNow + std::chrono::minutes{5}));
  ASSERT_TRUE(keys.refresh(kNow + std::chrono::minutes{5}));
  const auto all = Keys{folder_}.list();
  ASSERT_TRUE(all);
  EXPECT_EQ(all->at(0).used, kNow + std::chrono::minutes{5});
}

TEST_F(KeysTest, ADamagedFileLetsNobodyInAndIsNamed) {
  const auto made = make("reader");
  Keys keys{folder_};
  ASSERT_TRUE(keys.refresh(kNow));
  std::ofstream{folder_ + "/keys.json"} << "{\"keys\":[{";
  const auto read = keys.refresh(kNow);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().what.find("keys.json is damaged"), std::string::npos);
  EXPECT_FALSE(keys.find(made.word, kNow));
}

TEST_F(KeysTest, ARemovedFileRevokesAll) {
  const auto made = make("reader");
  Keys keys{folder_};
  ASSERT_TRUE(keys.refresh(kNow));
  std::filesystem::remove(folder_ + "/keys.json");
  ASSERT_TRUE(keys.refresh(kNow));
  EXPECT_FALSE(keys.find(made.word, kNow));
}

TEST_F(KeysTest, TwoKeysOfANameAreRevokedByIdOnly) {
  const auto one = make("twin");
  make("twin");
  EXPECT_FALSE(Keys{folder_}.revoke("twin"));
  EXPECT_TRUE(Keys{folder_}.revoke(one.key.id));
  EXPECT_TRUE(Keys{folder_}.revoke("twin"));
  EXPECT_FALSE(Keys{folder_}.revoke("twin"));
}

TEST_F(KeysTest, AFolderThatOthersMayWriteIsRefused) {
  std::filesystem::create_directory(folder_);
  ::chmod(folder_.c_str(), 0777);
  const auto made = Keys{folder_}.create("x", ScopeSet{}.add(Scope::kRead), {}, kNow);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, Errc::kDenied);
}

TEST(ParseKeys, RefusesAKeyWhoseEndCannotBeRead) {
  const std::string digest(64, 'a');
  const auto with = [&](const std::string& more) {
    return "{\"keys\":[{\"id\":\"a\",\"scopes\":\"read\",\"sha256\":\"" + digest + "\"" + more +
           "}]}";
  };
  EXPECT_TRUE(parse_keys(with("")));
  EXPECT_FALSE(parse_keys(with(",\"expires\":\"soon\"")));
  EXPECT_FALSE(parse_keys(with(",\"expires\":-1")));
  EXPECT_FALSE(
      parse_keys("{\"keys\":[{\"id\":\"a\",\"scopes\":\"all\",\"sha256\":\"" + digest + "\"}]}"));
}

}  // namespace
}  // namespace clrscope::http
