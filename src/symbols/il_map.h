// From a place in a method's machine code to the place in its IL, as the JIT compiler noted it.
//
// The runtime tells it by MethodILToNativeMap events, keeps it in its own memory, and crossgen
// writes it into ReadyToRun images. A value; reading it changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace clrscope {

class IlMap {
 public:
  struct Entry {
    std::uint32_t native = 0;  // offset from the start of the method's code
    std::uint32_t il = 0;      // or one of those below
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  static constexpr std::uint32_t kNoMapping = 0xffffffff;
  static constexpr std::uint32_t kPrologue = 0xfffffffe;
  static constexpr std::uint32_t kEpilogue = 0xfffffffd;

  IlMap() = default;
  explicit IlMap(std::vector<Entry> entries);  // in any order

  // Of the instruction at that offset: for a return address ask for the byte before it. Code that
  // belongs to no IL counts to what comes before it; a prologue is the method's beginning.
  std::optional<std::uint32_t> il_offset(std::uint32_t native) const;

  bool empty() const { return entries_.empty(); }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;  // by native offset; only those with an IL offset
};

}  // namespace clrscope
