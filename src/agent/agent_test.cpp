// The agent as a whole, driven by a runtime of ours and by its real control socket.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "agent/environment.h"
#include "agent/fake_clr.h"
#include "agent/recorder.h"
#include "wire/ring.h"

namespace clrscope::agent {
namespace {

using wire::Outcome;
using wire::RequestKind;

class Client {
 public:
  explicit Client(const std::string& path) {
    fd_ = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() {
    if (arena_) ::munmap(arena_, wire::kArenaBytes);
    ::close(fd_);
  }

  bool connected() const { return connected_; }
  bool ended() const {
    char byte = 0;
    return ::recv(fd_, &byte, 1, 0) == 0;
  }
  void send(const void* bytes, std::size_t size) const {
    (void)::send(fd_, bytes, size, MSG_NOSIGNAL);
  }

  wire::Reply ask(RequestKind kind, std::uint32_t value = 0,
                  std::uint16_t protocol = wire::kProtocol) {
    const wire::Request request{wire::kControlMagic, protocol, kind, ++id_, value};
    send(&request, sizeof request);
    wire::Reply reply{};
    iovec part{&reply, sizeof reply};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))]{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    EXPECT_EQ(::recvmsg(fd_, &message, 0), static_cast<ssize_t>(sizeof reply));
    EXPECT_TRUE(wire::is_reply(&reply, sizeof reply, id_));
    if (const auto* header = CMSG_FIRSTHDR(&message)) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
      arena_ = static_cast<wire::Arena*>(
          ::mmap(nullptr, wire::kArenaBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
      EXPECT_EQ(::ftruncate(fd, 0), -1) << "the memory is sealed";
      ::close(fd);
    }
    return reply;
  }

  wire::Arena& arena() { return *arena_; }
  std::string name(std::uint32_t slot) {
    char text[256];
    return {text, wire::copy_name(*arena_, slot, text, sizeof text)};
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
  std::uint32_t id_ = 0;
  wire::Arena* arena_ = nullptr;
};

class AgentTest : public testing::Test {
 protected:
  void SetUp() override {
    char folder[] = "/tmp/clrscope-agent-test-XXXXXX";
    ASSERT_NE(::mkdtemp(folder), nullptr);
    folder_ = folder;
    FakeClr::depth = 3;
    callbacks_ = FakeClr::load(wire::kMainClass);
    ASSERT_NE(callbacks_, nullptr);
  }
  void TearDown() override {
    FakeClr::hang = false;
    FakeClr::hang.notify_all();
    if (attached_) detach();
    ::rmdir(folder_.c_str());
  }

  std::string socket() const { return folder_ + "/control"; }
  HResult attach(ComObject* callbacks = nullptr) {
    wire::AttachData data{};
    data.magic = wire::kControlMagic;
    data.protocol = wire::kProtocol;
    data.build = 42;
    std::strcpy(data.socket, socket().c_str());
    auto* object = callbacks ? callbacks : callbacks_;
    const auto answer =
        call(object, callback::kInitializeForAttach, clr_.object(), static_cast<const void*>(&data),
             static_cast<std::uint32_t>(sizeof data));
    if (answer == kOk) {
      attached_ = true;
      call(object, callback::kProfilerAttachComplete);
    }
    return answer;
  }
  // As the runtime does it: agreed at once, done later.
  void detach() {
    Client client{socket()};
    ASSERT_EQ(client.ask(RequestKind::kDetach).outcome, Outcome::kDone);
    EXPECT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kLeaving);
    call(callbacks_, callback::kProfilerDetachSucceeded);
    EXPECT_TRUE(client.ended());
    attached_ = false;
  }
  void throw_and_catch(Id type) {
    call(callbacks_, callback::kExceptionThrown, type);
    call(callbacks_, callback::kExceptionCatcherEnter, Id{0x1001}, type);
  }

  FakeClr clr_;
  std::string folder_;
  ComObject* callbacks_ = nullptr;
  bool attached_ = false;
};

TEST_F(AgentTest, AnswersOnlyForItsTwoClassesAndTheInterfacesOfAProfiler) {
  const std::uint8_t other[16] = {1};
  EXPECT_EQ(FakeClr::load(other), nullptr);
  std::int32_t only = 9;
  call(callbacks_, callback::kLoadAsNotificationOnly, &only);
  EXPECT_EQ(only, 0);
  call(FakeClr::load(wire::kNotificationClass), callback::kLoadAsNotificationOnly, &only);
  EXPECT_EQ(only, 1);
  ComObject* answer = nullptr;
  EXPECT_EQ(call(callbacks_, callback::kQueryInterface, &kMetadataImport2, &answer), kNoInterface);
  EXPECT_EQ(answer, nullptr);
}

TEST_F(AgentTest, DeclinesClientDataThatIsNotOurs) {
  const char data[] = "anything";
  EXPECT_EQ(call(callbacks_, callback::kInitializeForAttach, clr_.object(),
                 static_cast<const void*>(data), std::uint32_t{sizeof data}),
            kCancelActivation);
  EXPECT_EQ(call(callbacks_, callback::kInitializeForAttach, clr_.object(),
                 static_cast<const void*>(nullptr), std::uint32_t{0}),
            kCancelActivation);
}

TEST_F(AgentTest, DeclinesAFolderThatOthersMayEnter) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(attach(), kCancelActivation);
  ASSERT_EQ(::chmod(folder_.c_str(), 0700), 0);
  EXPECT_EQ(attach(), kOk);
}

TEST_F(AgentTest, GivesUpWhenTheRuntimeRefusesItsMask) {
  FakeClr::mask_answer = hresult(0x80131363);
  EXPECT_EQ(attach(), hresult(0x80131363));
  FakeClr::mask_answer = kOk;
  EXPECT_NE(::access(socket().c_str(), F_OK), 0);
  ::mkdir(folder_.c_str(), 0700);
  EXPECT_EQ(attach(), kOk);
}

TEST_F(AgentTest, IsThereOnceAndTellsWhoItIs) {
  ASSERT_EQ(attach(FakeClr::load(wire::kNotificationClass)), kOk);
  EXPECT_EQ(attach(), kCancelActivation);
  Client client{socket()};
  const auto reply = client.ask(RequestKind::kHello);
  EXPECT_EQ(reply.outcome, Outcome::kDone);
  EXPECT_EQ(reply.status.identity, wire::Identity::kNotificationOnly);
  EXPECT_EQ(reply.status.mode, wire::LoadMode::kAttached);
  EXPECT_EQ(reply.status.pid, static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(reply.status.info, 14);
  EXPECT_EQ(reply.status.runtime_major, 8);
  EXPECT_EQ(reply.status.build, 42U);
  EXPECT_EQ(reply.status.sources, 0U);
}

TEST_F(AgentTest, RecordsExceptionsWithTypeStackAndCatcher) {
  ASSERT_EQ(attach(), kOk);
  throw_and_catch(1);  // nobody listens
  Client client{socket()};
  EXPECT_EQ(client.ask(RequestKind::kSwitch, wire::kSourceExceptions).outcome, Outcome::kNotOpen);
  ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  std::vector<wire::RingReader> all;
  all.reserve(wire::kRings);
  for (auto& ring : client.arena().rings) all.emplace_back(ring);
  ASSERT_EQ(client.ask(RequestKind::kSwitch, wire::kSourceExceptions).outcome, Outcome::kDone);
  EXPECT_NE(FakeClr::mask & mask::kExceptions, 0U);
  for (int i = 0; i < 10; ++i) throw_and_catch(i < 7 ? 1 : 2);
  ASSERT_EQ(client.ask(RequestKind::kSwitch, 0).outcome, Outcome::kDone);
  EXPECT_EQ(FakeClr::mask & mask::kExceptions, 0U);
  throw_and_catch(1);

  std::map<std::string, int> types;
  int caught = 0;
  for (auto& ring : all)
    ring.drain([&](const void* bytes, std::uint32_t size) {
      using namespace wire;
      if (const auto* thrown =
              parse_record<ExceptionThrown>(RecordKind::kExceptionThrown, bytes, size)) {
        ++types[client.name(thrown->type)];
        ASSERT_EQ(thrown->frames, 3U);
        EXPECT_EQ(client.name(frames_of(thrown)[0]), "Shop.Type9.Method0");
        EXPECT_EQ(thrown->header.thread, static_cast<std::uint32_t>(::gettid()));
      } else if (const auto* end =
                     parse_record<ExceptionCaught>(RecordKind::kExceptionCaught, bytes, size)) {
        ++caught;
        EXPECT_EQ(client.name(end->method), "Shop.Type9.Method1");
      }
    });
  EXPECT_EQ(types, (std::map<std::string, int>{{"Shop.Type1", 7}, {"Shop.Type2", 3}}));
  EXPECT_EQ(caught, 10);
  EXPECT_EQ(client.arena().header.exceptions, 10U);
}

TEST_F(AgentTest, LosesNothingUncountedWhenManyThreadsThrow) {
  ASSERT_EQ(attach(), kOk);
  Client client{socket()};
  ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  std::vector<wire::RingReader> rings;
  rings.reserve(wire::kRings);
  for (auto& ring : client.arena().rings) rings.emplace_back(ring);
  ASSERT_EQ(client.ask(RequestKind::kSwitch, wire::kSourceExceptions).outcome, Outcome::kDone);
  constexpr int kThreads = 6, kEach = 3000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (int n = 0; n < kEach; ++n) throw_and_catch(static_cast<Id>(i));
      --running;
    });
  std::uint64_t records = 0;
  const auto drain = [&] {
    for (auto& ring : rings)
      ring.drain([&](const void* bytes, std::uint32_t size) {
        using namespace wire;
        ASSERT_TRUE(parse_record<ExceptionThrown>(RecordKind::kExceptionThrown, bytes, size) ||
                    parse_record<ExceptionCaught>(RecordKind::kExceptionCaught, bytes, size));
        ++records;
      });
  };
  while (running > 0) drain();
  for (auto& thread : threads) thread.join();
  drain();
  const auto& drops = client.arena().header.drops;
  const auto lost = drops[static_cast<int>(wire::Drop::kRingFull)].load() +
                    drops[static_cast<int>(wire::Drop::kRingsBusy)].load();
  EXPECT_EQ(records + lost, 2U * kThreads * kEach);
  EXPECT_EQ(client.arena().header.exceptions, std::uint64_t{kThreads} * kEach);
  for (const auto& ring : rings) EXPECT_EQ(ring.damaged(), 0U);
}

