// Source lines of code, managed and native: finds the files that know them, opens each once, and
// remembers which were not to be had.
//
// One belongs to one thread. Costs nothing until it is asked.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbols/dwarf_lines.h"
#include "symbols/pdb_file.h"
#include "symbols/ready_to_run.h"

namespace clrscope {

class SourceLines {
 public:
  explicit SourceLines(DebugFolders folders = {});
  ~SourceLines();
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  // `wanted` is what the runtime said of the module's PDB when it ran, if it did: a module that was
  // built anew since is then not believed.
  std::optional<SourceLine> of_managed(const std::string& module_path,
                                       const std::optional<PdbReference>& wanted,
                                       std::uint32_t method_token, std::uint32_t il_offset);

  // A module that has code compiled ahead of time, at its own place or in the folder of symbols.
  // Null when it is not to be had, has none, or was built anew since.
  const ReadyToRunImage* ready_to_run(const std::string& module_path,
                                      const std::optional<PdbReference>& wanted);

  // Of a place in a mapped ELF file, by its own debug information or that of its separate debug
  // file. The file must be the build that was recorded, where the recording knows its build-id:
  // that of what was mapped before it began it does not.
  std::optional<SourceLine> of_native(const std::string& path, const std::string& build_id,
                                      std::uint64_t file_offset);

  // Managed modules that lines were asked of and that have no PDB (or whose code, compiled ahead of
  // time, is not to be had), and why; by name.
  struct Missing {
    std::string module;
    std::string why;
  };
  std::vector<Missing> missing() const;

 private:
  struct Module {
    std::optional<PdbFile> pdb;
    std::string why;  // it has none
  };
  Module& module(const std::string& path, const std::optional<PdbReference>& wanted);

  struct Image {
    std::unique_ptr<ReadyToRunImage> image;
    std::string why;  // there is none
  };

  struct Native {
    std::vector<ElfSegment> segments;
    std::optional<NativeFile> file;  // what lines looks into
    std::optional<DwarfLines> lines;
  };
  Native load_native(const std::string& path, const std::string& build_id) const;

  DebugFolders folders_;
  std::map<std::string, Module> modules_;                          // by path
  std::map<std::string, Image> images_;                            // by path
  std::map<std::pair<std::string, std::string>, Native> natives_;  // by path and build-id
};

}  // namespace clrscope
