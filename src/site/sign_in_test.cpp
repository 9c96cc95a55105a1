#include <gtest/gtest.h>

#include "site/failures.h"
#include "site/sign_in_page.h"

namespace clrscope::site {
namespace {

TEST(Failures, AreBoundedAndForgotten) {
  Failures failures;
  const TraceTime start{};
  for (std::size_t i = 0; i < Failures::kMostAddresses + 100; ++i)
    failures.note(std::to_string(i), start);
  EXPECT_EQ(failures.addresses(), Failures::kMostAddresses);
  for (std::size_t i = 0; i <= Failures::kMost; ++i) failures.note("a", start);
  EXPECT_TRUE(failures.note("a", start));
  EXPECT_FALSE(failures.note("a", start + std::chrono::minutes{2}));
}

TEST(SignInPage, LeadsNowhereElse) {
  EXPECT_EQ(own_place("/stacks?pid=7"), "/stacks?pid=7");
  for (const auto* place : {"", "//evil.example", "http://evil.example", "/\\evil.example",
                            "/a\r\nSet-Cookie: x=y", "/\xff", "/a b"})
    EXPECT_EQ(own_place(place), "/") << place;
}

TEST(SignInPage, EscapesWhatWasSent) {
  const auto page =
      sign_in_page({.key_word = "key", .key_command = "<i>", .serve_command = "serve"}, "/b",
                   "/\"><script>alert(1)</script>", "<b>");
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("<i>"), std::string::npos);
}

}  // namespace
}  // namespace clrscope::site
