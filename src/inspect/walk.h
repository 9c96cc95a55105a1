// A thread's registers and stack to frames, wherever the process is: live, a twin, a core.
//
// Makes unwind rules only for the functions that the stacks can name: every word of a stack that
// points into code is taken as a possible return address first, then the tables for just these are
// made, then the stack is walked. A walk may begin with rip and rsp alone: the tables find the
// other registers on the stack where a callee saved them. Belongs to one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "inspect/runtime_reader.h"
#include "inspect/target.h"
#include "unwind/unwinder.h"

namespace clrscope::inspect {

// A thread's registers and stack as they were at one moment.
struct StackImage {
  unwind::Registers registers{};
  std::uint64_t address = 0;  // of bytes[0]
  std::vector<std::uint8_t> bytes{};
};

struct WalkedStack {
  std::vector<unwind::Frame> frames{};  // innermost first
  unwind::Stop stop = unwind::Stop::kRoot;

  bool whole() const { return stop == unwind::Stop::kRoot; }
};

class Walker {
 public:
  // `reader` may be null; both outlive the walker.
  static Result<std::unique_ptr<Walker>> of(Target& target, RuntimeReader* reader);
  ~Walker();
  // The process went on: what is mapped may have changed, and what the runtime made. What is known
  // of files that are mapped as before stays.
  Result<> look_again();
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  // At most `most` bytes of the stack that rsp points into; no bytes when it cannot be read.
  StackImage read_stack(const unwind::Registers& registers, std::size_t most);
  // Whether the stack goes on beyond what was read of it.
  bool cut_short(const StackImage& stack) const;

  // Makes the rules for what these stacks can name: before walk(), for many at once.
  void prepare(std::span<const StackImage> stacks);
  WalkedStack walk(const StackImage& stack);

  // The mapping that holds an address; null when there is none.
  const Mapping* mapping_at(std::uint64_t address) const;
  const std::vector<Mapping>& mappings() const { return mappings_; }
  // An address of native code in its file's own terms, and that file; nothing for other code.
  struct NativePlace {
    const std::string* path = nullptr;
    std::uint64_t vaddr = 0;
  };
  std::optional<NativePlace> native_place(std::uint64_t pc);

 private:
  class RuntimeRules;
  class TargetCode;
  struct File;
  struct Code;

  Walker(Target& target, RuntimeReader* reader, std::vector<Mapping> mappings);
  WalkedStack walk_from(const unwind::Registers& registers, const StackImage& stack);
  std::optional<std::uint64_t> rbp_of(const unwind::Frame& frame, const StackImage& stack);
  void map(std::vector<Mapping> mappings);
  void add_to_space(const Code& code);
  void note_words(const StackImage& stack);
  void note(std::uint64_t address);
  Code* code_at(std::uint64_t address);
  void open(Code& code);
  File* file_of(const Mapping& mapping);

  Target& target_;
  RuntimeReader* reader_;
  std::vector<Mapping> mappings_;  // by start
  std::vector<Code> codes_;        // the executable ones, by start
  std::map<std::string, std::unique_ptr<File>> files_;
  unwind::AddressSpace space_;
  std::unique_ptr<RuntimeRules> rules_;  // null without a reader
  std::unique_ptr<TargetCode> bytes_;
  std::vector<unwind::Frame> buffer_;
};

}  // namespace clrscope::inspect
