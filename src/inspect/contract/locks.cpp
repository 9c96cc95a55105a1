#include "inspect/contract/locks.h"

#include <algorithm>
#include <utility>

namespace clrscope::inspect {
namespace {

constexpr std::uint32_t kMostEntries = 1 << 22;
constexpr std::uint32_t kMostOdd = 64;  // in a row: then it is the end of the table

constexpr std::uint32_t kIsIndexOrHash = 1 << 27;
constexpr std::uint32_t kIsHash = 1 << 26;
constexpr std::uint32_t kIndexMask = kIsHash - 1;

// A SyncBlock begins with its lock. The owner is the runtime's Thread up to .NET 9, the managed id
// since 10.
struct LockWords {
  std::uint32_t state;  // bit 0: held; from bit 6 on: how many wait to enter
  std::uint32_t recursion;
  std::uint64_t owner;
  std::uint64_t owner_os_id;
};
static_assert(sizeof(LockWords) == 24);

bool is_address(std::uint64_t word) {
  return word >= 4096 && word < std::uint64_t{1} << 47 && word % 8 == 0;
}

}  // namespace

Result<Locks> Locks::open(Memory& memory, const Descriptor& descriptor) {
  Locks made{memory};
  Needs needs{descriptor};
  made.table_ = needs.variable("SyncTableEntries");
  made.entry_size_ = needs.size("SyncTableEntry");
  made.block_ = needs.field("SyncTableEntry", "SyncBlock");
  made.header_back_ = needs.number("SyncBlockValueToObjectOffset");
  TRY(needs.met());
  if (made.entry_size_ != 16 || made.block_ != 0)
    return fail(Errc::kUnsupported, "sync table entries of {} bytes are not supported",
                made.entry_size_);
  return made;
}

Result<SyncBlocks> Locks::list(std::span<const RuntimeThread> threads) {
  struct Entry {
    std::uint64_t block;
    std::uint64_t object;  // bit 0: free, and a link
  };
  const auto table = memory_->pointer(table_);
  if (!table || *table == 0) return fail(Errc::kCorrupt, "the runtime's sync table is unreadable");
  SyncBlocks locks;
  std::uint32_t odd = 0;
  std::uint64_t unread = 0;  // of the table only if something of the table follows
  const auto still_inside = [&] {
    odd = 0;
    locks.unread += std::exchange(unread, 0);
  };
  for (std::uint32_t index = 1; index < kMostEntries && odd < kMostOdd; ++index) {
    const auto entry = memory_->get<Entry>(*table + std::uint64_t{index} * entry_size_);
    locks.cut = !entry;
    if (!entry || (entry->block == 0 && entry->object == 0)) {  // never used, like all after
      if (odd == 0) still_inside();
      break;
    }
    if ((entry->object & 1) != 0) {
      if (entry->object >> 1 < kMostEntries)
        still_inside();
      else
        ++odd;
      continue;
    }
    SyncBlock lock;
    lock.object = entry->object;
    const auto named = names_entry(entry->object, index);
    if (!named && is_address(entry->block)) {
      ++unread;
      continue;
    }
    if (!named.value_or(false)) {
      ++odd;
      continue;
    }
    still_inside();
    if (entry->block == 0) continue;
    if (read(entry->block, threads, lock))
      locks.known.push_back(lock);
    else
      ++locks.unread;
  }
  return locks;
}

std::optional<bool> Locks::names_entry(std::uint64_t object, std::uint32_t index) {
  if (!is_address(object)) return false;
  const auto header = memory_->get<std::uint32_t>(object - header_back_);
  if (!header) return std::nullopt;
  return (*header & (kIsIndexOrHash | kIsHash)) == kIsIndexOrHash &&
         (*header & kIndexMask) == index;
}

bool Locks::read(std::uint64_t block, std::span<const RuntimeThread> threads, SyncBlock& lock) {
  const auto words = memory_->get<LockWords>(block);
  if (!words) return false;
  lock.held = (words->state & 1) != 0;
  lock.waiters = words->state >> 6;
  lock.recursion = words->recursion;
  if (!lock.held) return true;
  const auto owner = std::find_if(threads.begin(), threads.end(), [&](const RuntimeThread& one) {
    return one.os_id != 0 && one.os_id == words->owner_os_id &&
           (one.address == words->owner ||
            one.managed_id == static_cast<std::uint32_t>(words->owner));
  });
  if (owner != threads.end()) {
    lock.owner_os_id = owner->os_id;
    lock.owner_managed_id = owner->managed_id;
  }
  return true;
}

}  // namespace clrscope::inspect
