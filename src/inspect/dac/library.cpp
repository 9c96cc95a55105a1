#include "inspect/dac/library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

#include "inspect/dac/kept_answers.h"
#include "inspect/dac/sandbox_x64.h"
#include "symbols/il_map.h"
#include "symbols/signature.h"

namespace clrscope::inspect::dac {
namespace {

// Bits of the runtime's Thread::m_State.
constexpr std::int32_t kBackground = 0x200, kUnstarted = 0x400, kDead = 0x800, kPool = 0x1000000;

constexpr std::uint32_t kFrameDataRequest = 0xf0000000;
constexpr std::uint32_t kEveryFrame = 0xf;
constexpr std::size_t kMostParents = 64;
constexpr int kMostInstances = 16;
// Where a System.Threading.Thread points to the runtime's Thread, and that one to a handle of it:
// .NET 8, and 9 and 10.
constexpr std::uint64_t kThreadOfObjectAt = 40;
constexpr std::array<std::uint64_t, 2> kLikelyExposedAt{0x130, 0x1b0};
constexpr std::uint64_t kMostExposedAt = 0x400;

// A text that a function of the library writes: (…, count, buffer, needed).
template <class Fill>
std::string text_of(Fill fill) {
  std::vector<char16_t> buffer(1024);
  std::uint32_t needed = 0;
  auto result = fill(static_cast<std::uint32_t>(buffer.size()), buffer.data(), &needed);
  if (needed > buffer.size() && needed <= kMostText) {
    buffer.resize(needed);
    result = fill(static_cast<std::uint32_t>(buffer.size()), buffer.data(), &needed);
  }
  if (!succeeded(result)) return {};
  const auto end = std::find(buffer.begin(), buffer.end(), u'\0');
  return utf8_of({reinterpret_cast<const std::uint8_t*>(buffer.data()),
                  static_cast<std::size_t>(end - buffer.begin()) * 2});
}

template <class Function>
Function function_of(void* handle, const char* name) {
  Function function = nullptr;
  void* const symbol = ::dlsym(handle, name);
  std::memcpy(&function, &symbol, sizeof function);
  return function;
}

}  // namespace

Result<std::unique_ptr<Library>> Library::load(DataTarget& target) {
  void* const handle = ::dlopen(kLibraryPath, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* const why = ::dlerror();
    return fail(Errc::kUnsupported, "it cannot be loaded: {}", why ? why : "unknown");
  }
  const auto init = function_of<std::int32_t (*)(void*, std::uint32_t, void*)>(handle, "DllMain");
  const auto create =
      function_of<HResult (*)(const Guid*, void*, void**)>(handle, "CLRDataCreateInstance");
  if (!create) return fail(Errc::kUnsupported, "it has no CLRDataCreateInstance");
  if (init && init(handle, 1, nullptr) != 1) return fail(Errc::kUnsupported, "it failed to start");
  std::unique_ptr<Library> library{new Library{target}};
  if (const auto result = create(&kProcess, target.as_object(), library->process_.out());
      !succeeded(result) || !library->process_)
    return fail(Errc::kUnsupported, "it does not know this runtime (error {:#x})",
                static_cast<std::uint32_t>(result));
  library->sos_ = library->process_.query(kSosDac);
  if (!library->sos_) return fail(Errc::kUnsupported, "it lacks the required interface");
  return library;
}

const Library::ModuleInfo& Library::module(std::uint64_t address) {
  const auto [at, fresh] = modules_.try_emplace(address);
  if (!fresh || address == 0) return at->second;
  Object data;
  if (!succeeded(call(sos_.get(), Sos::kGetModule, address, data.out())) || !data)
    return at->second;
  at->second.path = text_of([&](std::uint32_t count, char16_t* out, std::uint32_t* needed) {
    return call(data.get(), Module::kGetFileName, count, needed, out);
  });
  at->second.metadata = data.query(kMetadataImport);
  return at->second;
}

void Library::forget() {
  modules_.clear();
  target_.forget();
  call(process_.get(), Process::kFlush);
}

Result<std::vector<RuntimeThread>> Library::threads() {
  ThreadStoreData store;
  if (const auto result = call(sos_.get(), Sos::kGetThreadStoreData, &store); !succeeded(result))
    return fail(Errc::kCorrupt, "no list of threads (error {:#x})",
                static_cast<std::uint32_t>(result));
  std::vector<RuntimeThread> threads;
  std::unordered_set<std::uint64_t> seen;
  for (auto address = store.first; address != 0;) {
    if (!seen.insert(address).second || seen.size() > kMostThreads)
      return fail(Errc::kCorrupt, "the list of threads has no end");
    ThreadData data;
    if (!succeeded(call(sos_.get(), Sos::kGetThreadData, address, &data)))
      return fail(Errc::kCorrupt, "thread {:#x} cannot be read", address);
    threads.push_back(thread_at(address, data));
    address = data.next;
  }
  return threads;
}

RuntimeThread Library::thread_at(std::uint64_t address, const ThreadData& data) {
  RuntimeThread thread{.address = address, .managed_id = data.managed_id};
  thread.background = (data.state & kBackground) != 0;
  thread.pool = (data.state & kPool) != 0;
  thread.dead = (data.state & kDead) != 0;
  thread.unstarted = (data.state & kUnstarted) != 0;
  // A thread that is just starting has it already; as the contract reader, from its start on.
  if (!thread.dead && !thread.unstarted) thread.os_id = data.os_id;
  thread.cooperative = data.cooperative != 0;
  thread.allocation_pointer = data.alloc_pointer;
  thread.allocation_limit = data.alloc_limit;
  thread.managed_object = object_of_thread(address);
  if (thread.managed_object != 0) thread.name = text_field(thread.managed_object, "_name");
  Object task;
  if (thread.os_id != 0)
    call(process_.get(), Process::kGetTaskByOsThreadId, thread.os_id, task.out());
  if (!task) return thread;
  Object exception, value;
  if (succeeded(call(task.get(), Task::kGetCurrentException, exception.out())) && exception &&
      succeeded(call(exception.get(), ExceptionState::kGetManagedObject, value.out())) && value)
    thread.exception = object_of(value);
  std::uint64_t table = 0;
  if (thread.exception != 0 && target_.read_word(thread.exception, table))
    thread.exception_type = type_name(table & ~std::uint64_t{7});
  return thread;
}

// The library does not tell; but the runtime's Thread has a handle to the object, and the object
// points back, so that it can be looked for and proved.
std::uint64_t Library::object_of_thread(std::uint64_t address) {
  const auto object_behind = [&](std::uint64_t at) -> std::uint64_t {
    std::uint64_t handle = 0, object = 0, back = 0, table = 0;
    if (!target_.read_word(address + at, handle) || handle == 0 || (handle & 7) != 0 ||
        !target_.read_word(handle, object) || object == 0 || (object & 7) != 0)
      return 0;
    // Cheap test first: the type has this field here in every version so far.
    if (!target_.read_word(object + kThreadOfObjectAt, back) || back != address ||
        !target_.read_word(object, table) || type_name(table) != "System.Threading.Thread")
      return 0;
    return object;
  };
  if (exposed_at_) return object_behind(*exposed_at_);
  for (const auto at : kLikelyExposedAt)
    if (const auto object = object_behind(at)) return exposed_at_ = at, object;
  for (std::uint64_t at = 0; at < kMostExposedAt; at += 8)
    if (const auto object = object_behind(at)) return exposed_at_ = at, object;
  return 0;
}

std::uint64_t Library::object_of(const Object& value) {
  std::uint64_t address = 0;
  if (!succeeded(call(value.get(), Value::kGetAddress, &address))) return 0;
  return address;
}

std::string Library::text_field(std::uint64_t object, std::string_view field) {
  std::uint64_t table = 0, text = 0, length = 0;
  if (!target_.read_word(object, table)) return {};
  const auto type = type_of_table(table & ~std::uint64_t{7});
  if (!type) return {};
  const auto* const found = type->field(field);
  if (!found || !target_.read_word(object + found->offset, text) || text == 0 ||
      !target_.read_word(text + 8, length))
    return {};
  std::vector<std::uint8_t> units(std::min<std::size_t>(length & 0xffffffff, 1024) * 2);
  if (target_.read(text + 12, units) != units.size()) return {};
  return utf8_of(units);
}

RawMethod Library::method_at(std::uint64_t pc) {
  CodeHeaderData code;
  std::uint64_t method_desc = 0;
  if (succeeded(call(sos_.get(), Sos::kGetCodeHeaderData, pc, &code))) {
    method_desc = code.method_desc;
  } else if (!succeeded(call(sos_.get(), Sos::kGetMethodDescPtrFromIp, pc, &method_desc))) {
    return {};
  }
  auto found = method(method_desc, pc);
  found.code_start = code.start;
  found.code_size = code.size;
  return found;
}

RawMethod Library::method(std::uint64_t method_desc, std::uint64_t pc) {
  MethodDescData data;
  if (method_desc == 0 ||
      !succeeded(call(sos_.get(), Sos::kGetMethodDescData, method_desc, pc, &data, std::uint32_t{0},
                      static_cast<void*>(nullptr), static_cast<std::uint32_t*>(nullptr))))
    return {};
  RawMethod found{.found = true};
  found.method_desc = method_desc;
  found.dynamic_object = data.dynamic_object;
  const auto& in = module(data.module);
  if (data.is_dynamic == 0 && in.metadata && (data.token & 0xffffff) != 0) {
    found.token = data.token;
    found.module = in.path;
    found.name = name_of_token(in.metadata, data.token);
    found.arguments =
        arguments_of(in.metadata, data.token, [this](std::uint64_t of) { return type_name(of); });
    found.type = type_name(data.method_table);
  }
  found.full_name = text_of([&](std::uint32_t count, char16_t* out, std::uint32_t* needed) {
    return call(sos_.get(), Sos::kGetMethodDescName, method_desc, count, out, needed);
  });
  return found;
}

std::string Library::helper_at(std::uint64_t address) {
  std::array<char, 256> name{};
  std::uint32_t needed = 0;
  if (!succeeded(call(sos_.get(), Sos::kGetJitHelperFunctionName, address,
                      static_cast<std::uint32_t>(name.size()), name.data(), &needed)))
    return {};
  return {name.data(), ::strnlen(name.data(), name.size())};
}

bool Library::is_method_table(std::uint64_t address) {
  return dac::is_method_table(address, [this](std::uint64_t at, std::uint64_t& word) {
    return target_.read_word(at, word);
  });
}

std::string Library::type_name(std::uint64_t method_table) {
  if (!is_method_table(method_table)) return {};
  return text_of([&](std::uint32_t count, char16_t* out, std::uint32_t* needed) {
    return call(sos_.get(), Sos::kGetMethodTableName, method_table, count, out, needed);
  });
}

Result<TypeInfo> Library::type_of_table(std::uint64_t method_table) {
  MethodTableData data;
  if (!is_method_table(method_table) ||
      !succeeded(call(sos_.get(), Sos::kGetMethodTableData, method_table, &data)))
    return fail(Errc::kNotFound, "{:#x} is not a method table", method_table);
  TypeInfo type{.method_table = method_table, .name = type_name(method_table)};
  // The library leaves out the zero at a string's end, for old debuggers' sake.
  type.base_size = data.base_size + (type.name == "System.String" ? 2U : 0U);
  type.component_size = data.component_size;
  type.module = module(data.module).path;
  if (data.parent != 0) type.base_name = type_name(data.parent);
  std::vector<std::uint64_t> line{method_table};
  for (auto parent = data.parent; parent != 0 && line.size() < kMostParents;) {
    MethodTableData above;
    if (!is_method_table(parent) ||
        !succeeded(call(sos_.get(), Sos::kGetMethodTableData, parent, &above)))
      break;
    line.push_back(parent);
    parent = above.parent;
  }
  std::uint16_t inherited = 0;
  for (auto one = line.rbegin(); one != line.rend(); ++one) {
    add_fields(*one, inherited, type);
    MethodTableFieldData fields;
    if (succeeded(call(sos_.get(), Sos::kGetMethodTableFieldData, *one, &fields)))
      inherited = fields.instance_fields;
  }
  return type;
}

void Library::add_fields(std::uint64_t method_table, std::uint16_t inherited, TypeInfo& type) {
  MethodTableFieldData fields;
  MethodTableData data;
  if (!succeeded(call(sos_.get(), Sos::kGetMethodTableFieldData, method_table, &fields)) ||
      !succeeded(call(sos_.get(), Sos::kGetMethodTableData, method_table, &data)))
    return;
  int left = fields.instance_fields - inherited;
  int statics = fields.static_fields + fields.thread_static_fields;
  const auto& in = module(data.module);
  for (auto at = fields.first; at != 0 && left > 0 && type.fields.size() < kMostFields;) {
    FieldDescData field;
    if (!succeeded(call(sos_.get(), Sos::kGetFieldDescData, at, &field))) return;
    at = field.next;
    if (field.is_static != 0) {
      if (statics-- == 0) return;
      continue;
    }
    --left;
    type.fields.push_back({.name = name_of_token(in.metadata, field.token),
                           .offset = field.offset + 8,
                           .element_type = static_cast<std::uint8_t>(field.type)});
  }
}

Result<SyncBlocks> Library::sync_blocks() {
  SyncBlocks blocks;
  std::map<std::uint64_t, ThreadData> owners;
  SyncBlockData data;
  const auto first = call(sos_.get(), Sos::kGetSyncBlockData, std::uint32_t{1}, &data);
  // It counts the entries before it reads one.
  if (first == kCannotRead && data.count == 0)
    return fail(Errc::kUnsupported, "the table of locks is not in the target's memory");
  if (!succeeded(first) && first != kCannotRead) return blocks;  // there are none
  const auto count = std::min<std::size_t>(data.count, kMostSyncBlocks);
  blocks.unread = data.count - count;
  for (std::uint32_t number = 1; number <= count; ++number) {
    data = {};
    if (!succeeded(call(sos_.get(), Sos::kGetSyncBlockData, number, &data)))
      ++blocks.unread;
    else if (data.is_free == 0)
      blocks.known.push_back(lock_of(data, owners));
  }
  if (blocks.known.empty() && blocks.unread > 0)
    return fail(Errc::kUnsupported,
                "the table of locks is not in the target's memory: none of {} can be read",
                blocks.unread);
  return blocks;
}

SyncBlock Library::lock_of(const SyncBlockData& data, std::map<std::uint64_t, ThreadData>& owners) {
  SyncBlock block{.object = data.object, .held = (data.monitor_held & 1) != 0};
  block.recursion = data.recursion;
  block.waiters = data.monitor_held >> 1;
  if (block.held && data.holding_thread != 0) {
    const auto [owner, fresh] = owners.try_emplace(data.holding_thread);
    if (fresh) call(sos_.get(), Sos::kGetThreadData, data.holding_thread, &owner->second);
    block.owner_managed_id = owner->second.managed_id;
    block.owner_os_id = owner->second.os_id;
  }
  return block;
}

RawFrame Library::frame_at(const Object& walk) {
  Context context{};
  std::uint32_t size = 0;
  RawFrame frame;
  if (succeeded(call(walk.get(), StackWalk::kGetContext, kContextFull,
                     static_cast<std::uint32_t>(kContextSize), &size, context.data()))) {
    std::memcpy(&frame.pc, context.data() + kContextRipAt, sizeof frame.pc);
    std::memcpy(&frame.sp, context.data() + kContextRspAt, sizeof frame.sp);
  }
  std::uint64_t explicit_frame = 0;
  call(walk.get(), StackWalk::kRequest, kFrameDataRequest, std::uint32_t{0},
       static_cast<std::uint8_t*>(nullptr), static_cast<std::uint32_t>(sizeof explicit_frame),
       reinterpret_cast<std::uint8_t*>(&explicit_frame));
  if (explicit_frame == 0) {
    frame.managed = true;
    frame.method = method_at(frame.pc);
    return frame;
  }
  frame.sp = explicit_frame;
  std::uint64_t kind = 0, method_desc = 0;
  if (target_.read_word(explicit_frame, kind))
    frame.runtime_name = text_of([&](std::uint32_t count, char16_t* out, std::uint32_t* needed) {
      return call(sos_.get(), Sos::kGetFrameName, kind, count, out, needed);
    });
  if (succeeded(call(sos_.get(), Sos::kGetMethodDescPtrFromFrame, explicit_frame, &method_desc)))
    frame.method = method(method_desc, 0);
  return frame;
}

Result<std::vector<RawFrame>> Library::frames(std::uint32_t os_id) {
  Object task, walk;
  if (!succeeded(call(process_.get(), Process::kGetTaskByOsThreadId, os_id, task.out())) || !task)
    return fail(Errc::kNotFound, "thread {} is not a thread of the runtime", os_id);
  if (const auto result = call(task.get(), Task::kCreateStackWalk, kEveryFrame, walk.out());
      !succeeded(result) || !walk)
    return fail(Errc::kUnsupported, "the stack of thread {} cannot be walked (error {:#x})", os_id,
                static_cast<std::uint32_t>(result));
  std::vector<RawFrame> frames;
  do {
    frames.push_back(frame_at(walk));
  } while (frames.size() < kMostFrames && call(walk.get(), StackWalk::kNext) == kOk);
  return frames;
}

std::optional<std::uint32_t> Library::il_offset(std::uint64_t pc) {
  std::uint64_t handle = 0;
  if (call(process_.get(), Process::kStartEnumMethodsByAddress, pc, static_cast<void*>(nullptr),
           &handle) != kOk)
    return {};
  // Any instance of a generic method will do: what counts is the address.
  std::optional<std::uint32_t> found;
  for (int tries = 0; tries < kMostInstances && !found; ++tries) {
    Object method;
    if (call(process_.get(), Process::kEnumMethodByAddress, &handle, method.out()) != kOk ||
        !method)
      break;
    std::array<std::uint32_t, 8> offsets{};
    std::uint32_t count = 0;
    if (!succeeded(call(method.get(), MethodInstance::kGetIlOffsetsByAddress, pc,
                        static_cast<std::uint32_t>(offsets.size()), &count, offsets.data())))
      continue;
    for (const auto offset : std::span{offsets}.first(std::min<std::size_t>(count, offsets.size())))
      if (offset == IlMap::kPrologue) {
        found = found.value_or(0);
      } else if (offset < IlMap::kEpilogue) {
        found = offset;
      }
  }
  call(process_.get(), Process::kEndEnumMethodsByAddress, handle);
  return found;
}

std::string name_of_token(const Object& metadata, std::uint32_t token) {
  const char* name = nullptr;
  if (!metadata || !succeeded(call(metadata.get(), Metadata::kGetNameFromToken, token, &name)) ||
      !name)
    return {};
  return std::string{name, ::strnlen(name, kMostText)};
}

namespace {

// Namespace and name, without the types around it, as signatures have it.
std::string own_name(const Object& metadata, std::uint32_t token) {
  std::uint32_t ignored = 0, also_ignored = 0;
  return text_of([&](std::uint32_t count, char16_t* out, std::uint32_t* needed) {
    switch (token >> 24) {
      case 0x01:
        return call(metadata.get(), Metadata::kGetTypeRefProps, token, &ignored, out, count,
                    needed);
      case 0x02:
        return call(metadata.get(), Metadata::kGetTypeDefProps, token, out, count, needed, &ignored,
                    &also_ignored);
      default:
        return kFailed;
    }
  });
}

}  // namespace

std::string arguments_of(const Object& metadata, std::uint32_t token,
                         const std::function<std::string(std::uint64_t)>& type_name) {
  std::uint32_t type = 0, length = 0, attributes = 0, size = 0, address = 0, flags = 0;
  const std::uint8_t* signature = nullptr;
  if (!metadata || token >> 24 != 0x06 ||
      !succeeded(call(metadata.get(), Metadata::kGetMethodProps, token, &type,
                      static_cast<char16_t*>(nullptr), std::uint32_t{0}, &length, &attributes,
                      &signature, &size, &address, &flags)) ||
      !signature || size > kMostText)
    return {};
  const SignatureNames names{.type =
                                 [&](std::uint32_t of) {
                                   auto name = own_name(metadata, of);
                                   return name.empty() ? "?" : name;
                                 },
                             .handle = type_name};
  return arguments_of_signature({signature, size}, names);
}

}  // namespace clrscope::inspect::dac
