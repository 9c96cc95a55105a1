#include "fakes/fake_runtime.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace clrscope::fakes {
namespace {

constexpr std::string_view kMagic{"DOTNET_IPC_V1\0", 14};
constexpr std::size_t kHeaderSize = 20;
constexpr std::uint8_t kRefusal = 0xff;
constexpr std::uint32_t kUnknownCommand = 0x80131385;

using Buffer = std::vector<std::uint8_t>;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  CHECK(path.size() < sizeof address.sun_path);
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

bool read_whole(int fd, std::uint8_t* to, std::size_t size) {
  while (size > 0) {
    const auto got = ::recv(fd, to, size, 0);
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// The peer may be gone already: that is its business.
void send_whole(int fd, Bytes bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const auto sent = ::send(fd, bytes.data(), std::min(piece, bytes.size()), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

std::optional<FakeRuntime::Request> read_request(int fd) {
  FakeRuntime::Request request;
  request.frame.resize(kHeaderSize);
  if (!read_whole(fd, request.frame.data(), kHeaderSize)) return std::nullopt;
  ByteReader in{request.frame};
  if (as_text(in.take(kMagic.size())) != kMagic) return std::nullopt;
  const auto size = in.read<std::uint16_t>();
  if (size < kHeaderSize) return std::nullopt;
  request.command.first = in.read<std::uint8_t>();
  request.command.second = in.read<std::uint8_t>();
  request.payload.resize(size - kHeaderSize);
  if (!read_whole(fd, request.payload.data(), request.payload.size())) return std::nullopt;
  request.frame.insert(request.frame.end(), request.payload.begin(), request.payload.end());
  return request;
}

Buffer frame(std::string_view magic, std::size_t size, std::uint8_t set, std::uint8_t id,
             Bytes payload) {
  ByteWriter out;
  out.put(magic);
  out.write(static_cast<std::uint16_t>(size));
  out.write(set);
  out.write(id);
  out.write(std::uint16_t{0});
  out.put(payload);
  return std::move(out).take();
}

Buffer spoken(Manners manners, std::uint8_t kind, const Buffer& payload) {
  const auto size = kHeaderSize + payload.size();
  auto proper = frame(kMagic, size, 0xff, kind, payload);
  switch (manners) {
    case Manners::kGarbage:
      return Buffer(64, 0xa5);
    case Manners::kHalfHeader:
    case Manners::kStalls:
      proper.resize(kHeaderSize / 2);
      return proper;
    case Manners::kHalfPayload:
      proper.resize(kHeaderSize + payload.size() / 2);
      return proper;
    case Manners::kHugeSize:
      return frame(kMagic, 0xffff, 0xff, kind, Buffer(4, 0));
    case Manners::kTinySize:
      return frame(kMagic, kHeaderSize - 1, 0xff, kind, payload);
    case Manners::kWrongMagic:
      return frame({"DOTNET_IPC_V9\0", 14}, size, 0xff, kind, payload);
    case Manners::kStrangeKind:
      return frame(kMagic, size, 0x77, 0x55, payload);
    default:
      return proper;
  }
}

}  // namespace

FakeRuntime::FakeRuntime() : wake_(::eventfd(0, EFD_CLOEXEC)) {
  std::string folder = "/tmp/clrscope-fake-XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  folder_ = folder;
  path_ = folder_ + "/dotnet-diagnostic-4711-1234567-socket";
  listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto address = address_of(path_);
  CHECK(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  CHECK(::listen(listener_.get(), 16) == 0);
  thread_ = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
}

FakeRuntime::~FakeRuntime() {
  thread_.request_stop();
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
  ::unlink(path_.c_str());
  ::rmdir(folder_.c_str());
}

void FakeRuntime::be(Manners manners) {
  state_.with([&](State& state) { state.manners = manners; });
}

void FakeRuntime::answer(CommandId command, std::vector<std::uint8_t> payload,
                         std::vector<std::uint8_t> continuation) {
  state_.with([&](State& state) {
    state.answers[command] = {0x00, std::move(payload), std::move(continuation)};
  });
}

void FakeRuntime::refuse(CommandId command, std::uint32_t code, const std::string& text) {
  ByteWriter payload;
  payload.write(code);
  if (!text.empty()) {
    const auto units = utf16_of(text);
    payload.write(static_cast<std::uint32_t>(units.size() + 1));
    for (const auto unit : units) payload.write(unit);
    payload.write(char16_t{0});
  }
  state_.with([&](State& state) {
    state.answers[command] = {kRefusal, std::move(payload).take(), {}};
  });
}

std::vector<FakeRuntime::Request> FakeRuntime::requests() const {
  return state_.with([](const State& state) { return state.requests; });
}

UniqueFd FakeRuntime::connect_to(const std::string& path) {
  UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  const auto address = address_of(path);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return UniqueFd{};
  return fd;
}

std::vector<std::uint8_t> FakeRuntime::advertisement(const std::array<std::uint8_t, 16>& cookie,
                                                     std::uint64_t pid) {
  ByteWriter out;
  out.put(std::string_view{"ADVR_V1\0", 8});
  out.put(cookie);
  out.write(pid);
  out.write(std::uint16_t{0});
  return std::move(out).take();
}

bool FakeRuntime::serve(UniqueFd connection) {
  auto request = read_request(connection.get());
  if (!request) return false;
  Manners manners{};
  Answer answer;
  state_.with([&](State& state) {
    manners = state.manners;
    const auto known = state.answers.find(request->command);
    if (known != state.answers.end()) {
      answer = known->second;
    } else {
      ByteWriter code;
      code.write(kUnknownCommand);
      answer = {kRefusal, std::move(code).take(), {}};
    }
    state.requests.push_back(std::move(*request));
  });
  if (manners == Manners::kClosesAtOnce) return true;
  if (manners != Manners::kNeverAnswers) {
    const std::size_t piece = manners == Manners::kOneBytePieces ? 1 : 1 << 20;
    send_whole(connection.get(), spoken(manners, answer.kind, answer.payload), piece);
    if (manners == Manners::kProper || manners == Manners::kOneBytePieces)
      send_whole(connection.get(), answer.continuation, piece);
  }
  if (manners == Manners::kNeverAnswers || manners == Manners::kStalls)
    state_.with([&](State& state) { state.silent.push_back(std::move(connection)); });
  return true;
}

void FakeRuntime::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    pollfd watched[] = {{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    if (::poll(watched, 2, -1) < 0 || watched[1].revents == 0) continue;
    UniqueFd connection{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (connection) serve(std::move(connection));
  }
}

}  // namespace clrscope::fakes
