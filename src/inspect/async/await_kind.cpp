#include "inspect/async/await_kind.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <array>

#include "base/text.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kNone = HeapView::kNone;
constexpr std::uint32_t kInfinite = 0xffffffff;                  // of a timer
constexpr std::uint32_t kStarted = 0x10000, kInvoked = 0x20000;  // of m_stateFlags
constexpr std::size_t kMostWaiters = 2'000'000;

struct KindOfType {
  std::string_view part;
  AwaitKind kind;
};
// By a part of the type's name, the first that matches.
constexpr std::array<KindOfType, 8> kByType{{
    {"System.Threading.Channels.", AwaitKind::kChannel},
    {"PeriodicTimer", AwaitKind::kDelay},
    {"System.IO.Pipelines.", AwaitKind::kPipe},
    {"SocketAsyncEventArgs", AwaitKind::kSocket},
    {"SocketAwaitableEventArgs", AwaitKind::kSocket},
    {"System.Net.Sockets.", AwaitKind::kSocket},
    {"System.IO.RandomAccess", AwaitKind::kFile},
    {"Microsoft.Win32.SafeHandles.SafeFileHandle", AwaitKind::kFile},
}};

// By a part of the name of the object that stands for an operation. On .NET 8 and 9 one type of
// channel operations serves several.
struct DetailOfType {
  std::string_view part;
  std::string_view detail;
};
constexpr std::array<DetailOfType, 7> kDetails{{
    {"BlockedReadAsyncOperation", "read"},
    {"BlockedWriteAsyncOperation", "write"},
    {"VoidAsyncOperationWithData", "write"},
    {"WaitingReadAsyncOperation", "wait to read"},
    {"WaitingWriteAsyncOperation", "wait to write"},
    {"PipeReader", "read"},
    {"PipeWriter", "flush"},
}};

std::string_view detail_of_type(std::string_view name) {
  for (const auto& one : kDetails)
    if (name.find(one.part) != name.npos) return one.detail;
  return {};
}

AwaitKind kind_of_type(std::string_view name) {
  for (const auto& one : kByType)
    if (name.find(one.part) != name.npos) return one.kind;
  return AwaitKind::kUnknown;
}

}  // namespace

AwaitKinds::Note AwaitKinds::note_of(std::uint32_t type) {
  if (notes_.empty()) notes_.resize(heap_.graph().types.size());
  auto& note = notes_[type];
  if (note != Note::kUnknown) return note;
  const auto& name = heap_.graph().types[type].name;
  if (name == "System.Threading.SemaphoreSlim") return note = Note::kSemaphore;
  if (name == "System.Threading.TimerQueueTimer") return note = Note::kTimer;
  if (name.starts_with("System.Threading.Tasks.TaskCompletionSource")) return note = Note::kSource;
  return note = Note::kNothing;
}

void AwaitKinds::note(std::uint32_t object) {
  switch (note_of(heap_.graph().type_of[object])) {
    case Note::kSemaphore:
      add_semaphore(object);
      break;
    case Note::kSource:
      if (const auto task = heap_.reference(object, "_task"); task != kNone)
        source_of_[task] = object;
      break;
    case Note::kTimer:
      if (heap_.field<std::uint32_t>(object, "_dueTime").value_or(kInfinite) != kInfinite)
        ++timers_;
      break;
    case Note::kUnknown:
    case Note::kNothing:
      break;
  }
}

void AwaitKinds::add_semaphore(std::uint32_t semaphore) {
  semaphores_.push_back(semaphore);
  auto waiter = heap_.reference(semaphore, "m_asyncHead");
  while (waiter != kNone && semaphore_of_.size() < kMostWaiters &&
         tasks_.layout_of(waiter).kind == TaskKind::kSemaphore &&
         semaphore_of_.emplace(waiter, semaphore).second)
    waiter = heap_.reference(waiter, "Next");
}

AsyncWait AwaitKinds::describe(std::uint32_t awaited) {
  AsyncWait wait{.object = heap_.graph().addresses[awaited], .type = heap_.type_name(awaited)};
  switch (tasks_.layout_of(awaited).kind) {
    case TaskKind::kDelay:
      return delay(awaited);
    case TaskKind::kSemaphore:
      return semaphore(awaited);
    case TaskKind::kPlain:
    case TaskKind::kContinue:
      return plain_task(awaited);
    case TaskKind::kNone:
      wait.kind = kind_of_type(wait.type);
      if (wait.kind == AwaitKind::kDelay) return delay(awaited);
      if (wait.kind == AwaitKind::kUnknown) wait.kind = AwaitKind::kValueTaskSource;
      wait.detail = wait.kind == AwaitKind::kSocket ? socket_detail(awaited)
                                                    : std::string{detail_of_type(wait.type)};
      return wait;
    case TaskKind::kMethod:
    case TaskKind::kPooled:
    case TaskKind::kJoin:
    case TaskKind::kOther:
      wait.kind = kind_of_type(wait.type);
      return wait;
  }
  return wait;
}

// It may be wrapped, as what TimeProvider gives, and a PeriodicTimer is awaited by its state.
std::uint32_t AwaitKinds::timer_of(std::uint32_t object) {
  auto timer = object;
  for (int hop = 0; hop < 4 && timer != kNone; ++hop) {
    if (heap_.type_name(timer) == "System.Threading.TimerQueueTimer") return timer;
    const auto inner = heap_.reference(timer, "_timer");
    timer = inner != kNone ? inner : heap_.reference(timer, "_owner");
  }
  return kNone;
}

