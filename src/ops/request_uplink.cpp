#include "ops/request_uplink.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <utility>

#include "base/io.h"
#include "base/json.h"
#include "base/json_reader.h"
#include "base/proc.h"
#include "uplink/frame.h"

extern char** environ;

namespace clrscope::ops {
namespace {

constexpr std::size_t kMostWaiting = 32 << 20;
constexpr std::chrono::seconds kFinish{30};  // the relay itself waits for 10
constexpr int kLookMs = 20;
constexpr std::size_t kMostSaid = 1 << 20;

// A pair of connected sockets: ours, and the other end.
Result<std::pair<UniqueFd, UniqueFd>> socket_pair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail(errc_of(errno), "cannot make a pair of sockets: {}", errno_text());
  return std::pair{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  void dup(const UniqueFd& from, int to) {
    ::posix_spawn_file_actions_adddup2(&actions_, from.get(), to);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// In a process group of its own: Ctrl+C ends the profile, and then the relay delivers the rest.
Result<pid_t> spawn(std::vector<std::string> words, const SpawnActions& actions) {
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawnattr_t attributes{};
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, argv[0], actions.get(), &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (failed == 0) return pid;
  errno = failed;
  return fail(failed == ENOENT ? Errc::kUnsupported : errc_of(failed), "cannot start {}: {}",
              argv[0], errno_text())
      .hint("install clrscope-fleet next to clrscope");
}

}  // namespace

Result<RequestUplink> RequestUplink::start(const UplinkRequest& request,
                                           const uplink::Source& source) {
  if (!request.to.starts_with("grpc://") && !request.to.starts_with("grpcs://") &&
      !request.is_file())
    return fail(Errc::kUsage, "--to must be grpc://HOST:PORT, grpcs://HOST:PORT or file:PATH: {}",
                request.to);
  const auto own = TRY(proc_executable(::getpid()));
  std::vector<std::string> words{own.substr(0, own.rfind('/') + 1) + "clrscope-fleet", "relay",
                                 "--json", "--to", request.to};
  const auto add = [&](const char* option, const std::string& value) {
    if (value.empty()) return;
    words.emplace_back(option);
    words.push_back(value);
  };
  add("--token-file", request.token_file);
  add("--ca", request.ca_file);
  add("--spool", request.spool);
  auto [input, relay_input] = TRY(socket_pair());
  auto [said, relay_says] = TRY(socket_pair());
  SpawnActions actions;
  actions.dup(relay_input, 0);
  actions.dup(relay_says, 1);
  RequestUplink out{request.to, source};
  out.relay_ = TRY(spawn(std::move(words), actions));
  out.input_ = std::move(input);
  out.said_ = std::move(said);
  return out;
}

RequestUplink::~RequestUplink() {
  // Without its input the relay delivers what it has and ends by itself.
  if (input_) (void)::shutdown(input_.get(), SHUT_WR);
}

Result<> RequestUplink::push() {
  while (taken_ < waiting_.size()) {
    const auto sent = ::send(input_.get(), waiting_.data() + taken_, waiting_.size() - taken_,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (sent < 0)
      return fail(Errc::kGone, "clrscope-fleet has ended: no more requests are sent")
          .hint("see what it wrote to stderr");
    taken_ += static_cast<std::size_t>(sent);
  }
  if (taken_ == waiting_.size()) {
    waiting_.clear();
    taken_ = 0;
  }
  return {};
}

Result<> RequestUplink::send(const RequestBatch& batch, const uplink::Recording& recording) {
  TRY(push());
  if (waiting_.size() - taken_ > kMostWaiting) {
    answer_.lost_requests += batch.requests.size();
    held_ += recording;
    held_.lost_requests += batch.requests.size();
    for (const auto& request : batch.requests) held_.lost_samples += request.samples.size();
    return {};
  }
  // With what could not be said of earlier batches: the server counts their requests as lost.
  auto all = std::exchange(held_, {});
  all += recording;
  waiting_.erase(0, std::exchange(taken_, 0));
  for (const auto& one : encoder_.encode(batch, uplink::ClockOffset::now(), all, wall_now())) {
    waiting_ += uplink::frame_of(uplink::FrameKind::kBatch, one);
    ++answer_.batches;
  }
  answer_.requests = encoder_.written_requests();
  answer_.spans = encoder_.written_spans();
  answer_.samples = encoder_.written_samples();
  return push();
}

Result<> RequestUplink::tell(std::uint64_t configuration, std::string_view trouble) {
  std::string instance;
  for (const char byte : source_.instance)
    instance += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  JsonWriter json;
  json.begin_object().member("host", source_.host).member("service", source_.service);
  json.member("instance", instance).member("configuration", configuration);
  json.member("trouble", trouble).end_object();
  waiting_ += uplink::frame_of(uplink::FrameKind::kState, json.text());
  return push();
}

bool RequestUplink::listen(int patience_ms) {
  std::array<char, 4096> buffer{};
  pollfd polled{said_.get(), POLLIN, 0};
  if (::poll(&polled, 1, patience_ms) <= 0) return true;
  const auto got = ::recv(said_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (got <= 0 || lines_.size() > kMostSaid) return false;
  lines_.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

std::optional<CentralSettings> RequestUplink::take_settings(std::chrono::milliseconds patience) {
  std::optional<CentralSettings> newest;
  const Deadline deadline{patience};
  do {
    const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(deadline.left());
    if (!listen(static_cast<int>(wait.count()))) break;
    for (auto end = lines_.find('\n'); end != std::string::npos; end = lines_.find('\n')) {
      if (auto settings = central_settings_of(lines_.substr(0, end))) newest = std::move(settings);
      lines_.erase(0, end + 1);
    }
  } while (!newest && !deadline.passed());
  return newest;
}

SentRequests RequestUplink::finish() {
  waiting_ += uplink::frame_of(uplink::FrameKind::kEnd, {});
  const Deadline deadline{kFinish};
  while (taken_ < waiting_.size() && !deadline.passed() && push()) {
    pollfd polled{input_.get(), POLLOUT, 0};
    (void)::poll(&polled, 1, kLookMs);
  }
  (void)::shutdown(input_.get(), SHUT_WR);
  while (!deadline.passed() && listen(kLookMs)) {
  }
  if (deadline.passed()) ::kill(relay_, SIGTERM);
  int status = 0;
  (void)::waitpid(relay_, &status, 0);
  input_ = UniqueFd{};
  // The last line; settings may have come before it.
  const auto end = lines_.find_last_not_of('\n') + 1;
  const auto begin = lines_.rfind('\n', end == 0 ? 0 : end - 1);
  const auto json = read_json(
      std::string_view{lines_}.substr(0, end).substr(begin == std::string::npos ? 0 : begin + 1));
  if (!json) {
    answer_.trouble = "clrscope-fleet ended without saying what it delivered";
    return answer_;
  }
  const auto number = [&](const char* name) -> std::uint64_t {
    const auto* value = json->find(name);
    return value && value->number() ? static_cast<std::uint64_t>(*value->number()) : 0;
  };
  answer_.delivered = number("delivered") + number("duplicates");
  answer_.lost_requests += number("lostRequests");
  answer_.waiting_bytes = number("waitingBytes");
  if (const auto* trouble = json->find("trouble"); trouble && trouble->text())
    answer_.trouble = *trouble->text();
  return answer_;
}

}  // namespace clrscope::ops
