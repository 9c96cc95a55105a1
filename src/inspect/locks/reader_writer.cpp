// ReaderWriterLockSlim: a writer and an upgradeable reader are known by managed id, plain readers
// by number, and by the counts that each thread keeps for the locks it reads (.NET 10).
#include <fmt/format.h>

#include "inspect/locks/lock_kind.h"
#include "inspect/take_snapshot.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.ReaderWriterLockSlim."};
constexpr std::uint32_t kWriterHeld = 0x80000000;  // in _owners
constexpr std::uint32_t kReaders = 0x10000000 - 1;
constexpr std::size_t kMostCounts = 1000;  // locks that a thread has read; more are no list

// Threads that hold the lock for reading, as far as their own counts can be read.
std::vector<const ThreadView*> readers_of(const WaitScene& scene, std::uint64_t lock) {
  std::vector<const ThreadView*> readers;
  const auto id = scene.objects.field<std::int64_t>(lock, "_lockID");
  for (const auto& thread : scene.seen.threads) {
    if (!id || !thread.runtime) continue;
    auto count = scene.objects.thread_static(*thread.runtime, "System.Threading.ReaderWriterCount");
    for (std::size_t i = 0; count != 0 && i < kMostCounts; ++i) {
      if (scene.objects.field<std::int64_t>(count, "lockID") == id &&
          scene.objects.field<std::int32_t>(count, "readercount").value_or(0) > 0) {
        readers.push_back(&thread);
        break;
      }
      count = scene.objects.reference(count, "next");
    }
  }
  return readers;
}

void examine(const WaitScene& scene, Wait& wait) {
  const auto id = [&](std::uint64_t lock, std::string_view field) {
    const auto value = scene.objects.field<std::int32_t>(lock, field).value_or(-1);
    return value > 0 ? static_cast<std::uint32_t>(value) : 0;
  };
  const auto own = scene.thread.runtime ? scene.thread.runtime->managed_id : 0;
  // Those that the thread holds already lie on its stack too.
  wait.object = scene.first_word([&](std::uint64_t word) {
    const auto* type = scene.objects.type_of(word);
    return type && type->name == "System.Threading.ReaderWriterLockSlim" &&
           id(word, "_writeLockOwnerId") != own;
  });
  const auto owners = scene.objects.field<std::uint32_t>(wait.object, "_owners").value_or(0);
  const auto writer = id(wait.object, "_writeLockOwnerId");
  const auto upgrader = id(wait.object, "_upgradeLockOwnerId");
  if (writer != 0) {
    wait.owner_os_id = scene.os_id_of_managed(writer);
    wait.detail = "held for writing";
    return;
  }
  const auto readers = (owners & kWriterHeld) != 0 ? 0 : owners & kReaders;
  // Plain readers keep a writer out as well, and nobody knows who they are.
  if (upgrader != 0 && upgrader != own && readers <= 1)
    wait.owner_os_id = scene.os_id_of_managed(upgrader);
  if (readers == 0) return;
  const auto known = readers_of(scene, wait.object);
  // Only then there is nobody else to wait for.
  if (readers == 1 && known.size() == 1 && known[0] != &scene.thread && wait.owner_os_id == 0)
    wait.owner_os_id = known[0]->os_id();
  std::vector<std::string> names;
  for (const auto* const reader : known) names.push_back(title_of(*reader));
  wait.detail = fmt::format("held by {} reader{}{}{}", readers, readers == 1 ? "" : "s",
                            names.empty() ? "" : ": ", fmt::join(names, ", "));
}

}  // namespace

extern const LockKind reader_writer_lock{
    .kind = WaitKind::kReaderWriter, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
