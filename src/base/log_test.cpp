#include "base/log.h"

#include <gtest/gtest.h>

namespace clrscope {
namespace {

class Log : public testing::Test {
 protected:
  void TearDown() override { set_log_level(LogLevel::kInfo); }

  template <class F>
  static std::string stderr_of(F&& talk) {
    testing::internal::CaptureStderr();
    talk();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(Log, ShowsAnErrorWithItsHint) {
  const Error error{Errc::kDenied, "cannot attach to process 4312: Permission denied",
                    "run as the user that owns the process (app), or as root"};
  EXPECT_EQ(stderr_of([&] { log_error(error); }),
            "clrscope: cannot attach to process 4312: Permission denied\n"
            "  hint: run as the user that owns the process (app), or as root\n");
}

TEST_F(Log, ShowsAnErrorWithoutAHintAsOneLine) {
  EXPECT_EQ(stderr_of([] {
              log_error({Errc::kGone, "process 7 is gone"});
            }),
            "clrscope: process 7 is gone\n");
}

TEST_F(Log, EscapesWhatCouldCommandATerminal) {
  EXPECT_EQ(stderr_of([] {
              log_error({Errc::kGone, "process \x1b[2J\nclrscope: all is well", "\x1b]0;x\a"});
            }),
            "clrscope: process \\u001b[2J\\u000aclrscope: all is well\n"
            "  hint: \\u001b]0;x\\u0007\n");
  EXPECT_EQ(stderr_of([] { log(LogLevel::kInfo, "{}", "\x1b[1A\r"); }), "\\u001b[1A\\u000d\n");
}

TEST_F(Log, KeepsBelowTheLevelSilent) {
  EXPECT_EQ(stderr_of([] { log(LogLevel::kDebug, "not {}", "seen"); }), "");
  set_log_level(LogLevel::kDebug);
  EXPECT_EQ(stderr_of([] { log(LogLevel::kDebug, "now {}", "seen"); }), "clrscope: now seen\n");
}

TEST_F(Log, MarksWarnings) {
  EXPECT_EQ(stderr_of([] { log(LogLevel::kWarning, "{} events lost", 3); }),
            "clrscope: warning: 3 events lost\n");
}

}  // namespace
}  // namespace clrscope
