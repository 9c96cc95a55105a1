// Makes small cores for tests.
#pragma once

#include <elf.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace clrscope::inspect {

class TestCore {
 public:
  struct File {
    std::uint64_t start, end, offset;  // the offset in bytes
    std::string path;
  };

  void add_note(std::uint32_t type, Bytes body) {
    notes_.write(Elf64_Nhdr{5, static_cast<std::uint32_t>(body.size()), type});
    notes_.put(std::string_view{"CORE\0\0\0\0", 8});
    notes_.put(body);
    while (notes_.size() % 4 != 0) notes_.write(std::uint8_t{0});
  }
  template <class T>
  void add_record(std::uint32_t type, const T& record) {
    add_note(type, {reinterpret_cast<const std::uint8_t*>(&record), sizeof record});
  }
  void add_thread(pid_t tid, const user_regs_struct& user) {
    elf_prstatus status{};
    status.pr_pid = tid;
    status.pr_utime = {3, 500'000};
    std::memcpy(&status.pr_reg, &user, sizeof user);
    add_record(NT_PRSTATUS, status);
  }
  void add_process(pid_t pid, std::string_view name) {
    elf_prpsinfo process{};
    process.pr_pid = pid;
    name.copy(process.pr_fname, sizeof process.pr_fname);
    add_record(NT_PRPSINFO, process);
  }
  void add_files(const std::vector<File>& files, std::uint64_t unit = 4096) {
    ByteWriter out;
    out.write(std::uint64_t{files.size()});
    out.write(unit);
    for (const auto& file : files) {
      out.write(file.start);
      out.write(file.end);
      out.write(file.offset / unit);
    }
    for (const auto& file : files)
      out.put(std::string_view{file.path.c_str(), file.path.size() + 1});
    add_note(NT_FILE, out.bytes());
  }
  // `memory` beyond the bytes was left out of the core.
  void add_memory(std::uint64_t address, std::string bytes, std::uint32_t flags = PF_R | PF_W,
                  std::uint64_t memory = 0) {
    loads_.push_back({address, std::move(bytes), flags, memory});
  }

  std::vector<std::uint8_t> bytes() const {
    ByteWriter out;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_CORE;
    header.e_machine = EM_X86_64;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<std::uint16_t>(loads_.size() + 1);
    out.write(header);
    std::uint64_t offset = sizeof header + header.e_phnum * sizeof(Elf64_Phdr);
    Elf64_Phdr notes{};
    notes.p_type = PT_NOTE;
    notes.p_offset = offset;
    notes.p_filesz = notes_.size();
    out.write(notes);
    offset += notes_.size();
    for (const auto& load : loads_) {
      Elf64_Phdr h{};
      h.p_type = PT_LOAD;
      h.p_flags = load.flags;
      h.p_offset = offset;
      h.p_vaddr = load.address;
      h.p_filesz = load.bytes.size();
      h.p_memsz = std::max<std::uint64_t>(load.memory, load.bytes.size());
      out.write(h);
      offset += load.bytes.size();
    }
    out.put(notes_.bytes());
    for (const auto& load : loads_) out.put(load.bytes);
    return std::move(out).take();
  }

 private:
  struct Load {
    std::uint64_t address;
    std::string bytes;
    std::uint32_t flags;
    std::uint64_t memory;
  };
  ByteWriter notes_;
  std::vector<Load> loads_;
};

// Reads from bytes that stay where they are.
inline auto reader_of(Bytes bytes) {
  return [bytes](std::uint64_t offset, std::span<std::uint8_t> out) -> std::size_t {
    if (offset >= bytes.size() || out.empty()) return 0;
    const auto size = std::min<std::size_t>(out.size(), bytes.size() - offset);
    std::memcpy(out.data(), bytes.data() + offset, size);
    return size;
  };
}

}  // namespace clrscope::inspect
