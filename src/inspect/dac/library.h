// The runtime's data access library, loaded and asked. Worker only: what runs here is foreign code
// on a target's memory, and may crash or never return.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "inspect/dac/abi.h"
#include "inspect/dac/data_target.h"
#include "inspect/dac/wire.h"

namespace clrscope::inspect::dac {

class Library {
 public:
  // Loads kLibraryPath; the target outlives the library.
  static Result<std::unique_ptr<Library>> load(DataTarget& target);

  // What was read is no longer so: a new look begins.
  void forget();
  Result<std::vector<RuntimeThread>> threads();
  RawMethod method_at(std::uint64_t pc);
  // By the runtime's own handle; `pc` lies in its code, or is 0.
  RawMethod method(std::uint64_t method_desc, std::uint64_t pc);
  // Empty when no helper begins at the address.
  std::string helper_at(std::uint64_t address);
  Result<TypeInfo> type_of_table(std::uint64_t method_table);
  Result<SyncBlocks> sync_blocks();
  // Of the types in the modules of these types.
  std::vector<RawStatic> statics(const std::vector<std::uint64_t>& method_tables);
  // With registers as set in the target.
  Result<std::vector<RawFrame>> frames(std::uint32_t os_id);
  // Where in its IL the instruction at this address came from.
  std::optional<std::uint32_t> il_offset(std::uint64_t pc);

 private:
  explicit Library(DataTarget& target) : target_(target) {}

  bool is_method_table(std::uint64_t address);
  std::string type_name(std::uint64_t method_table);
  RuntimeThread thread_at(std::uint64_t address, const ThreadData& data);
  std::string text_field(std::uint64_t object, std::string_view field);
  std::uint64_t object_of_thread(std::uint64_t address);
  std::uint64_t object_of(const Object& value);
  void add_fields(std::uint64_t method_table, std::uint16_t inherited, TypeInfo& type);
  void add_statics(std::uint64_t method_table, std::uint64_t base, std::vector<RawStatic>& found);
  SyncBlock lock_of(const SyncBlockData& data, std::map<std::uint64_t, ThreadData>& owners);
  RawFrame frame_at(const Object& walk);

  struct ModuleInfo {
    std::string path{};
    Object metadata{};
  };
  const ModuleInfo& module(std::uint64_t address);

  DataTarget& target_;
  Object process_;
  Object sos_;
  std::map<std::uint64_t, ModuleInfo> modules_;
  std::optional<std::uint64_t> exposed_at_;  // in a Thread: the handle of its object
};

// Name of a field or method by its token; empty when there is none.
std::string name_of_token(const Object& metadata, std::uint32_t token);
// "(int, string)"; empty when the token has no signature. `type_name` is asked for types that are
// given by their address.
std::string arguments_of(const Object& metadata, std::uint32_t token,
                         const std::function<std::string(std::uint64_t)>& type_name);

}  // namespace clrscope::inspect::dac
