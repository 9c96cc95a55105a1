#include "ipc/greeter.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "ipc/frame.h"
#include "ipc/refusal.h"

namespace clrscope::ipc {
namespace {

// An older runtime does not know the newer questions.
constexpr const Command* kCommands[] = {&kResumeRuntime, &kProcessInfo3, &kProcessInfo2,
                                        &kProcessInfo};

std::span<const Command* const> commands_for(Greeter::Words words) {
  const std::span all{kCommands};
  if (words == Greeter::Words::kResume) return all.first(1);
  return words == Greeter::Words::kAsk ? all.subspan(1) : all;
}

Result<ProcessInfo> decode(const Command& command, Bytes payload) {
  if (command.id == kProcessInfo3.id) return decode_process_info3(payload);
  if (command.id == kProcessInfo2.id) return decode_process_info2(payload);
  return decode_process_info(payload);
}

}  // namespace

struct Greeter::Greeting {
  Advertisement runtime{};
  std::unique_ptr<Endpoint> endpoint{};
  std::span<const Command* const> commands{};  // those still to be sent
  Deadline until;
  UniqueFd connection{};  // while an answer is due
  std::vector<std::uint8_t> answer{};

  // Goes on as far as it can without waiting; a value when it has ended.
  std::optional<Result<ProcessInfo>> advance() {
    for (;;) {
      if (!connection) {
        auto taken = endpoint->connect(Deadline{std::chrono::nanoseconds{0}});
        if (!taken) return std::nullopt;
        connection = std::move(*taken);
        if (auto sent = send(); !sent) return fail(std::move(sent).error());
      }
      const auto whole = receive();
      if (!whole) return fail(whole.error());
      if (!*whole) return std::nullopt;
      connection.reset();
      if (auto end = understand()) return end;
    }
  }

 private:
  Result<> send() {
    answer.clear();
    const auto frame = TRY(encode_frame(*commands.front(), {}));
    const auto sent =
        ::send(connection.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent != std::ssize(frame))
      return fail(Errc::kGone, "{} was not accepted", commands.front()->name);
    return {};
  }

  // True when the answer is whole.
  Result<bool> receive() {
    for (;;) {
      auto wanted = kHeaderSize;
      if (answer.size() >= kHeaderSize)
        wanted += TRY(decode_header(Bytes{answer}.first(kHeaderSize))).payload_size;
      if (answer.size() >= kHeaderSize && answer.size() == wanted) return true;
      const auto used = answer.size();
      answer.resize(wanted);
      const auto got = ::recv(connection.get(), answer.data() + used, wanted - used, MSG_DONTWAIT);
      const int number = errno;
      answer.resize(used + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
      if (got > 0 || (got < 0 && number == EINTR)) continue;
      if (got < 0 && number == EAGAIN) return false;
      return fail(Errc::kGone, "{}: the connection ended before the answer",
                  commands.front()->name);
    }
  }

  std::optional<Result<ProcessInfo>> understand() {
    const auto& command = *commands.front();
    commands = commands.subspan(1);
    const auto header = decode_header(Bytes{answer}.first(kHeaderSize));
    if (!header) return fail(header.error());
    const auto success = is_success(*header);
    if (!success) return fail(success.error());
    const auto payload = Bytes{answer}.subspan(kHeaderSize);
    if (!*success) {
      const auto refusal = decode_refusal(payload);
      if (!refusal) return fail(refusal.error());
      auto error = error_of(command, endpoint->name(), *refusal);
      if (commands.empty() || (&command != &kResumeRuntime && refusal->code != kUnknownCommand))
        return fail(std::move(error));
      if (&command == &kResumeRuntime) log(LogLevel::kDebug, "{}", error.what);
      return std::nullopt;
    }
    if (&command != &kResumeRuntime) return decode(command, payload);
    if (commands.empty()) return ProcessInfo{};
    return std::nullopt;
  }
};

Greeter::Greeter(ReversePort& port, Words words, std::chrono::nanoseconds patience)
    : port_(port), commands_(commands_for(words)), patience_(patience) {}

Greeter::~Greeter() = default;

void Greeter::again(const Advertisement& runtime) {
  const bool busy = std::ranges::any_of(
      greetings_, [&](const auto& one) { return one->runtime.cookie == runtime.cookie; });
  if (busy) return;
  greetings_.push_back(std::make_unique<Greeting>(Greeting{.runtime = runtime,
                                                           .endpoint = port_.endpoint(runtime),
                                                           .commands = commands_,
                                                           .until = Deadline{patience_}}));
}

std::vector<Greeter::Greeted> Greeter::wait(const Deadline& deadline, int stop_fd) {
  for (;;) {
    port_.clear_news();
    while (const auto runtime = port_.next_runtime(Deadline{std::chrono::nanoseconds{0}}))
      again(*runtime);
    auto ended = advance_all();
    pollfd stopped{stop_fd, POLLIN, 0};
    if (!ended.empty() || deadline.passed() || (stop_fd >= 0 && ::poll(&stopped, 1, 0) > 0))
      return ended;
    wait_for_news(deadline, stop_fd);
  }
}

std::vector<Greeter::Greeted> Greeter::advance_all() {
  std::vector<Greeted> ended;
  std::erase_if(greetings_, [&](const auto& one) {
    auto end = one->advance();
    if (!end && one->until.passed())
      end = fail(Errc::kTimeout, "process {} connected to {} and did not answer {}",
                 one->runtime.pid, port_.path(), one->commands.front()->name)
                .hint("it has ended, is stopped or is not a .NET runtime");
    if (end) ended.push_back({one->runtime, *std::move(end)});
    return end.has_value();
  });
  return ended;
}

void Greeter::wait_for_news(const Deadline& deadline, int stop_fd) {
  std::vector<pollfd> watched{{stop_fd, POLLIN, 0}, {port_.news(), POLLIN, 0}};
  auto until = deadline.at();
  for (const auto& one : greetings_) {
    if (one->connection) watched.push_back({one->connection.get(), POLLIN, 0});
    until = std::min(until, one->until.at());
  }
  (void)::poll(watched.data(), watched.size(), Deadline{until}.poll_timeout());
}

}  // namespace clrscope::ipc