TEST_F(AgentTest, BecomesIdleWhenItsListenerGoes) {
  ASSERT_EQ(attach(), kOk);
  Client other{socket()};
  {
    Client client{socket()};
    ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
    ASSERT_EQ(client.ask(RequestKind::kSwitch, wire::kSourceExceptions).outcome, Outcome::kDone);
    EXPECT_EQ(other.ask(RequestKind::kOpen).outcome, Outcome::kBusy);
    EXPECT_EQ(other.ask(RequestKind::kHello).status.sources, wire::kSourceExceptions);
  }
  while (other.ask(RequestKind::kHello).status.sources != 0) ::poll(nullptr, 0, 1);
  EXPECT_EQ(other.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  EXPECT_EQ(FakeClr::mask, mask::kStackSnapshot | mask::kModuleLoads);
}

TEST_F(AgentTest, ClosesWhoSendsGarbageAndServesTheOthers) {
  ASSERT_EQ(attach(), kOk);
  Client good{socket()};
  std::mt19937 random{1};
  for (int i = 0; i < 300; ++i) {
    Client bad{socket()};
    std::vector<std::uint8_t> bytes(1 + random() % 64);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    bad.send(bytes.data(), bytes.size());
    ASSERT_EQ(good.ask(RequestKind::kHello).outcome, Outcome::kDone);
  }
  EXPECT_GT(good.ask(RequestKind::kHello).status.bad_requests, 100U);
  EXPECT_EQ(good.ask(static_cast<RequestKind>(99)).outcome, Outcome::kUnsupported);
  EXPECT_EQ(good.ask(RequestKind::kOpen, 0, 7).outcome, Outcome::kOtherProtocol);
  EXPECT_EQ(good.ask(RequestKind::kHello, 0, 7).outcome, Outcome::kDone);
  ASSERT_EQ(good.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  EXPECT_EQ(good.ask(RequestKind::kSwitch, 0x80).outcome, Outcome::kUnsupported);
}

TEST_F(AgentTest, LeavesAndComesBack) {
  for (int round = 0; round < 50; ++round) {
    ASSERT_EQ(attach(), kOk);
    detach();
    EXPECT_NE(::access(folder_.c_str(), F_OK), 0) << "its folder is removed with it";
    ASSERT_EQ(::mkdir(folder_.c_str(), 0700), 0);
  }
}

TEST_F(AgentTest, StaysWhenTheRuntimeDoesNotLetItGo) {
  ASSERT_EQ(attach(), kOk);
  FakeClr::detach_answer = hresult(0x80131370);
  Client client{socket()};
  const auto reply = client.ask(RequestKind::kDetach);
  EXPECT_EQ(reply.outcome, Outcome::kRefused);
  EXPECT_EQ(reply.status.hresult, hresult(0x80131370));
  EXPECT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  FakeClr::detach_answer = kOk;
}

TEST_F(AgentTest, WritesTheStacksOfAllThreads) {
  ASSERT_EQ(attach(), kOk);
  Client client{socket()};
  ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  std::vector<wire::RingReader> rings;
  rings.reserve(wire::kRings);
  for (auto& ring : client.arena().rings) rings.emplace_back(ring);
  FakeClr::depth = wire::kMostFrames + 10;
  ASSERT_EQ(client.ask(RequestKind::kSnapshot).outcome, Outcome::kDone);
  std::uint32_t stacks = 0, ends = 0;
  for (auto& ring : rings)
    ring.drain([&](const void* bytes, std::uint32_t size) {
      using namespace wire;
      if (const auto* stack = parse_record<ThreadStack>(RecordKind::kThreadStack, bytes, size)) {
        ++stacks;
        EXPECT_EQ(stack->frames, kMostFrames);
        EXPECT_EQ(client.name(frames_of(stack)[200]), "Shop.Type9.Method200");
      }
      if (const auto* end = parse_record<SnapshotEnd>(RecordKind::kSnapshotEnd, bytes, size)) {
        ++ends;
        EXPECT_EQ(end->threads, 5U);
      }
    });
  EXPECT_EQ(stacks, 5U);
  EXPECT_EQ(ends, 1U);
  EXPECT_EQ(client.arena().header.drops[static_cast<int>(wire::Drop::kStackCut)], 5U);
}

TEST_F(AgentTest, ReportsASuspensionThatDoesNotEndAndRecovers) {
  ASSERT_EQ(attach(), kOk);
  Client client{socket()};
  ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  FakeClr::hang = true;
  EXPECT_EQ(client.ask(RequestKind::kSnapshot).outcome, Outcome::kTimeout);
  EXPECT_EQ(client.ask(RequestKind::kDetach).outcome, Outcome::kTimeout) << "it says so at once";
  EXPECT_EQ(client.ask(RequestKind::kHello).outcome, Outcome::kDone);
  FakeClr::hang = false;
  FakeClr::hang.notify_all();
  while (client.ask(RequestKind::kSnapshot).outcome != Outcome::kDone) ::poll(nullptr, 0, 1);
}

TEST_F(AgentTest, AsksAgainForANameAfterItsModuleWasUnloaded) {
  ASSERT_EQ(attach(), kOk);
  Client client{socket()};
  ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  ASSERT_EQ(client.ask(RequestKind::kSwitch, wire::kSourceExceptions).outcome, Outcome::kDone);
  throw_and_catch(1);
  const auto asked = FakeClr::named.load();
  throw_and_catch(1);
  EXPECT_EQ(FakeClr::named, asked);
  call(callbacks_, callback::kModuleUnloadStarted, FakeClr::kModule);
  throw_and_catch(1);
  EXPECT_EQ(FakeClr::named, asked + 3);
}

// Little-endian payloads as the runtime writes them.
class PayloadBytes {
 public:
  template <class T>
  PayloadBytes& put(T value) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof value);
    return *this;
  }
  PayloadBytes& put_text(std::u16string text) {
    for (const auto letter : text) put(letter);
    return put(char16_t{0});
  }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<std::uint8_t> bytes_;
};

