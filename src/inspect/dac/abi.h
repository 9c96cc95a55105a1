// The part of the runtime's data access library (DAC) that is called here, by its binary interface:
// objects with a table of functions in a fixed order, and structures of a fixed layout.
//
// Only the worker calls it. Functions are named by their place in the table; arguments must have
// exactly the widths that are asked for. Facts: docs/adr/0003-dac-worker.md
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace clrscope::inspect::dac {

using HResult = std::int32_t;
inline constexpr HResult kOk = 0;
inline constexpr HResult kNoMore = 1;  // S_FALSE
inline constexpr HResult kFailed = static_cast<HResult>(0x80004005);
inline constexpr HResult kNoInterface = static_cast<HResult>(0x80004002);
inline constexpr HResult kNotImplemented = static_cast<HResult>(0x80004001);
inline constexpr HResult kCannotRead = static_cast<HResult>(0x80131c49);
inline bool succeeded(HResult result) { return result >= 0; }

struct Guid {
  std::uint32_t a = 0;
  std::uint16_t b = 0, c = 0;
  std::array<std::uint8_t, 8> d{};
  bool operator==(const Guid&) const = default;
};
static_assert(sizeof(Guid) == 16);

inline constexpr Guid kUnknown{0, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
inline constexpr Guid kProcess{
    0x5c552ab6, 0xfc09, 0x4cb3, {0x8e, 0x36, 0x22, 0xfa, 0x03, 0xc7, 0x98, 0xb7}};
inline constexpr Guid kDataTarget{
    0x3e11ccee, 0xd08b, 0x43e5, {0xaf, 0x01, 0x32, 0x71, 0x7a, 0x64, 0xda, 0x03}};
inline constexpr Guid kDataTarget2{
    0x6d05fae3, 0x189c, 0x4630, {0xa6, 0xdc, 0x1c, 0x25, 0x1e, 0x1c, 0x01, 0xab}};
inline constexpr Guid kRuntimeLocator{
    0xb760bf44, 0x9377, 0x4597, {0x8b, 0xe7, 0x58, 0x08, 0x3b, 0xdc, 0x51, 0x46}};
inline constexpr Guid kSosDac{
    0x436f00f2, 0xb42a, 0x4b9f, {0x87, 0x0c, 0xe7, 0x3d, 0xb6, 0x6a, 0xe9, 0x30}};
inline constexpr Guid kMetadataImport{
    0x7dac8207, 0xd3ae, 0x4c75, {0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44}};

// Places in the tables; 0 to 2 are QueryInterface, AddRef and Release everywhere.
enum class Any : unsigned { kQueryInterface = 0, kRelease = 2 };
enum class Process : unsigned {
  kFlush = 3,
  kGetTaskByOsThreadId = 7,
  kStartEnumMethodsByAddress = 27,
  kEnumMethodByAddress = 28,
  kEndEnumMethodsByAddress = 29,
};
enum class Task : unsigned {
  kCreateStackWalk = 11,
  kGetCurrentException = 15,
};
enum class Value : unsigned { kGetAddress = 4 };
enum class ExceptionState : unsigned { kGetManagedObject = 5 };
enum class StackWalk : unsigned { kGetContext = 3, kNext = 5, kGetFrameType = 7, kRequest = 9 };
enum class MethodInstance : unsigned { kGetIlOffsetsByAddress = 12 };
enum class Module : unsigned { kGetFileName = 30 };
enum class Metadata : unsigned {
  kGetTypeDefProps = 12,
  kGetTypeRefProps = 14,
  kGetMethodProps = 30,
  kGetNameFromToken = 45,
  kGetNestedClassProps = 62,
};
enum class Sos : unsigned {
  kGetThreadStoreData = 3,
  kGetModule = 12,
  kTraverseModuleMap = 14,
  kGetThreadData = 17,
  kGetMethodDescData = 20,
  kGetMethodDescPtrFromIp = 21,
  kGetMethodDescName = 22,
  kGetMethodDescPtrFromFrame = 23,
  kGetCodeHeaderData = 26,
  kGetJitHelperFunctionName = 28,
  kGetObjectClassName = 35,
  kGetMethodTableName = 36,
  kGetMethodTableData = 37,
  kGetMethodTableFieldData = 39,
  kGetFieldDescData = 42,
  kGetFrameName = 43,
  kGetDomainLocalModuleDataFromModule = 57,
  kGetSyncBlockData = 59,
};

template <class Slot, class... Args>
HResult call(void* object, Slot slot, Args... args) {
  using Function = HResult (*)(void*, Args...);
  void** table = nullptr;
  std::memcpy(&table, object, sizeof table);
  Function function = nullptr;
  std::memcpy(&function, table + static_cast<unsigned>(slot), sizeof function);
  return function(object, args...);
}

// Owns one reference to such an object.
class Object {
 public:
  Object() = default;
  Object(Object&& other) noexcept : raw_(other.raw_) { other.raw_ = nullptr; }
  Object& operator=(Object&& other) noexcept {
    void* const mine = raw_;
    raw_ = other.raw_;
    other.raw_ = mine;
    return *this;
  }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  ~Object() { reset(); }

  void reset() {
    if (raw_) call(raw_, Any::kRelease);
    raw_ = nullptr;
  }
  // Where a function writes the object it returns.
  void** out() {
    reset();
    return &raw_;
  }
  Object query(const Guid& interface) const {
    Object found;
    if (!raw_ || !succeeded(call(raw_, Any::kQueryInterface, &interface, found.out())))
      found.raw_ = nullptr;
    return found;
  }
  void* get() const { return raw_; }
  explicit operator bool() const { return raw_ != nullptr; }

 private:
  void* raw_ = nullptr;
};

// Layouts that the runtime's own header calls frozen.
struct ThreadStoreData {
  std::int32_t count = 0, unstarted = 0, background = 0, pending = 0, dead = 0;
  std::uint64_t first = 0, finalizer = 0, gc = 0;
  std::uint32_t host = 0;
};
static_assert(sizeof(ThreadStoreData) == 0x38);

struct ThreadData {
  std::uint32_t managed_id = 0, os_id = 0;
  std::int32_t state = 0;
  std::uint32_t cooperative = 0;
  std::uint64_t alloc_pointer = 0, alloc_limit = 0, context = 0, domain = 0, frame = 0;
  std::uint32_t lock_count = 0;
  std::uint64_t first_nested_exception = 0, teb = 0, fiber = 0, last_thrown_handle = 0, next = 0;
};
static_assert(sizeof(ThreadData) == 0x68);

struct RejitData {
  std::uint64_t id = 0;
  std::uint32_t flags = 0;
  std::uint64_t code = 0;
};
struct MethodDescData {
  std::int32_t has_code = 0, is_dynamic = 0;
  std::uint16_t slot = 0;
  std::uint64_t code = 0, code_slot = 0, method_desc = 0, method_table = 0, module = 0;
  std::uint32_t token = 0;
  std::uint64_t gc_info = 0, stress_copy = 0, dynamic_object = 0, requested = 0;
  RejitData current{}, at_requested{};
  std::uint32_t rejitted = 0;
};
static_assert(sizeof(MethodDescData) == 0x98);

struct CodeHeaderData {
  std::uint64_t gc_info = 0;
  std::uint32_t jit_type = 0;
  std::uint64_t method_desc = 0, start = 0;
  std::uint32_t size = 0;
  std::uint64_t cold_start = 0;
  std::uint32_t cold_size = 0, hot_size = 0;
};
static_assert(sizeof(CodeHeaderData) == 0x38);

struct MethodTableData {
  std::int32_t is_free = 0;
  std::uint64_t module = 0, canonical = 0, parent = 0;
  std::uint16_t interfaces = 0, methods = 0, slots = 0, virtuals = 0;
  std::uint32_t base_size = 0, component_size = 0, token = 0, attributes = 0;
  std::int32_t is_shared = 0, is_dynamic = 0, has_pointers = 0;
};
static_assert(sizeof(MethodTableData) == 0x48);

struct MethodTableFieldData {
  std::uint16_t instance_fields = 0, static_fields = 0, thread_static_fields = 0;
  std::uint64_t first = 0;
  std::uint16_t context_offset = 0, context_size = 0;
};
static_assert(sizeof(MethodTableFieldData) == 0x18);

struct FieldDescData {
  std::uint32_t type = 0, signature_type = 0;
  std::uint64_t table_of_type = 0, module_of_type = 0;
  std::uint32_t token_of_type = 0, token = 0;
  std::uint64_t enclosing_table = 0;
  std::uint32_t offset = 0;
  std::int32_t is_thread_local = 0, is_context_local = 0, is_static = 0;
  std::uint64_t next = 0;
};
static_assert(sizeof(FieldDescData) == 0x40);

struct LocalModuleData {
  std::uint64_t domain = 0, module_id = 0, classes = 0, dynamic_classes = 0;
  std::uint64_t collected_statics = 0, other_statics = 0;
};
static_assert(sizeof(LocalModuleData) == 0x30);

struct SyncBlockData {
  std::uint64_t object = 0;
  std::int32_t is_free = 0;
  std::uint64_t address = 0;
  std::uint32_t com_flags = 0, monitor_held = 0, recursion = 0;
  std::uint64_t holding_thread = 0;
  std::uint32_t additional_threads = 0;
  std::uint64_t domain = 0;
  std::uint32_t count = 0;
};
static_assert(sizeof(SyncBlockData) == 0x48);

// Registers as the library gives and takes them (x64).
inline constexpr std::size_t kContextSize = 0x4d0;
inline constexpr std::uint32_t kContextFull = 0x10000b;  // control, integer, floating point
using Context = std::array<std::uint8_t, kContextSize>;
inline constexpr std::size_t kContextFlagsAt = 0x30;
// Of the registers in DWARF's order: rax rdx rcx rbx rsi rdi rbp rsp r8 … r15 rip.
inline constexpr std::array<std::size_t, 17> kContextOrder{0x78, 0x88, 0x80, 0x90, 0xa8, 0xb0,
                                                           0xa0, 0x98, 0xb8, 0xc0, 0xc8, 0xd0,
                                                           0xd8, 0xe0, 0xe8, 0xf0, 0xf8};
inline constexpr std::size_t kContextRspAt = 0x98;
inline constexpr std::size_t kContextRipAt = 0xf8;

}  // namespace clrscope::inspect::dac