AsyncWait AwaitKinds::delay(std::uint32_t object) {
  AsyncWait wait{.kind = AwaitKind::kDelay,
                 .object = heap_.graph().addresses[object],
                 .type = heap_.type_name(object)};
  const auto timer = timer_of(object);
  if (timer == kNone) {
    const bool is_task = tasks_.layout_of(object).kind == TaskKind::kDelay;
    if (is_task) wait.detail = "without a timeout";
    return wait;
  }
  const auto start = heap_.field<std::int64_t>(timer, "_startTicks");
  const auto due = heap_.field<std::uint32_t>(timer, "_dueTime");
  if (!due) return wait;
  if (*due == kInfinite) {
    wait.detail = "without a timeout";
    return wait;
  }
  const auto whole = std::chrono::milliseconds{*due};
  if (!now_ || !start || *start <= 0 || static_cast<std::uint64_t>(*start) > *now_) {
    wait.detail = "of " + format_duration(whole);
    return wait;
  }
  const auto passed = std::chrono::milliseconds{
      std::min<std::uint64_t>(*now_ - static_cast<std::uint64_t>(*start), *due)};
  wait.detail = "of " + format_duration(whole);
  wait.detail += passed < whole ? ", due in " + format_duration(whole - passed) : ", due now";
  return wait;
}

// "Receive from 10.0.0.7:5432"
std::string AwaitKinds::socket_detail(std::uint32_t operation) {
  struct Operation {
    std::string_view name, with;
  };
  static constexpr std::array<Operation, 10> kOperations{{{"", ""},
                                                          {"Accept", ""},
                                                          {"Connect", "to"},
                                                          {"Disconnect", "from"},
                                                          {"Receive", "from"},
                                                          {"ReceiveFrom", ""},
                                                          {"ReceiveMessageFrom", ""},
                                                          {"Send", "to"},
                                                          {"SendPackets", "to"},
                                                          {"SendTo", ""}}};
  const auto number = heap_.field<std::uint32_t>(operation, "_completedOperation").value_or(0);
  if (number == 0 || number >= kOperations.size()) return {};
  const auto& [name, with] = kOperations[number];
  std::string text{name};
  const auto socket = with.empty() ? kNone : heap_.reference(operation, "_currentSocket");
  const auto remote = socket == kNone ? kNone : heap_.reference(socket, "_remoteEndPoint");
  if (const auto address = endpoint_text(remote); !address.empty())
    text += fmt::format(" {} {}", with, address);
  return text;
}

// Of an IPEndPoint; empty: it is none.
std::string AwaitKinds::endpoint_text(std::uint32_t endpoint) {
  if (endpoint == kNone || heap_.type_name(endpoint) != "System.Net.IPEndPoint") return {};
  const auto port = heap_.field<std::uint32_t>(endpoint, "_port").value_or(0);
  const auto address = heap_.reference(endpoint, "_address");
  if (address == kNone || port > 0xffff) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (const auto numbers = heap_.reference(address, "_numbers"); numbers != kNone) {
    constexpr std::uint64_t kArrayData = 16;
    std::array<std::uint16_t, 8> parts{};
    const auto start = heap_.graph().addresses[numbers];
    if (heap_.memory().get<std::uint32_t>(start + 8).value_or(0) != parts.size()) return {};
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i] = ::htons(heap_.memory().get<std::uint16_t>(start + kArrayData + 2 * i).value_or(0));
    ::inet_ntop(AF_INET6, parts.data(), text.data(), text.size());
    return fmt::format("[{}]:{}", text.data(), port);
  }
  const auto bytes = heap_.field<std::uint32_t>(address, "_addressOrScopeId");
  if (!bytes) return {};
  ::inet_ntop(AF_INET, &*bytes, text.data(), text.size());
  return fmt::format("{}:{}", text.data(), port);
}

AsyncWait AwaitKinds::semaphore(std::uint32_t node) {
  AsyncWait wait{.kind = AwaitKind::kSemaphore,
                 .task = heap_.graph().addresses[node],
                 .type = "System.Threading.SemaphoreSlim"};
  const auto found = semaphore_of_.find(node);
  if (found == semaphore_of_.end()) {  // it has been let go just now
    wait.object = heap_.graph().addresses[node];
    return wait;
  }
  const auto semaphore = found->second;
  wait.object = heap_.graph().addresses[semaphore];
  wait.free = heap_.field<std::int32_t>(semaphore, "m_currentCount");
  wait.most = heap_.field<std::int32_t>(semaphore, "m_maxCount");
  if (wait.free)
    wait.detail = wait.most && *wait.most < 0x7fffffff
                      ? fmt::format("{} of {} free", *wait.free, *wait.most)
                      : fmt::format("{} free", *wait.free);
  return wait;
}

AsyncWait AwaitKinds::plain_task(std::uint32_t task) {
  AsyncWait wait{.object = heap_.graph().addresses[task], .type = heap_.type_name(task)};
  const auto action = heap_.reference(task, "m_action");
  if (action != kNone) {
    const auto flags = tasks_.flags(task);
    wait.kind = AwaitKind::kTask;
    wait.detail = (flags & kInvoked) != 0   ? "running"
                  : (flags & kStarted) != 0 ? "queued"
                                            : "not started";
    return wait;
  }
  wait.kind = AwaitKind::kCompletionSource;
  if (const auto source = source_of_.find(task); source != source_of_.end()) {
    wait.type = heap_.type_name(source->second);
    return wait;
  }
  wait.kind = AwaitKind::kUnknown;  // a task that somebody else completes
  return wait;
}

}  // namespace clrscope::inspect
