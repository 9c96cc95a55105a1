#include "live/target.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/io.h"
#include "base/proc.h"
#include "ipc/discover.h"

namespace clrscope::live {
namespace {

std::string samples_folder() {
  const char* folder = std::getenv("CLRSCOPE_SAMPLES");
  return folder ? folder : "";
}

std::vector<std::string> environment_with(const Variables& added) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text{*entry};
    const auto name = std::string{text.substr(0, text.find('='))};
    if (!added.contains(name)) variables.emplace_back(text);
  }
  for (const auto& [name, value] : added) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (auto& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The targets of the links in /proc/PID/fd.
std::vector<std::string> open_files(pid_t pid) {
  std::vector<std::string> files;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator{"/proc/" + std::to_string(pid) + "/fd", gone}) {
    const auto file = std::filesystem::read_symlink(entry, gone);
    if (!gone) files.push_back(file.string());
  }
  return files;
}

}  // namespace

bool eventually(const std::function<bool()>& condition, std::chrono::nanoseconds patience) {
  const Deadline deadline{patience};
  while (!condition()) {
    if (deadline.passed()) return condition();
    ::poll(nullptr, 0, 5);
  }
  return true;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

std::string contents_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{}};
}

Scratch::Scratch() {
  std::string folder = "/tmp/clrscope-live-XXXXXX";
  const char* made = ::mkdtemp(folder.data());
  CHECK(made);
  path_ = made;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Target::Target(const std::string& framework, std::vector<std::string> arguments,
               const Scratch& scratch, Variables variables) {
  const auto program = samples_folder() + "/" + framework + "/samples";
  arguments.insert(arguments.begin(), program);
  variables.emplace("TMPDIR", scratch.path());
  auto strings = environment_with(variables);
  const auto environment = pointers_to(strings);
  const auto words = pointers_to(arguments);
  int ends[2];
  CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  output_.reset(ends[0]);
  const UniqueFd write_end{ends[1]};
  CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd read_end{ends[0]};
  input_.reset(ends[1]);
  const UniqueFd errors{
      ::open((scratch / "stderr").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(read_end.get(), STDIN_FILENO);
  ::dup2(write_end.get(), STDOUT_FILENO);
  ::dup2(errors.get(), STDERR_FILENO);
  ::execve(program.c_str(), words.data(), environment.data());
  ::_exit(127);
}

Target::~Target() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

bool Target::runs() const {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

std::string Target::next_line() {
  const Deadline deadline{kPatience};
  for (;;) {
    if (const auto end = pending_.find('\n'); end != std::string::npos) {
      auto line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    if (!wait_readable(output_.get(), deadline).value_or(false)) return {};
    char piece[4096];
    const auto got = ::read(output_.get(), piece, sizeof piece);
    if (got <= 0) return {};
    pending_.append(piece, static_cast<std::size_t>(got));
  }
}

void Target::go() { EXPECT_EQ(::write(input_.get(), "\n", 1), 1); }

bool Target::ready() {
  for (;;) {
    const auto line = next_line();
    if (line.empty()) return false;
    if (line.starts_with("{\"ready\":true")) return true;
  }
}

std::unique_ptr<ipc::Endpoint> Target::endpoint() const {
  const auto found = ipc::find_process(pid_);
  EXPECT_TRUE(found) << found.error().what;
  EXPECT_TRUE(found && found->reachable()) << (found ? found->unreachable.what : "");
  return ipc::connect_endpoint(found ? found->socket : "");
}

std::size_t Target::open_sockets() const {
  const auto files = open_files(pid_);
  return static_cast<std::size_t>(std::ranges::count_if(
      files, [](const std::string& file) { return file.starts_with("socket:"); }));
}

bool Target::has_open(const std::string& path) const {
  const auto files = open_files(pid_);
  return std::ranges::find(files, path) != files.end();
}

void LiveTest::SetUp() {
  if (samples_folder().empty())
    GTEST_SKIP() << "CLRSCOPE_SAMPLES is not set: CLRSCOPE_SAMPLES=$(tools/publish_samples)";
  const auto program = samples_folder() + "/" + GetParam() + "/samples";
  if (!exists(program)) GTEST_SKIP() << "there is no " << program;
}

std::unique_ptr<Target> LiveTest::start(std::vector<std::string> arguments, Variables variables) {
  return std::make_unique<Target>(GetParam(), std::move(arguments), scratch_, std::move(variables));
}

std::unique_ptr<Target> LiveTest::start_ready(std::vector<std::string> arguments,
                                              Variables variables) {
  auto target = start(std::move(arguments), std::move(variables));
  EXPECT_TRUE(target->ready()) << contents_of(scratch_ / "stderr");
  return target;
}

std::string hook_assembly() {
  const char* path = std::getenv("CLRSCOPE_LIVE_HOOK");
  return path ? path : "";
}

std::string framework_name(const testing::TestParamInfo<std::string>& info) {
  auto name = info.param;
  std::ranges::replace(name, '.', '_');
  return name;
}

}  // namespace clrscope::live
