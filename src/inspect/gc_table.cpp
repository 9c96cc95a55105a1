#include "inspect/gc_table.h"

#include "inspect/elf_image.h"

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostEntries = 256;  // of g_dacTable; 129 to 158 were seen
constexpr std::uint64_t kInvalidCounter = 192;

struct TableHead {
  std::uint8_t major;
  std::uint8_t minor;
  std::uint8_t zeros[6];
  std::uint64_t generation_size;
  std::uint64_t generations;
};

bool is_gc_table(const TableHead& head) {
  for (const auto zero : head.zeros)
    if (zero != 0) return false;
  return head.major == 2 && head.minor >= 1 && head.minor < 32 && head.generations == 5 &&
         head.generation_size >= 128 && head.generation_size <= 1024;
}

}  // namespace

Result<std::uint64_t> find_gc_invalid_counter(Target& target) {
  const auto mappings = TRY(target.mappings());
  Memory memory{target.memory()};
  for (const auto& image : runtime_candidates(mappings)) {
    const auto table = find_dynamic_symbol(memory, image.base, "g_dacTable");
    if (!table) continue;
    for (std::size_t i = 0; i < kMostEntries; ++i) {
      const auto entry = memory.pointer(*table + i * 8);
      if (!entry) break;
      const auto gc = memory.pointer(*entry).value_or(0);  // the entry is where a pointer lies
      const auto head = memory.get<TableHead>(gc);
      if (!head || !is_gc_table(*head)) continue;
      const auto counter = memory.pointer(gc + kInvalidCounter);
      // A count of collectors at work: a large one is something else.
      if (const auto value = memory.get<std::uint32_t>(counter.value_or(0)); value && *value < 1024)
        return *counter;
    }
  }
  return fail(Errc::kNotFound, "process {} has no collector whose state is known", target.pid());
}

}  // namespace clrscope::inspect
