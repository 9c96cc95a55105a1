#include "inspect/dac/worker.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <string_view>

#include "base/fd.h"
#include "inspect/dac/library.h"
#include "inspect/dac/sandbox_x64.h"
#include "inspect/dac/wire.h"

namespace clrscope::inspect {
namespace dac {
namespace {

Deadline for_ever() { return Deadline{std::chrono::nanoseconds::max()}; }

// What the library is linked with, from this machine, before the door closes.
constexpr std::array kNeeded{"libgcc_s.so.1", "libpthread.so.0", "librt.so.1",
                             "libdl.so.2",    "libstdc++.so.6",  "libm.so.6"};

// In a signal handler: no allocation.
void say_forbidden(const char* what, const char* value) {
  std::array<char, 300> message{};
  std::size_t size = 5;
  const auto add = [&](const char* text) {
    for (; *text != '\0' && size < message.size(); ++text) message[size++] = *text;
  };
  add("it tried to ");
  add(what);
  if (*value != '\0') add(" ");
  add(value);
  const auto body = static_cast<std::uint32_t>(size - 5);
  std::memcpy(message.data(), &body, sizeof body);
  message[4] = static_cast<char>(Kind::kForbidden);
  (void)::send(kChannelFd, message.data(), size, MSG_NOSIGNAL);
  ::_exit(1);
}

class Session {
 public:
  // Serves until the parent goes away or breaks the rules.
  void run() {
    for (;;) {
      const auto asked = receive(kChannelFd, kMostRequest, for_ever());
      if (!asked) return;
      const auto answered = answer(*asked);
      const auto said = answered ? send(kChannelFd, Kind::kAnswer, *answered, for_ever())
                                 : send(kChannelFd,
                                        answered.error().code == Errc::kNotFound ? Kind::kNotFound
                                                                                 : Kind::kRefused,
                                        as_bytes(answered.error().what), for_ever());
      if (!said) return;
    }
  }

 private:
  using Answer = std::vector<std::uint8_t>;

  static std::vector<std::uint8_t> read_by_descriptor(std::uint64_t page, std::size_t size) {
    std::vector<std::uint8_t> bytes(size);
    std::size_t done = 0;
    while (done < size) {
      const auto got =
          ::pread(kMemoryFd, bytes.data() + done, size - done, static_cast<off_t>(page + done));
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  }

  std::vector<std::uint8_t> read_pages(std::uint64_t page, std::size_t size) {
    if (reads_itself_) return read_by_descriptor(page, size);
    ByteWriter request;
    request.write(page);
    request.write(static_cast<std::uint32_t>(size));
    if (!send(kChannelFd, Kind::kRead, request.bytes(), for_ever())) ::_exit(1);
    auto memory = receive(kChannelFd, kMostRead, for_ever());
    if (!memory || memory->kind != Kind::kMemory) ::_exit(1);
    return std::move(memory->body);
  }

  template <class Item>
  static Answer list(const std::vector<Item>& items) {
    ByteWriter out;
    out.write_varuint(items.size());
    for (const auto& item : items) put(out, item);
    return std::move(out).take();
  }

  static Answer answer_of(const SyncBlocks& blocks) {
    ByteWriter out;
    put(out, blocks);
    return std::move(out).take();
  }

  Result<Answer> answer(const Message& asked) {
    ByteReader in{asked.body};
    if (asked.kind == Kind::kOpen) {
      const auto base = in.read<std::uint64_t>();
      reads_itself_ = in.read<std::uint8_t>() != 0;
      return open(base);
    }
    if (!library_) return fail(Errc::kUsage, "nothing is open");
    switch (asked.kind) {
      case Kind::kThreads:
        return list(TRY(library_->threads()));
      case Kind::kMethods: {
        std::vector<RawMethod> methods(std::min<std::size_t>(in.read_varuint(), kMostMethods));
        for (auto& method : methods) method = library_->method_at(in.read<std::uint64_t>());
        return list(methods);
      }
      case Kind::kMethodOf:
        return list(std::vector{library_->method(in.read<std::uint64_t>(), 0)});
      case Kind::kStatics: {
        std::vector<std::uint64_t> tables(std::min<std::size_t>(in.read_varuint(), kMostTables));
        for (auto& table : tables) table = in.read<std::uint64_t>();
        return list(library_->statics(tables));
      }
      case Kind::kHelper: {
        const auto name = library_->helper_at(in.read<std::uint64_t>());
        return Answer{name.begin(), name.end()};
      }
      case Kind::kType: {
        ByteWriter out;
        put(out, TRY(library_->type_of_table(in.read<std::uint64_t>())));
        return std::move(out).take();
      }
      case Kind::kSyncBlocks:
        return answer_of(TRY(library_->sync_blocks()));
      case Kind::kFrames:
        return list(TRY(frames(in)));
      case Kind::kIlOffset: {
        const auto offset = library_->il_offset(in.read<std::uint64_t>());
        ByteWriter out;
        out.write<std::uint8_t>(offset.has_value());
        out.write(offset.value_or(0));
        return std::move(out).take();
      }
      case Kind::kForget:
        library_->forget();
        return Answer{};
      default:
        return fail(Errc::kUsage, "no such question");
    }
  }

  Result<Answer> open(std::uint64_t runtime_base) {
    target_ = std::make_unique<DataTarget>(
        runtime_base,
        [this](std::uint64_t page, std::size_t size) { return read_pages(page, size); });
    library_ = TRY(Library::load(*target_));
    ::close(kLibraryFd);
    return Answer{};
  }

  Result<std::vector<RawFrame>> frames(ByteReader& in) {
    const auto os_id = in.read<std::uint32_t>();
    Context context{};
    const auto set = [&](std::size_t at, auto value) {
      std::memcpy(context.data() + at, &value, sizeof value);
    };
    set(kContextFlagsAt, std::uint32_t{0x10001f});
    for (const auto at : kContextOrder) set(at, in.read<std::uint64_t>());
    if (!in.ok()) return fail(Errc::kUsage, "no registers");
    target_->set_thread(os_id, context);
    auto frames = library_->frames(os_id);
    target_->clear_thread();
    return frames;
  }

  bool reads_itself_ = false;
  std::unique_ptr<DataTarget> target_;
  std::unique_ptr<Library> library_;
};

int run_worker() {
  if (::fcntl(kChannelFd, F_GETFD) < 0 || ::fcntl(kLibraryFd, F_GETFD) < 0) return 3;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (const auto* const name : kNeeded) (void)::dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  if (const auto caged = enter_sandbox(kLibraryFd, say_forbidden); !caged) {
    // Asked first: an answer to a question that lies unread would be lost.
    (void)receive(kChannelFd, kMostRequest, for_ever());
    (void)send(kChannelFd, Kind::kRefused, as_bytes(caged.error().what), for_ever());
    return 1;
  }
  Session session;
  session.run();
  return 0;
}

std::atomic<bool> g_can_be_worker{false};

}  // namespace
}  // namespace dac

std::optional<int> dac_worker_main(int argc, char** argv) {
  dac::g_can_be_worker = true;
  if (argc < 2 || std::string_view{argv[1]} != kDacWorkerVerb) return {};
  const int code = dac::run_worker();
  ::_exit(code);  // what the library left behind is not asked to clean up
}

bool can_be_dac_worker() { return dac::g_can_be_worker; }

}  // namespace clrscope::inspect
