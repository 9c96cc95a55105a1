// The files that a core's process had mapped, where they are here and of the same build.
//
// Fills what was left out of a core: code and read-only data. A file counts as the same only with
// evidence: an ELF file by its build-id; a PE file by its first page, and where that was left out
// (gcore and the kernel do so), when it has not changed since the core was written and this is the
// machine of the core, which the build-ids of its native files tell. Belongs to one thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "inspect/core_image.h"
#include "symbols/elf.h"
#include "symbols/pe.h"

namespace clrscope::inspect {

class ModuleFiles {
 public:
  // `folder` stands before every path; `written` is when the core was.
  ModuleFiles(const CoreImage& core, std::string folder, WallTime written);

  // As many bytes of the file mapped at the address as are certain to be what was in memory.
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out);
  // The file itself. One that the process had not mapped is taken as it is.
  Result<UniqueFd> open(const std::string& path);
  // How a part of a file was mapped, from its own headers: nothing when that is not known.
  std::optional<ElfSegment> segment_at(const CoreFile& file);

 private:
  struct Module {
    UniqueFd fd{};
    std::vector<ElfSegment> segments{};
    std::optional<PeFile> image{};  // its section table
    std::uint64_t size = 0;         // of a PE file
    std::uint64_t base = 0;         // of an ELF file: where the address 0 of the file lies
    Error why{};                    // there is no fd
  };
  Module& module_of(const std::string& path);
  Result<> identify(Module& module, const std::string& path);
  Result<> identify_elf(Module& module, Bytes head, const CoreFile& first);
  Result<> identify_pe(Module& module, Bytes head, const std::string& path);
  // Every native file whose build-id is in the core is here, and of that build.
  bool same_machine();
  std::vector<std::uint8_t> head_in_core(const CoreFile& file) const;

  const CoreImage& core_;
  std::string folder_;
  WallTime written_;
  std::map<std::string, std::vector<const CoreFile*>> mapped_;
  std::map<std::string, std::unique_ptr<Module>> modules_;
  std::optional<bool> same_machine_;
};

}  // namespace clrscope::inspect
