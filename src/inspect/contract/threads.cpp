#include "inspect/contract/threads.h"

#include <algorithm>

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kMostThreads = 1 << 20;
constexpr std::uint64_t kArrayOfLocalData = 8, kThreadOfLocalData = 24;  // as .NET 10 has it
constexpr std::uint64_t kLeastLocalData = 128, kMostLocalData = 1024;
constexpr std::uint32_t kMostNew = 64;  // threads that begin while the list is walked

enum State : std::uint32_t {
  kBackground = 0x200,
  kUnstarted = 0x400,
  kDead = 0x800,
  kPoolWorker = 0x01000000,
};

}  // namespace

Result<Threads> Threads::open(Memory& memory, const Descriptor& descriptor, Types& types) {
  TRY(descriptor.require("Thread", 1));
  TRY(descriptor.require("Exception", 1));
  Threads made{memory, types};
  Needs needs{descriptor};
  made.store_ = needs.variable("ThreadStore");
  made.in_store_ = {.first = needs.field("ThreadStore", "FirstThreadLink"),
                    .count = needs.field("ThreadStore", "ThreadCount")};
  made.in_thread_ = {.id = needs.field("Thread", "Id"),
                     .os_id = needs.field("Thread", "OSId"),
                     .state = needs.field("Thread", "State"),
                     .cooperative = needs.field("Thread", "PreemptiveGCDisabled"),
                     .exposed = needs.field("Thread", "GCHandle"),
                     .tracker = needs.field("Thread", "ExceptionTracker"),
                     .next = needs.field("Thread", "LinkNext"),
                     .frame = needs.field("Thread", "Frame")};
  made.thrown_ = needs.field("ExceptionInfo", "ThrownObject");
  made.local_data_ = descriptor.offset("Thread", "ThreadLocalDataPtr");  // from .NET 10 on
  const auto outer = descriptor.offset("RuntimeThreadLocals", "AllocContext");
  const auto inner = descriptor.offset("EEAllocContext", "GCAllocationContext");
  const auto pointer = descriptor.offset("GCAllocContext", "Pointer");
  const auto limit = descriptor.offset("GCAllocContext", "Limit");
  if (outer && pointer && limit && *limit == *pointer + 8) {
    made.own_data_ = descriptor.offset("Thread", "RuntimeThreadLocals");
    made.allocation_ = *outer + inner.value_or(0) + *pointer;  // .NET 9: not one in another
  }
  TRY(needs.met());
  return made;
}

Result<std::vector<RuntimeThread>> Threads::list(Detail detail) {
  const auto store = memory_->pointer(store_);
  const auto count = store ? memory_->get<std::uint32_t>(*store + in_store_.count) : std::nullopt;
  auto link = store ? memory_->pointer(*store + in_store_.first) : std::nullopt;
  if (!count || !link) return fail(Errc::kCorrupt, "the runtime's list of threads is unreadable");
  if (*count > kMostThreads)
    return fail(Errc::kCorrupt, "the runtime's list of {} threads is invalid", *count);
  std::vector<RuntimeThread> threads;
  while (link && *link != 0 && threads.size() <= *count + kMostNew) {
    RuntimeThread thread;
    if (!read(*link - in_thread_.next, thread)) break;
    if (detail == Detail::kAll) read_details(thread);
    threads.push_back(std::move(thread));
    link = memory_->pointer(*link);
  }
  // Threads may have come or gone while the list was walked: past the cache, the count as it is
  // now.
  const auto walked = static_cast<std::uint32_t>(threads.size());
  auto now = *count;
  if (const auto bytes = memory_->block(*store + in_store_.count, 4); !bytes.empty())
    now = ByteReader{bytes}.read<std::uint32_t>();
  const auto [least, most] = std::minmax(*count, now);
  if (walked < least || walked > most || link != std::optional<std::uint64_t>{0})
    return fail(Errc::kCorrupt, "the runtime counts {} threads, its list has {}{}", *count, walked,
                walked > *count ? " or more" : "");
  return threads;
}

bool Threads::read(std::uint64_t address, RuntimeThread& thread) {
  const auto id = memory_->get<std::uint32_t>(address + in_thread_.id);
  const auto os_id = memory_->get<std::uint32_t>(address + in_thread_.os_id);
  const auto state = memory_->get<std::uint32_t>(address + in_thread_.state);
  const auto cooperative = memory_->get<std::uint32_t>(address + in_thread_.cooperative);
  if (!id || !os_id || !state || !cooperative) return false;
  thread.address = address;
  thread.managed_id = *id;
  thread.background = (*state & kBackground) != 0;
  thread.unstarted = (*state & kUnstarted) != 0;
  thread.dead = (*state & kDead) != 0;
  thread.pool = (*state & kPoolWorker) != 0;
  thread.cooperative = *cooperative != 0;
  if (!thread.dead && !thread.unstarted) thread.os_id = *os_id;
  return true;
}

void Threads::read_details(RuntimeThread& thread) {
  const auto address = thread.address;
  if (own_data_) {
    const auto own = memory_->pointer(address + *own_data_).value_or(0);
    if (own != 0) {
      thread.allocation_pointer = memory_->pointer(own + allocation_).value_or(0);
      thread.allocation_limit = memory_->pointer(own + allocation_ + 8).value_or(0);
    }
  }
  if (const auto object = object_of_handle(address + in_thread_.exposed)) {
    const auto* const type = types_->type_of_object(object);
    if (type && type->name == "System.Threading.Thread") {
      thread.managed_object = object;
      if (const auto* const name = type->field("_name"))
        thread.name = types_->text_of_string(memory_->pointer(object + name->offset).value_or(0));
      // Since .NET 10 only the managed side knows.
      if (const auto* const pool = type->field("_isThreadPool"))
        thread.pool |= memory_->get<std::uint8_t>(object + pool->offset).value_or(0) == 1;
    }
  }
  if (const auto exception = current_exception(address)) {
    if (const auto* const type = types_->type_of_object(exception)) {
      thread.exception = exception;
      thread.exception_type = type->name;
    }
  }
}

std::uint64_t Threads::statics_of(const RuntimeThread& thread) {
  const auto data = local_data(thread);
  return data == 0 ? 0 : memory_->pointer(data + kArrayOfLocalData).value_or(0);
}

std::uint64_t Threads::local_data(const RuntimeThread& thread) {
  const auto behind = [&](std::uint64_t at) -> std::uint64_t {
    const auto data = memory_->pointer(thread.address + at).value_or(0);
    if (data < 4096 || data % 8 != 0) return 0;
    return memory_->pointer(data + kThreadOfLocalData) == thread.address ? data : 0;
  };
  if (local_data_) return behind(*local_data_);
  // .NET 9 does not say where: but what is there points back.
  for (std::uint64_t at = kLeastLocalData; at < kMostLocalData; at += 8)
    if (const auto data = behind(at)) return local_data_ = at, data;
  return 0;
}

std::uint64_t Threads::object_of_handle(std::uint64_t handle_address) {
  const auto handle = memory_->pointer(handle_address);
  return handle && *handle != 0 ? memory_->pointer(*handle).value_or(0) : 0;
}

// The innermost of those that are being handled. What was thrown and caught before is not asked:
// it says nothing of what the thread does now.
std::uint64_t Threads::current_exception(std::uint64_t address) {
  const auto tracker = memory_->pointer(address + in_thread_.tracker);
  return tracker && *tracker != 0 ? object_of_handle(*tracker + thrown_) : 0;
}

}  // namespace clrscope::inspect
