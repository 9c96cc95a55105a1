// Address to function name in native code, for one ELF file.
//
// The names of .symtab, of a separate debug file, of .dynsym; where none of them knows the
// function, a name made of its start as .eh_frame tells it (fn_5fb300): stable for a build, so that
// samples of one function fall together. Made once per build-id as sorted arrays; after that it
// needs no file and any thread may read it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "symbols/elf.h"
#include "symbols/elf_frames.h"

namespace clrscope {

struct NativeFunction {
  std::uint64_t start = 0;  // vaddr
  std::uint64_t end = 0;
  std::string_view name{};  // as the linker has it; empty: only its range is known
};

class NativeNames {
 public:
  NativeNames() = default;
  // `debug` may be the separate debug file of the same build, or null. `frames` are the ranges that
  // .eh_frame tells, by start: given apart, because that section may be as large as all else.
  static NativeNames of(const ElfFile& file, const ElfFile* debug,
                        std::span<const FrameRange> frames);
  static NativeNames of(const ElfFile& file, const ElfFile* debug = nullptr);

  // Code that no table tells of, between two functions, is one without a name: the runtime's
  // hand-written helpers are such.
  std::optional<NativeFunction> find(std::uint64_t vaddr) const;
  // What to show: the demangled name, or fn_START; empty when the address is in no function.
  std::string name_at(std::uint64_t vaddr) const;

  std::size_t size() const { return starts_.size(); }
  std::size_t memory_bytes() const;

 private:
  class Builder;
  std::optional<NativeFunction> between(std::uint64_t offset) const;
  // One function each, by start; offsets from base_.
  std::uint64_t base_ = 0;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> names_;  // into text_, which begins with an empty one
  std::vector<char> text_;
};

// Where separate debug files are looked for.
struct DebugFolders {
  std::string root{};      // put before system folders: a container's "/proc/PID/root", or ""
  std::string known_as{};  // where below that root the file lies; empty: where it was opened
  std::string
      symbol_folder{};  // --symbol-dir: <build-id>.debug, xx/yyyy.debug or the file's own name
};

// The separate debug file of a build, if there is one that has its build-id.
std::optional<std::string> find_debug_file(const ElfFile& file, const std::string& path,
                                           const DebugFolders& folders);

// Opens the file and its debug file, and makes the names.
Result<NativeNames> load_native_names(const std::string& path, const DebugFolders& folders = {});

// C++ names readable; others as they are. Hostile names: bounded in length.
std::string demangled(std::string_view name);

}  // namespace clrscope