void deliver(ComObject* callbacks, std::uint32_t id, std::uint32_t version,
             const std::vector<std::uint8_t>& payload) {
  // An exact copy, so that a read past the end is seen.
  const std::vector<std::uint8_t> exact{payload};
  call(callbacks, callback::kEventPipeEventDelivered, Id{1}, id, version, std::uint32_t{0},
       static_cast<const std::uint8_t*>(nullptr), static_cast<std::uint32_t>(exact.size()),
       exact.data(), static_cast<const Guid*>(nullptr), static_cast<const Guid*>(nullptr), Id{0},
       std::uint32_t{0}, static_cast<const Id*>(nullptr));
}

TEST_F(AgentTest, RecordsWaitsAndAllocationsFromTheRuntimesEvents) {
  ASSERT_EQ(attach(), kOk);
  Client client{socket()};
  ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
  std::vector<wire::RingReader> rings;
  rings.reserve(wire::kRings);
  for (auto& ring : client.arena().rings) rings.emplace_back(ring);
  const auto both = wire::kSourceContention | wire::kSourceAllocations;
  ASSERT_EQ(client.ask(RequestKind::kSwitch, both).outcome, Outcome::kDone);
  EXPECT_EQ(FakeClr::keywords, 0x4001U) << "of .NET 8: contention and allocation ticks";

  const auto stop = PayloadBytes{}.put(std::uint8_t{0}).put(std::uint16_t{0}).put(2500.0).bytes();
  deliver(callbacks_, 91, 1, stop);  // its beginning was not seen
  const auto start = PayloadBytes{}
                         .put(std::uint8_t{0})
                         .put(std::uint16_t{0})
                         .put(std::uint64_t{0xabc})
                         .put(std::uint64_t{0})
                         .put(std::uint64_t{4711})
                         .bytes();
  deliver(callbacks_, 81, 2, start);
  deliver(callbacks_, 91, 1, stop);
  const auto tick = PayloadBytes{}
                        .put(std::uint32_t{110'000})
                        .put(std::uint32_t{0})
                        .put(std::uint16_t{0})
                        .put(std::uint64_t{110'000})
                        .put(std::uint64_t{0x2055})
                        .put_text(u"System.Byte[]")
                        .put(std::uint32_t{0})
                        .put(std::uint64_t{0x9999})
                        .put(std::uint64_t{4096})
                        .bytes();
  deliver(callbacks_, 10, 4, tick);
  // Every cut of a payload is refused.
  for (std::size_t size = 0; size < tick.size(); ++size)
    deliver(callbacks_, 10, 4, {tick.begin(), tick.begin() + static_cast<std::ptrdiff_t>(size)});
  deliver(callbacks_, 81, 2, start);
  for (std::size_t size = 0; size < stop.size(); ++size)
    deliver(callbacks_, 91, 1, {stop.begin(), stop.begin() + static_cast<std::ptrdiff_t>(size)});
  ASSERT_EQ(client.ask(RequestKind::kSwitch, 0).outcome, Outcome::kDone);
  EXPECT_EQ(FakeClr::keywords, 0U);

  int waits = 0, allocations = 0;
  for (auto& ring : rings)
    ring.drain([&](const void* bytes, std::uint32_t size) {
      using namespace wire;
      if (const auto* wait = parse_record<Contention>(RecordKind::kContention, bytes, size)) {
        ++waits;
        EXPECT_EQ(wait->wait_ns, 2500U);
        EXPECT_EQ(wait->lock, 0xabcU);
        EXPECT_EQ(wait->owner, 4711U);
        EXPECT_EQ(wait->frames, 3U);
      } else if (const auto* one = parse_record<Allocation>(RecordKind::kAllocation, bytes, size)) {
        ++allocations;
        EXPECT_EQ(one->size, 4096U);
        EXPECT_EQ(one->represents, 110'000U);
        EXPECT_EQ(client.name(one->type), "System.Byte[]");
        EXPECT_EQ(one->frames, 3U);
      }
    });
  EXPECT_EQ(waits, 1);
  EXPECT_EQ(allocations, 1);
  EXPECT_EQ(client.arena().header.contentions, 1U);
  EXPECT_EQ(client.arena().header.allocations, 1U);
}

TEST_F(AgentTest, StopsItsEventsWhenTheListenerGoes) {
  ASSERT_EQ(attach(), kOk);
  {
    Client client{socket()};
    ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
    ASSERT_EQ(client.ask(RequestKind::kSwitch, wire::kSourceContention).outcome, Outcome::kDone);
    EXPECT_EQ(FakeClr::keywords, 0x4000U);
  }
  while (FakeClr::keywords != 0) ::poll(nullptr, 0, 1);
}

TEST_F(AgentTest, SamplesCpuTimeUntilItsListenerGoesAndGivesTheSignalBack) {
  const auto handler = [] {
    struct sigaction now {};
    ::sigaction(SIGPROF, nullptr, &now);
    return now.sa_handler;
  };
  ASSERT_EQ(attach(), kOk);
  {
    Client client{socket()};
    ASSERT_EQ(client.ask(RequestKind::kOpen).outcome, Outcome::kDone);
    std::vector<wire::RingReader> rings;
    rings.reserve(wire::kRings);
    for (auto& ring : client.arena().rings) rings.emplace_back(ring);
    const auto before = handler();
    const auto switched =
        client.ask(RequestKind::kSwitch, wire::kSourceCpu | (500U << wire::kRateShift));
    ASSERT_EQ(switched.outcome, Outcome::kDone);
    EXPECT_EQ(switched.status.sources, wire::kSourceCpu);
    EXPECT_NE(handler(), before);
    int samples = 0;
    while (samples < 3)
      for (auto& ring : rings)
        ring.drain([&](const void* bytes, std::uint32_t size) {
          const auto* sample = wire::parse_cpu_sample(bytes, size);
          ASSERT_NE(sample, nullptr);
          EXPECT_GT(sample->weight_ns, 0U);
          if (sample->header.thread == static_cast<std::uint32_t>(::gettid())) ++samples;
        });
  }
  while (handler() != SIG_IGN) ::poll(nullptr, 0, 1);
}

TEST_F(AgentTest, RemovesItsFilesWhenTheProcessEnds) {
  ASSERT_EQ(attach(), kOk);
  Client client{socket()};
  call(callbacks_, callback::kShutdown);
  EXPECT_NE(::access(folder_.c_str(), F_OK), 0);
  EXPECT_EQ(client.ask(RequestKind::kDetach).outcome, Outcome::kDone);
  call(callbacks_, callback::kProfilerDetachSucceeded);
  EXPECT_TRUE(client.ended());
  attached_ = false;
}

TEST_F(AgentTest, KeepsItsFilesWhenAForkedChildEnds) {
  ASSERT_EQ(attach(), kOk);
  const auto child = ::fork();
  if (child == 0) {
    call(callbacks_, callback::kShutdown);
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(::access(socket().c_str(), F_OK), 0);
  Client client{socket()};
  EXPECT_EQ(client.ask(RequestKind::kHello).outcome, Outcome::kDone);
}

std::uint64_t cpu_ns() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<std::uint64_t>(spent.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(spent.tv_nsec);
}

TEST_F(AgentTest, SleepsWhileThereIsNoDescriptorForACaller) {
  ASSERT_EQ(attach(), kOk);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  Client client{socket()};
  ASSERT_EQ(client.ask(RequestKind::kHello).outcome, Outcome::kDone);
  const int next = ::dup(0);
  ASSERT_GE(next, 0);
  // One more for the caller itself, none for the agent.
  const rlimit none{static_cast<rlim_t>(next) + 1, before.rlim_max};
  ::close(next);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  Client late{socket()};
  ASSERT_TRUE(late.connected());
  const auto spent = cpu_ns();
  ::poll(nullptr, 0, 1000);
  EXPECT_LT(cpu_ns() - spent, 500'000'000U);
  // Others are served meanwhile, and the caller is when there is room again.
  EXPECT_EQ(client.ask(RequestKind::kHello).outcome, Outcome::kDone);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(late.ask(RequestKind::kHello).outcome, Outcome::kDone);
}

TEST(Recorder, TakesNoStacksBeyondItsShareOfTheTime) {
  Recorder recorder;
  ASSERT_TRUE(recorder.open());
  // A processor of 1 tick per nanosecond, whatever the time between two ticks.
  for (const std::uint64_t step : {1'000ULL, 1'000'000'000'000'000ULL}) {
    recorder.tick(1'000'000, 1'000'000);
    recorder.tick(1'000'000 + step, 1'000'000 + step);
    recorder.enter();
    recorder.leave(9'900'000, wire::Spender::kExceptions);
    EXPECT_FALSE(recorder.over_budget());
    recorder.enter();
    recorder.leave(200'000, wire::Spender::kExceptions);
    EXPECT_TRUE(recorder.over_budget()) << "10 ms of 100";
    recorder.tick(1'000'001 + step, 1'000'001 + step);
    EXPECT_FALSE(recorder.over_budget());
  }
}

TEST(Recorder, CountsWhatItHasNoRoomFor) {
  Recorder recorder;
  ASSERT_TRUE(recorder.open());
  const std::string name(1000, 'x');
  bool is_new = false;
  for (Id id = 8; id < 8 + Id{wire::kNameSlots} * 16; id += 8) {
    const auto slot = recorder.slot_of(id, is_new);
    if (slot != wire::kNoName && is_new)
      recorder.set_name(slot, 5, name.data(), static_cast<std::uint32_t>(name.size()));
  }
  const auto& drops = recorder.arena()->header.drops;
  EXPECT_GT(drops[static_cast<int>(wire::Drop::kNameTableFull)], 0U);
  EXPECT_GT(drops[static_cast<int>(wire::Drop::kNameTextFull)], 0U);
  EXPECT_TRUE(recorder.reset());
  EXPECT_EQ(drops[static_cast<int>(wire::Drop::kNameTableFull)], 0U);
  recorder.enter();
  EXPECT_FALSE(recorder.reset()) << "while a callback runs";
  recorder.leave(0, wire::Spender::kExceptions);
}

TEST(Environment, NamesASocketOfThisProcess) {
  char path[108];
  ASSERT_TRUE(default_socket(path));
  const std::string text{path};
  EXPECT_NE(text.find("/clrscope-agent-" + std::to_string(::getpid()) + "-"), std::string::npos);
  EXPECT_TRUE(text.ends_with("/control"));
  EXPECT_FALSE(is_switched_off());
}

}  // namespace
}  // namespace clrscope::agent
