#include "http/audit.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "base/json_reader.h"

namespace clrscope::http {
namespace {

class AuditTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto folder = (std::filesystem::temp_directory_path() / "auditXXXXXX").string();
    ASSERT_TRUE(::mkdtemp(folder.data()));
    folder_ = folder;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  static Use use(const std::string& target) {
    return {.caller = "reader", .address = "a:1", .method = "GET", .target = target, .status = 200};
  }
  std::string folder_;
};

TEST_F(AuditTest, EachUseIsALineOfJson) {
  Audit audit{{.folder = folder_}};
  audit.note(use("/trace?pid=7"));
  auto odd = use("/x");
  odd.caller = "a\"b\n\xff";
  odd.process = "7 app";
  audit.note(odd);
  audit.flush();
  const auto lines = audit.last(10);
  ASSERT_EQ(lines.size(), 2U);
  for (const auto& line : lines) EXPECT_TRUE(read_json(line)) << line;
  EXPECT_EQ(*read_json(lines[0])->find("target")->text(), "/trace?pid=7");
  EXPECT_EQ(*read_json(lines[1])->find("process")->text(), "7 app");
  EXPECT_EQ(audit.last(1).size(), 1U);
  EXPECT_EQ(audit.last(1)[0], lines[1]);
  struct stat file {};
  ASSERT_EQ(::stat((folder_ + "/audit.ndjson").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
}

TEST_F(AuditTest, FilesAreBoundedInSizeAndNumber) {
  Audit audit{{.folder = folder_, .file_bytes = 2000, .files = 3}};
  for (int i = 0; i < 200; ++i) audit.note(use("/number/" + std::to_string(i)));
  audit.flush();
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator{folder_}) {
    ++files;
    EXPECT_LE(file.file_size(), 2000U);
  }
  EXPECT_EQ(files, 3U);
  const auto lines = audit.last(15);
  ASSERT_EQ(lines.size(), 15U);  // of two files
  EXPECT_NE(lines.back().find("/number/199"), std::string::npos);
  EXPECT_NE(lines.front().find("/number/185"), std::string::npos);
}

TEST_F(AuditTest, GoesOnWithTheFileOfTheRunBefore) {
  { Audit{{.folder = folder_}}.note(use("/one")); }
  Audit audit{{.folder = folder_}};
  audit.note(use("/two"));
  audit.flush();
  EXPECT_EQ(audit.last(10).size(), 2U);
}

TEST_F(AuditTest, FlushWaitsForWhatWasNotedBeforeItAndNoLonger) {
  Audit audit{{.folder = folder_}};
  std::jthread others{[&](const std::stop_token& stop) {
    while (!stop.stop_requested()) audit.note(use("/other"));
  }};
  for (int i = 0; i < 5; ++i) {
    const auto before = audit.state().written;
    audit.note(use("/mine"));
    audit.flush();
    const auto state = audit.state();
    EXPECT_GT(state.written + state.lost, before);
  }
}

TEST_F(AuditTest, WhatCannotBeWrittenIsCountedAndTold) {
  std::filesystem::create_directory(folder_ + "/audit.ndjson");  // a file cannot be there
  Audit audit{{.folder = folder_}};
  audit.note(use("/one"));
  audit.flush();
  EXPECT_EQ(audit.state().lost, 1U);
  EXPECT_NE(audit.state().trouble.find("audit.ndjson"), std::string::npos);
  std::filesystem::remove(folder_ + "/audit.ndjson");
  audit.note(use("/two"));
  audit.flush();
  EXPECT_EQ(audit.state().written, 1U);
  EXPECT_TRUE(audit.state().trouble.empty());
}

TEST_F(AuditTest, StaysInTheFolderThatWasCheckedWhateverItsNameLeadsTo) {
  Audit audit{{.folder = folder_}};
  const auto moved = folder_ + "-moved";
  std::filesystem::rename(folder_, moved);
  std::filesystem::create_directory(folder_);
  audit.note(use("/one"));
  audit.flush();
  EXPECT_EQ(audit.last(10).size(), 1U);
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  std::filesystem::remove_all(moved);
}

TEST(WithoutSecrets, TakesOutWhatLetsPeopleIn) {
  EXPECT_EQ(without_secrets("/sign-in?once=abc"), "/sign-in?once=…");
  EXPECT_EQ(without_secrets("/a?x=1&key=k&y=2"), "/a?x=1&key=…&y=2");
  EXPECT_EQ(without_secrets("/a?%6fnce=abc"), "/a?%6fnce=…");
  EXPECT_EQ(without_secrets("/a?pid=7"), "/a?pid=7");
}

}  // namespace
}  // namespace clrscope::http
