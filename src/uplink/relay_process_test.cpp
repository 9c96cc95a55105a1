#include "uplink/relay_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/io.h"
#include "uplink/frame.h"

namespace clrscope::uplink {
namespace {

// A script in place of clrscope-fleet that keeps what it was given.
class RelayProcessTest : public testing::Test {
 protected:
  RelayProcessTest() {
    std::signal(SIGPIPE, SIG_IGN);
    std::string name = testing::TempDir() + "relay.XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~RelayProcessTest() override { std::filesystem::remove_all(folder_); }

  std::string script(const std::string& body) const {
    const auto path = folder_ + "/program";
    std::ofstream{path} << "#!/bin/sh\n" << body << "\n";
    ::chmod(path.c_str(), 0700);
    return path;
  }
  std::vector<std::string> taken() const {
    FrameReader reader;
    reader.feed(read_file(folder_ + "/taken").value_or(""));
    std::vector<std::string> found;
    while (auto frame = reader.next()) found.push_back(frame->payload);
    return found;
  }
  std::string folder_;
};

TEST_F(RelayProcessTest, GivesFramesAndOptionsToTheRelay) {
  const auto program =
      script("echo \"$@\" > " + folder_ + "/words; exec cat > " + folder_ + "/taken");
  auto relay = RelayProcess::start({.program = program, .to = "grpc://x:1", .spool = "/s"}).value();
  ASSERT_TRUE(relay->send("one"));
  ASSERT_TRUE(relay->send("two"));
  EXPECT_EQ(relay->finish().value(), 0);
  EXPECT_EQ(taken(), (std::vector<std::string>{"one", "two", ""}));
  EXPECT_EQ(read_file(folder_ + "/words").value(), "relay --to grpc://x:1 --spool /s\n");
}

TEST_F(RelayProcessTest, StartsARelayThatDiedAgain) {
  const auto program = script("exec cat >> " + folder_ + "/taken");
  auto relay = RelayProcess::start({.program = program, .to = "grpc://x:1"}).value();
  ::kill(relay->pid(), SIGKILL);
  // The first ones may still fit into the pipe of the dead one.
  while (relay->restarts() == 0) ASSERT_TRUE(relay->send(std::string(1000, 'x')));
  ASSERT_TRUE(relay->send("after"));
  EXPECT_EQ(relay->finish().value(), 0);
  EXPECT_EQ(taken(), (std::vector<std::string>{"after", ""}));
}

TEST_F(RelayProcessTest, NamesAProgramThatIsMissing) {
  const auto missing = RelayProcess::start({.program = folder_ + "/none", .to = "grpc://x:1"});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().hint.find("clrscope-fleet"), std::string::npos);
}

}  // namespace
}  // namespace clrscope::uplink
