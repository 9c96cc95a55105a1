// The same load under `perf record` and under us at the same time: the same number of samples.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>

#include "base/io.h"
#include "base/text.h"
#include "collect/perf/event_set.h"
#include "collect/perf/test_support.h"

namespace clrscope::collect::perf {
namespace {

using namespace std::chrono_literals;

// `perf record -p PID`, switched on when it says so.
class PeerRecording {
 public:
  PeerRecording(pid_t target, const std::string& file) : child_(::fork()) {
    CHECK(child_ >= 0);
    if (child_ == 0) run(target, file);
    answer_.in.reset();  // so that a peer that dies is noticed
  }
  bool enable() {
    static constexpr std::string_view kCommand = "enable\n";
    if (::write(command_.in.get(), kCommand.data(), kCommand.size()) < 0) return false;
    char answer[16];
    return ::read(answer_.out.get(), answer, sizeof answer) > 0;
  }
  void stop() {
    ::kill(child_, SIGINT);
    ::waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  ~PeerRecording() {
    if (child_ > 0) stop();
  }

 private:
  [[noreturn]] void run(pid_t target, const std::string& file) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto control = fmt::format("--control=fd:{},{}", command_.out.get(), answer_.in.get());
    const auto pid = std::to_string(target);
    (void)!std::freopen("/dev/null", "w", stdout);
    (void)!std::freopen("/dev/null", "w", stderr);
    ::execlp("perf", "perf", "record", "-q", "-e", "cpu-clock", "-F", "999", "-D", "-1",
             control.c_str(), "-p", pid.c_str(), "-o", file.c_str(), nullptr);
    ::_exit(127);
  }

  Pipe command_, answer_;
  pid_t child_;
};

// The number before "SAMPLE events" is its name: "SAMPLE events:       1001"
std::size_t samples_in(const std::string& file) {
  const auto text = said_by_child([&] {
    FILE* out = ::popen(("perf report --stats -i " + file + " 2>/dev/null").c_str(), "r");
    std::string said;
    char buffer[4096];
    while (std::size_t got = std::fread(buffer, 1, sizeof buffer, out)) said.append(buffer, got);
    ::pclose(out);
    return said;
  });
  for (const auto line : split(text, '\n')) {
    const auto at = line.find("SAMPLE events:");
    if (at == std::string_view::npos) continue;
    const auto number = trim(line.substr(at + 14));
    return parse_number(number.substr(0, number.find(' '))).value_or(0);
  }
  return 0;
}

TEST(PerfPeer, PerfRecordCountsTheSameSamples) {
  SessionRequest request{.scope = Scope::kThreads, .events = {cpu_samples(999, 0)}};
  const Burner burner{600ms};
  request.processes = {burner.pid()};
  OPEN_OR_SKIP(set, request);

  const auto folder = std::filesystem::temp_directory_path() / fmt::format("peer-{}", ::getpid());
  std::filesystem::create_directory(folder);
  const auto file = (folder / "perf.data").string();
  PeerRecording peer{burner.pid(), file};
  if (!peer.enable()) GTEST_SKIP() << "no perf here that takes --control";
  ASSERT_TRUE(set.enable().has_value());
  burner.run();
  set.disable();
  peer.stop();

  // perf counts samples of one period, we time of several.
  const auto usual = static_cast<double>(Periods::usual(999).count());
  double ours = 0;
  set.drain([&](const Record& record) {
    if (const auto* sample = std::get_if<Sample>(&record))
      ours += static_cast<double>(sample->period) / usual;
  });
  const auto theirs = samples_in(file);
  std::filesystem::remove_all(folder);
  RecordProperty("ours", static_cast<int>(ours));
  RecordProperty("perf", static_cast<int>(theirs));
  ASSERT_GT(theirs, 300U);
  EXPECT_NEAR(ours / static_cast<double>(theirs), 1.0, 0.05)
      << ours << " of ours, " << theirs << " of perf";
}

}  // namespace
}  // namespace clrscope::collect::perf
