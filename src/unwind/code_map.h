// The unwind tables of the files that processes have mapped, each made once.
//
// Turns a line of /proc/PID/maps (or a perf mapping record) into a CodeRange. Files are
// distinguished by build-id, or by device, inode, size and time, so that one table serves all
// processes. A file is opened when it is first mapped, because its process may be short-lived; its
// table is made when the first stack leads into it. Belongs to one thread; tables stay where they
// are as long as it lives.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "unwind/unwinder.h"

namespace clrscope::unwind {

// An executable mapping.
struct CodeMapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t file_offset = 0;
  std::string path{};      // as the process names it; empty when anonymous
  std::string build_id{};  // of the file, in hexadecimal; empty: not known
};

struct LocatedCode {
  CodeRange range{};
  int fd = -1;  // of the file, open as long as the CodeMap lives; -1: none, or in memory
};

class CodeMap {
 public:
  CodeMap();
  ~CodeMap();

  // `pid` is where the file is looked for: below its root, through its mapping when it was deleted,
  // or where we see that path when the process has gone. What cannot be read, or is another build
  // by now, becomes a range without a table.
  LocatedCode locate(const CodeMapping& mapping, pid_t pid);

  std::size_t files() const { return files_.size(); }
  std::size_t tables() const;  // made so far
  std::size_t memory_bytes() const;
  // Forgets tables that were not used since the last call until the rest takes no more than `most`;
  // all of them where even those in use take twice as much.
  void trim(std::size_t most);

 private:
  struct File;
  const File* file_of(const CodeMapping& mapping, pid_t pid);
  const File* file_at(const std::string& path, const std::string& build_id);
  using Key = std::array<std::uint64_t, 4>;  // device, inode, size, time of change
  std::map<Key, std::unique_ptr<File>> files_;
  std::unordered_map<std::string, const File*> by_build_id_;
};

// The kernel's own library, the same in every process: as it lies in ours.
Bytes own_vdso();

// Whether code mapped under this name is of a JIT's making, or nobody's file.
bool is_jit_mapping(const std::string& path);

// The executable mappings of a process as they are now.
Result<std::vector<CodeMapping>> code_mappings(pid_t pid);
// All of them as an address space; tables are made as needed.
Result<AddressSpace> address_space_of(pid_t pid, CodeMap& map);

// Instructions of a live process. Keeps the pages read last: forget() when code may have changed.
class ProcessCode final : public CodeBytes {
 public:
  explicit ProcessCode(pid_t pid) : pid_(pid) {}
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override;
  void forget() { pages_.clear(); }

 private:
  static constexpr std::size_t kPage = 4096;
  static constexpr std::size_t kPages = 64;  // 256 KB a process at most
  struct Page {
    std::uint64_t address;
    std::size_t size;
    std::array<std::uint8_t, kPage> bytes;
  };
  const Page& page_at(std::uint64_t address);

  pid_t pid_;
  std::vector<std::unique_ptr<Page>> pages_;  // by address; made when first read
};

}  // namespace clrscope::unwind
