#include "ops/request_demo.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json_reader.h"

namespace clrscope::ops {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kStart{30};
constexpr std::chrono::seconds kEnd{5};
constexpr std::size_t kMostOutput = 1 << 20;

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

// The program in a folder: as it is installed, or by framework as tools/publish_samples leaves it.
std::string program_in(const fs::path& folder) {
  for (const auto* name : {"samples", "net10.0/samples", "net9.0/samples", "net8.0/samples"})
    if (is_program(folder / name)) return (folder / name).string();
  return {};
}

fs::path cache_folder() {
  if (const char* cache = std::getenv("CLRSCOPE_CACHE")) return cache;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return fs::path{cache} / "clrscope";
  const char* home = std::getenv("HOME");
  return home ? fs::path{home} / ".cache/clrscope" : fs::path{};
}

// tools/publish_samples touches the folder that it prints: the newest is the one in use.
std::string published_program() {
  std::error_code error;
  std::string newest;
  fs::file_time_type newest_time{};
  for (const auto& entry : fs::directory_iterator{cache_folder(), error}) {
    if (!entry.path().filename().string().starts_with("samples-")) continue;
    const auto program = program_in(entry.path());
    std::error_code unknown;
    const auto time = fs::last_write_time(entry.path(), unknown);
    if (program.empty() || unknown || (!newest.empty() && time <= newest_time)) continue;
    newest = program;
    newest_time = time;
  }
  return newest;
}

Result<std::string> find_program() {
  if (const char* given = std::getenv("CLRSCOPE_SAMPLES"); given && *given) {
    if (is_program(given)) return std::string{given};
    if (auto program = program_in(given); !program.empty()) return program;
    return fail(Errc::kNotFound, "CLRSCOPE_SAMPLES: no sample program at {}", given)
        .hint("set it to the folder that tools/publish_samples prints, or to the program itself");
  }
  std::error_code error;
  const auto own = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const auto& folder : {own / "samples", own.parent_path() / "share/clrscope/samples"})
    if (auto program = program_in(folder); !program.empty()) return program;
  if (auto program = published_program(); !program.empty()) return program;
  return fail(Errc::kNotFound, "the sample programs are not on this machine")
      .hint(
          "run tools/publish_samples in the source tree of clrscope (needs the .NET SDK), or set "
          "CLRSCOPE_SAMPLES to a copy; --demo is not needed to profile an app of yours: -p PID");
}

// The first line that the program prints: one JSON object.
Result<std::string> first_line(int output, std::span<const int> stop_fds) {
  const Deadline deadline{kStart};
  std::vector<pollfd> polled{{output, POLLIN, 0}};
  for (const auto fd : stop_fds) polled.push_back({fd, POLLIN, 0});
  std::string text;
  while (text.find('\n') == std::string::npos && text.size() < kMostOutput) {
    if (::poll(polled.data(), polled.size(), deadline.poll_timeout()) <= 0)
      return fail(Errc::kTimeout, "the sample program did not get ready in time");
    for (std::size_t i = 1; i < polled.size(); ++i)
      if (polled[i].revents != 0) return fail(Errc::kGone, "stopped before profiling began");
    std::array<char, 4096> bytes{};
    const auto got = ::read(output, bytes.data(), bytes.size());
    if (got <= 0)
      return fail(Errc::kSystem, "the sample program ended at once")
          .hint("run it to see why: samples shop");
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text.substr(0, text.find('\n'));
}

}  // namespace

RequestDemo::Program::Program(Program&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), output_(std::move(other.output_)) {}

RequestDemo::Program::~Program() {
  if (pid_ == 0) return;
  ::kill(pid_, SIGTERM);
  const Deadline deadline{kEnd};
  while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
    if (deadline.passed()) {
      ::kill(pid_, SIGKILL);
      (void)::waitpid(pid_, nullptr, 0);
      return;
    }
    ::usleep(10'000);
  }
}

Result<RequestDemo::Program> RequestDemo::Program::start(const std::vector<std::string>& command) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Errc::kSystem, "cannot create a pipe: {}", errno_text());
  UniqueFd read_end{ends[0]}, write_end{ends[1]};
  const UniqueFd nothing{::open("/dev/null", O_RDWR | O_CLOEXEC)};
  std::vector<char*> arguments;
  for (const auto& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
  arguments.push_back(nullptr);
  const auto parent = ::getpid();
  const auto pid = ::fork();
  if (pid < 0) return fail(Errc::kSystem, "cannot start {}: {}", command[0], errno_text());
  if (pid == 0) {
    // A group of its own: Ctrl+C reaches clrscope, which ends it when the answer is there.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    if (::getppid() != parent) ::_exit(1);
    ::dup2(nothing.get(), STDIN_FILENO);
    ::dup2(write_end.get(), STDOUT_FILENO);
    ::dup2(nothing.get(), STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  return Program{pid, std::move(read_end)};
}

Result<RequestDemo> RequestDemo::start(std::span<const int> stop_fds) {
  const auto program = TRY(find_program());
  auto shop = TRY(Program::start({program, "shop"}));
  const auto line = TRY(first_line(shop.output(), stop_fds));
  const auto ready = TRY(read_json(line));
  const auto* truth = ready.find("truth");
  auto address = truth ? text_at(*truth, "address") : std::string{};
  if (address.empty())
    return fail(Errc::kUnsupported, "{} is not the sample program of clrscope", program);
  constexpr const char* kDay = "86400";
  auto load = TRY(Program::start({program, "shop-load", "--address", address, "--rate",
                                  std::to_string(kRate), "--duration", kDay}));
  (void)TRY(first_line(load.output(), stop_fds));
  return RequestDemo{std::move(shop), std::move(load), std::move(address)};
}

}  // namespace clrscope::ops
