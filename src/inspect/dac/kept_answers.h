// What the library said of types and methods, kept from one look to the next.
//
// Each question costs a round trip to the worker, and the library reads its tables anew after every
// look. An answer is kept while the bytes of the target that identify the type or the method are
// the same: code or types that were unloaded, and whose place is used by others, are asked about
// again. Methods that the program makes at run time are kept for one look only. Belongs to one
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "inspect/memory.h"
#include "inspect/runtime_reader.h"

namespace clrscope::inspect::dac {

// Where a method table points to its class or canonical table, and a class back to its table.
inline constexpr std::uint64_t kClassAt = 40;
inline constexpr std::uint64_t kTableOfClassAt = 16;

// Whether the words of the target are those of a method table: the library crashes on what is none.
// `read_word` fills in the word at an address, or says false.
template <class ReadWord>
bool is_method_table(std::uint64_t address, ReadWord read_word) {
  const auto points_back = [&](std::uint64_t table, std::uint64_t type_class) {
    std::uint64_t back = 0;
    return read_word(type_class + kTableOfClassAt, back) && back == table;
  };
  std::uint64_t link = 0;
  if (address == 0 || (address & 7) != 0 || !read_word(address + kClassAt, link)) return false;
  if ((link & 1) == 0) return points_back(address, link);
  const auto canonical = link & ~std::uint64_t{1};
  return read_word(canonical + kClassAt, link) && (link & 1) == 0 && points_back(canonical, link);
}

class KeptAnswers {
 public:
  explicit KeptAnswers(MemorySource& source) : memory_(source) {}

  // The target went on: what is kept is compared with its memory before it is given out again.
  void look_again() {
    ++look_;
    memory_.forget();
  }

  bool may_be_table(std::uint64_t address);

  // Null: unknown, or no longer what it was.
  const TypeInfo* type(std::uint64_t method_table);
  const TypeInfo& keep(TypeInfo type);

  const MethodInfo* method(std::uint64_t pc);
  MethodInfo keep(MethodInfo method);

  // The offset in the IL of an address in a method's code; the outer nothing: unknown.
  std::optional<std::optional<std::uint32_t>> il_offset(std::uint64_t pc);
  void keep_il_offset(std::uint64_t pc, std::optional<std::uint32_t> offset);

 private:
  struct Type {
    TypeInfo info{};
    std::uint64_t mark = 0, look = 0;
  };
  struct Method {
    MethodInfo info{};
    std::uint64_t mark = 0, look = 0;
    std::map<std::uint64_t, std::optional<std::uint32_t>> il_offsets{};  // by address
  };
  Method* find(std::uint64_t pc);
  // Of the target's bytes there; 0: unreadable.
  std::uint64_t mark_of(std::uint64_t address, std::size_t size);
  std::uint64_t mark_of(const MethodInfo& method);

  Memory memory_;
  std::uint64_t look_ = 1;
  std::unordered_map<std::uint64_t, Type> types_;  // by method table
  std::map<std::uint64_t, Method> methods_;        // by start of code
};

}  // namespace clrscope::inspect::dac
