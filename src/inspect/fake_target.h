// A target and a runtime made up of what a test puts into them. For tests of this room.
#pragma once

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "inspect/runtime_reader.h"
#include "inspect/target.h"

namespace clrscope::inspect {

class FakeTarget final : public Target, public MemorySource {
 public:
  TargetKind kind() const override { return TargetKind::kCore; }
  pid_t pid() const override { return 42; }
  MemorySource& memory() override { return *this; }
  Result<std::vector<Mapping>> mappings() override { return maps; }
  Result<std::vector<OsThread>> threads() override { return os_threads; }
  Result<UniqueFd> open_file(const std::string& path) override {
    return fail(Errc::kNotFound, "no {}", path);
  }
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    for (; done < out.size(); ++done) {
      const auto* byte = find(address + done);
      if (!byte) break;
      out[done] = *byte;
    }
    return done;
  }

  // Writable memory that holds zeros.
  void add_memory(std::uint64_t start, std::size_t size) {
    bytes[start] = std::vector<std::uint8_t>(size);
    maps.push_back({.start = start, .end = start + size, .writable = true});
  }
  template <class T>
  void put(std::uint64_t address, T value) {
    auto block = std::prev(bytes.upper_bound(address));
    std::memcpy(block->second.data() + (address - block->first), &value, sizeof value);
  }

  std::vector<Mapping> maps;
  std::vector<OsThread> os_threads;
  std::map<std::uint64_t, std::vector<std::uint8_t>> bytes;

 private:
  const std::uint8_t* find(std::uint64_t address) const {
    auto after = bytes.upper_bound(address);
    if (after == bytes.begin()) return nullptr;
    const auto& [start, block] = *std::prev(after);
    return address - start < block.size() ? &block[address - start] : nullptr;
  }
};

class FakeRuntime final : public RuntimeReader {
 public:
  SnapshotSource source() const override { return SnapshotSource::kContracts; }
  std::string_view version() const override { return runtime_version; }
  Result<std::vector<RuntimeThread>> threads() override { return runtime_threads; }
  Result<MethodInfo> method_at(std::uint64_t pc) override {
    const auto found = methods.find(pc);
    if (found == methods.end()) return fail(Errc::kNotFound, "no method at {:#x}", pc);
    return found->second;
  }
  std::optional<unwind::UnwindRule> unwind_rule(std::uint64_t) override { return {}; }
  Result<TypeInfo> type_of_table(std::uint64_t table) override {
    const auto found = types.find(table);
    if (found == types.end()) return fail(Errc::kNotFound, "no type at {:#x}", table);
    return found->second;
  }
  Result<SyncBlocks> sync_blocks() override { return monitors; }
  std::uint64_t thread_statics(const RuntimeThread& thread) override {
    return statics[thread.managed_id];
  }
  std::optional<std::uint32_t> il_offset(const MethodInfo&, std::uint64_t) override { return {}; }
  Result<std::vector<ManagedFrame>> frames(const RuntimeThread&, const OsThread&) override {
    return fail(Errc::kUnsupported, "no frames");
  }

  std::string runtime_version = "0.0";
  std::vector<RuntimeThread> runtime_threads;
  std::map<std::uint64_t, MethodInfo> methods;
  std::map<std::uint64_t, TypeInfo> types;  // by method table
  SyncBlocks monitors;
  std::map<std::uint32_t, std::uint64_t> statics;  // by managed id
};

}  // namespace clrscope::inspect
