#include "uplink/relay_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <vector>

#include "base/io.h"
#include "base/log.h"
#include "uplink/frame.h"

namespace clrscope::uplink {
namespace {

std::string program_beside_us() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "clrscope-fleet").string();
}

}  // namespace

Result<std::unique_ptr<RelayProcess>> RelayProcess::start(RelayCommand command) {
  if (command.program.empty()) command.program = program_beside_us();
  if (::access(command.program.c_str(), X_OK) != 0)
    return fail(Errc::kUnsupported, "cannot start {}: {}", command.program, errno_text())
        .hint("install clrscope-fleet next to clrscope");
  std::unique_ptr<RelayProcess> relay{new RelayProcess{std::move(command)}};  // private constructor
  TRY(relay->spawn());
  return relay;
}

Result<> RelayProcess::spawn() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(Errc::kSystem, "cannot create a pipe: {}", errno_text());
  const UniqueFd input{ends[0]};
  pipe_.reset(ends[1]);
  std::vector<std::string> words{command_.program, "relay"};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  add("--to", command_.to);
  add("--ca", command_.ca_file);
  add("--token-file", command_.token_file);
  add("--spool", command_.spool);
  add("--spool-limit", command_.spool_limit);
  add("--linger", command_.linger);
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input.get(), STDIN_FILENO);
  // What it says belongs to people: data is ours alone.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  const int failed = ::posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), ::environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    pid_ = 0;
    return fail(errc_of(failed), "cannot start {}: {}", command_.program, errno_text(failed));
  }
  return {};
}

int RelayProcess::reap() {
  pipe_.reset();
  int status = 0;
  while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

RelayProcess::~RelayProcess() = default;

Result<> RelayProcess::send(std::string_view batch) {
  if (batch.size() > kLongestFrame)
    return fail(Errc::kTooLarge, "a batch of {} bytes is too large", batch.size());
  if (pid_ == 0) TRY(spawn());
  const auto sent = write_all(pipe_.get(), as_bytes(frame_of(FrameKind::kBatch, batch)));
  if (sent) return {};
  const auto code = reap();
  ++restarts_;
  log(LogLevel::kWarning, "the relay ended with exit code {}: it is started again", code);
  return spawn();
}

Result<int> RelayProcess::finish() {
  if (pid_ == 0) return 0;
  const auto ended = write_all(pipe_.get(), as_bytes(frame_of(FrameKind::kEnd, {})));
  const auto code = reap();
  if (!ended && code == 0) return fail(Errc::kSystem, "the relay ended before all was written");
  return code;
}

}  // namespace clrscope::uplink
