// What a .NET runtime knows of itself, read from outside: threads, methods, types, locks.
//
// Two implementations: the contract reader (.NET 9 and 10, reads the runtime's data descriptor,
// runs no foreign code) and the DAC worker (8, and what 9 lacks; the runtime's own library in a
// sandboxed child). Answers come from a process that may be broken: they are checked, bounded, and
// an error where they make no sense. Belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "inspect/target.h"

namespace clrscope::inspect {

// What threads and locks are known by.
enum class SnapshotSource : std::uint8_t {
  kNone,  // native stacks only
  kContracts,
  kDac,
  kContractsAndDac,
  kDiagnosticPort,
};
std::string_view name_of(SnapshotSource source);  // "none", "data contracts", "DAC" …
std::span<const std::string_view> names_of(SnapshotSource);

struct RuntimeThread {
  std::uint64_t address = 0;  // of the runtime's Thread
  std::uint32_t os_id = 0;    // 0: has no OS thread (not yet, or no more)
  std::uint32_t managed_id = 0;
  std::string name{};  // as the program named it
  bool background = false;
  bool pool = false;  // a thread pool worker
  bool dead = false;
  bool unstarted = false;
  bool cooperative = false;      // runs managed code (may touch the heap) at this moment
  std::string exception_type{};  // of the exception it handles; empty: none
  std::uint64_t exception = 0;
  std::uint64_t managed_object = 0;  // its System.Threading.Thread; 0: unknown
  // Where its next objects will be: nothing is there yet. 0: nowhere, or unknown.
  std::uint64_t allocation_pointer = 0, allocation_limit = 0;
};

struct MethodInfo {
  std::string name{};    // Namespace.Type.Method(args): see symbols/method_name.h
  std::string module{};  // path of its module; empty when dynamic
  std::uint32_t token = 0;
  std::uint64_t method_desc = 0;
  std::uint64_t code_start = 0;
  std::uint64_t code_size = 0;  // 0: unknown
  // Of a method that the program made: its DynamicMethod, or that one's resolver; 0: unknown.
  std::uint64_t dynamic_object = 0;
};

struct FieldInfo {
  std::string name{};
  std::uint32_t offset = 0;       // from the object's start, its method table pointer included
  std::uint8_t element_type = 0;  // ECMA-335 II.23.1.16: 8 = int32, 18 = class, 17 = value type
};

struct TypeInfo {
  std::uint64_t method_table = 0;
  std::string name{};  // Namespace.Type`1[Argument], nested with '+'
  std::string base_name{};
  std::string module{};  // path of its module, or of its elements'; empty when dynamic
  std::uint32_t base_size = 0;
  std::uint32_t component_size = 0;  // of arrays and strings
  std::vector<FieldInfo> fields{};   // of instances, inherited ones first

  const FieldInfo* field(std::string_view field_name) const {
    for (const auto& one : fields)
      if (one.name == field_name) return &one;
    return nullptr;
  }
};

// A Monitor that needed more than the object's header.
struct SyncBlock {
  std::uint64_t object = 0;
  bool held = false;
  std::uint32_t owner_managed_id = 0;  // 0: unknown
  std::uint32_t owner_os_id = 0;
  std::uint32_t recursion = 0;
  std::uint32_t waiters = 0;  // that want to enter
};

// The runtime's table of them, as far as the target's memory has it: a core may lack parts.
struct SyncBlocks {
  std::vector<SyncBlock> known{};
  std::uint64_t unread = 0;  // in use, and not all of it could be read
  bool cut = false;          // unreadable from some place on: how many follow is unknown
};

// A static field that refers to an object, also to a value in its box.
struct StaticField {
  std::string name{};         // "Shop.Cart.s_all"
  std::uint64_t address = 0;  // where the reference lies
  std::uint32_t thread = 0;   // of a [ThreadStatic] field: the managed id; 0: it is none
};

class RuntimeReader {
 public:
  virtual ~RuntimeReader() = default;

  virtual SnapshotSource source() const = 0;
  virtual std::string_view version() const = 0;  // of the runtime, "10.0.12"; empty: unknown
  // Forgets what a process that runs may have changed; threads() does so too.
  virtual Result<> look_again() { return {}; }
  virtual Result<std::vector<RuntimeThread>> threads() = 0;
  // The method whose code holds this address; kNotFound when it is no managed code.
  virtual Result<MethodInfo> method_at(std::uint64_t pc) = 0;
  // A method by the runtime's own handle of it; kNotFound when it is none.
  virtual Result<MethodInfo> method_of(std::uint64_t method_desc) {
    return fail(Errc::kNotFound, "{:#x} is not a method", method_desc);
  }
  // The runtime's own function that begins at this address and that compiled code calls; empty: it
  // is none, or its name is unknown.
  virtual std::string helper_at(std::uint64_t) { return {}; }
  // How the frame at this address is left; nothing when unknown (then by rbp).
  virtual std::optional<unwind::UnwindRule> unwind_rule(std::uint64_t pc) = 0;
  // kNotFound when it is no method table: any word may be asked about.
  virtual Result<TypeInfo> type_of_table(std::uint64_t method_table) = 0;
  virtual Result<SyncBlocks> sync_blocks() = 0;
  // The array of arrays that holds what a thread has in its [ThreadStatic] fields; 0: unknown.
  virtual std::uint64_t thread_statics(const RuntimeThread&) { return 0; }
  // Static fields of every type that can be found, these types among them.
  virtual Result<std::vector<StaticField>> static_fields(std::span<const std::uint64_t>) {
    return fail(Errc::kUnsupported, "static fields cannot be read");
  }
  // What a type that can be unloaded is unloaded with: the runtime's LoaderAllocator; 0: unknown.
  virtual std::uint64_t loader_of(std::uint64_t) { return 0; }
  // The offset in a method's IL that an address of its code came from.
  virtual std::optional<std::uint32_t> il_offset(const MethodInfo& method, std::uint64_t pc) = 0;
  // The managed frames by the runtime's own rules, innermost first, where it can do that with these
  // registers (or without any); an oracle for the walk, and the way where there are no rights to
  // more.
  struct ManagedFrame {
    std::uint64_t pc = 0;
    std::uint64_t sp = 0;
    std::string method{};  // empty for a runtime frame
  };
  virtual Result<std::vector<ManagedFrame>> frames(const RuntimeThread& thread,
                                                   const OsThread& os) = 0;
};

// The best reader for this target; the error says why there is none (no runtime, NativeAOT,
// descriptor damaged and no DAC …). The target outlives the reader.
Result<std::unique_ptr<RuntimeReader>> open_runtime(Target& target);
// Why the managed frames of a process on musl cannot be read from outside; nothing: they can, or
// the process does not run on musl.
std::optional<Error> unreadable_on_musl(Target& target);
// Each by itself, for tests that set one against the other.
Result<std::unique_ptr<RuntimeReader>> open_contract_reader(Target& target);
Result<std::unique_ptr<RuntimeReader>> open_dac_reader(Target& target);

}  // namespace clrscope::inspect
