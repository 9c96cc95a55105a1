// ReaderWriterLockSlim: a writer and an upgradeable reader are known by managed id, plain readers
// only by number.
#include <fmt/format.h>

#include "inspect/locks/lock_kind.h"

namespace clrscope::inspect {
namespace {

constexpr std::string_view kMethods[] = {"System.Threading.ReaderWriterLockSlim."};
constexpr std::uint32_t kWriterHeld = 0x80000000;  // in _owners
constexpr std::uint32_t kReaders = 0x10000000 - 1;

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
  if (readers > 0) wait.detail = fmt::format("held by {} readers", readers);
}

}  // namespace

extern const LockKind reader_writer_lock{
    .kind = WaitKind::kReaderWriter, .methods = kMethods, .examine = examine};

}  // namespace clrscope::inspect
