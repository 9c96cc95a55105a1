#include "analyze/symbolizer.h"

#include <algorithm>

#include "analyze/cpu_kinds.h"
#include "symbols/method_name.h"
#include "symbols/stub_code.h"

namespace clrscope::analyze {
namespace {

constexpr std::uint64_t kKernelMapping = 1;

// Of the runtime's provider and of its rundown, which differ in these only.
enum RuntimeId : std::uint32_t {
  kMethodLoadVerbose = 143,    // rundown: DCStartVerbose
  kMethodUnloadVerbose = 144,  // rundown: DCStopVerbose
  kDCStartMap = 149,           // of IL to machine code; these two in rundowns only
  kDCStopMap = 150,
  kDomainModuleLoad = 151,
  kModuleLoad = 152,    // rundown: DomainModuleDCStop
  kModuleUnload = 153,  // rundown: ModuleDCStart
  kModuleDCStop = 154,
  kMethodMap = 190,
};
enum SymbolsId : std::uint32_t { kIlMap = 1 };
enum UniversalId : std::uint32_t { kProcessMapping = 3, kProcessSymbol = 4, kMappingMetadata = 5 };

constexpr std::uint32_t kDynamicFlag = 1;
constexpr std::uint32_t kJittedFlag = 8;

// Memory that the runtime fills with code: methods and, between them, stubs.
bool is_code_heap(std::string_view path) {
  return path.find("doublemapper") != path.npos || path == "//anon" || path.empty();
}

// Names that mean something in their file only get it in front: exports have no other place for it.
std::string native_name(const std::string& module, std::string_view symbol) {
  if (!symbol.empty() && !symbol.starts_with("fn_")) return std::string{symbol};
  const auto name = symbol.empty() ? std::string_view{"?"} : symbol;
  return module.empty() ? std::string{name} : (module + "!").append(name);
}

// "libcoreclr.so!fn_46f410"
bool is_nameless(const Frame& frame) {
  const std::string_view method{frame.method};
  return !frame.module.empty() && method.starts_with(frame.module) &&
         method.substr(frame.module.size()).starts_with("!fn_");
}

}  // namespace

FrameId FrameTable::intern(Frame frame) {
  const auto hash = hash_bytes(frame.method.data(), frame.method.size()) ^
                    (hash_bytes(frame.module.data(), frame.module.size()) * 31) ^
                    static_cast<std::uint64_t>(frame.kind) ^ std::uint64_t{frame.line} << 32;
  auto id = index_.find(hash, [&](std::uint32_t i) { return frames_[i] == frame; });
  if (id == HashIndex::kNone) {
    id = static_cast<std::uint32_t>(frames_.size());
    frames_.push_back(std::move(frame));
    index_.insert(hash, id);
  }
  return FrameId{id};
}

void AddressCache::grow() {
  constexpr std::size_t kLeast = 1024;
  const auto keys = std::move(keys_);
  const auto ids = std::move(ids_);
  const auto size = std::max(kLeast, ids.size() * 2);
  keys_.assign(size, 0);
  ids_.assign(size, kNone);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == kNone) continue;
    const auto at = place(keys[i]);
    keys_[at] = keys[i];
    ids_[at] = ids[i];
  }
}

void Symbolizer::on_event(const Event& event, Provider provider) {
  const auto id = event.type->id;
  switch (provider) {
    case Provider::kRuntime:
      if (id == kMethodLoadVerbose || id == kMethodUnloadVerbose) on_method(event, id);
      if (id == kDomainModuleLoad || id == kModuleLoad || id == kModuleUnload)
        on_module(event, id == kDomainModuleLoad);
      if (id == kMethodMap) on_map(event, ManagedLines::Order::kMapFollows);
      break;
    case Provider::kRundown:
      if (id == kMethodLoadVerbose || id == kMethodUnloadVerbose) on_method(event, 0);
      if (id >= kDomainModuleLoad && id <= kModuleDCStop)
        on_module(event, id == kDomainModuleLoad || id == kModuleLoad);
      if (id == kDCStartMap) on_map(event, ManagedLines::Order::kMapFollows);
      if (id == kDCStopMap) on_map(event, ManagedLines::Order::kMapCameBefore);
      break;
    case Provider::kUniversalSystem:
      if (id == kProcessMapping || id == kProcessSymbol) on_universal(event);
      if (id == kMappingMetadata && frames_.lines()) on_mapping_metadata(event);
      break;
    case Provider::kSymbols:
      if (id == kIlMap && frames_.lines()) spaces_[event.process].lines.on_image_map(event);
      if (id == kProcessSymbol) on_universal(event);  // of an image, with the same fields
      break;
    default:
      break;
  }
}

// An address that is returned to may be one byte after its method.
bool Symbolizer::is_wanted(const MethodCode& code) const {
  if (!wanted_) return true;
  const auto first = std::ranges::lower_bound(*wanted_, code.start);
  return first != wanted_->end() && *first - code.start <= code.size;
}

// `id` is 0 for a rundown, which says that a method is there, but not since when.
void Symbolizer::on_method(const Event& event, std::uint32_t id) {
  ByteReader in{event.payload};
  MethodCode code;
  code.method_id = in.read<std::uint64_t>();
  code.module_id = in.read<std::uint64_t>();
  code.start = in.read<std::uint64_t>();
  code.size = in.read<std::uint32_t>();
  code.token = in.read<std::uint32_t>();
  const auto flags = in.read<std::uint32_t>();
  // A rundown's start tells what was there then: our recorder writes some of it.
  if (id == 0 && event.type->id == kMethodUnloadVerbose && in.ok())
    spaces_[event.process].has_rundown = true;
  if (!is_wanted(code)) return;
  code.dynamic = (flags & kDynamicFlag) != 0;
  code.jitted = (flags & kJittedFlag) != 0;
  code.type = in.take_utf16z();
  code.name = in.take_utf16z();
  code.signature = in.take_utf16z();
  if (!in.ok()) return;
  auto& space = spaces_[event.process];
  auto& methods = space.methods;
  // Loads and a rundown's start come before their maps, a rundown's end after.
  if (frames_.lines())
    space.lines.on_code(event, code,
                        id == 0 && event.type->id == kMethodUnloadVerbose
                            ? ManagedLines::Order::kMapCameBefore
                            : ManagedLines::Order::kMapFollows);
  if (id == kMethodLoadVerbose)
    methods.loaded(code, event.time);
  else if (id == kMethodUnloadVerbose)
    methods.unloaded(code, event.time);
  else
    methods.known(code);
}

void Symbolizer::on_module(const Event& event, bool of_domain) {
  ByteReader in{event.payload};
  const auto module_id = in.read<std::uint64_t>();
  in.skip(of_domain ? 16 : 8);  // assembly, domain
  in.skip(8);                   // flags, reserved
  const auto path = in.take_utf16z();
  if (!in.ok()) return;
  auto& space = spaces_[event.process];
  space.methods.module(module_id, path);
  if (of_domain || !frames_.lines()) return;
  (void)in.take_utf16z();  // the native image's path
  in.skip(2);              // which runtime
  PdbReference pdb{.guid = in.read<std::array<std::uint8_t, 16>>()};
  in.skip(4);  // age
  pdb.path = utf8_of(in.take_utf16z());
  if (in.ok() && pdb.guid != decltype(pdb.guid){})
    space.lines.on_module(module_id, utf8_of(path), std::move(pdb));
}

void Symbolizer::on_map(const Event& event, ManagedLines::Order order) {
  if (frames_.lines()) spaces_[event.process].lines.on_map(event, order);
}

void Symbolizer::on_universal(const Event& event) {
  ByteReader in{event.payload};
  const auto id = in.read_varuint();
  const bool symbol = event.type->id == kProcessSymbol;
  const auto mapping = symbol ? in.read_varuint() : id;
  const auto start = in.read_varuint();
  const auto end = in.read_varuint();
  const auto offset = symbol ? 0 : in.read_varuint();
  const auto name = as_text(in.take(in.read<std::uint16_t>()));
  if (!in.ok()) return;
  // Every process tells of the kernel what was seen of it: together they are one mapping.
  const bool kernel = is_kernel_address(start);
  const auto owner = kernel && mapping != 0 ? kKernelMapping : mapping;
  auto& native = kernel ? kernel_ : spaces_[event.process].native;
  if (symbol)
    native.symbol(owner, start, end, name);
  else if (!kernel || !native.find(start, event.time).mapped)
    native.mapping(owner, start, end, name, event.time, offset,
                   frames_.lines() ? spaces_[event.process].build_ids[in.read_varuint()] : "");
}

// {"type":"ELF","build_id":"…",…}
void Symbolizer::on_mapping_metadata(const Event& event) {
  constexpr std::string_view kKey = "\"build_id\":\"";
  ByteReader in{event.payload};
  const auto id = in.read_varuint();
  const auto json = as_text(in.take(in.read<std::uint16_t>()));
  const auto at = json.find(kKey);
  if (!in.ok() || at == std::string_view::npos) return;
  const auto value = json.substr(at + kKey.size());
  spaces_[event.process].build_ids[id] = value.substr(0, value.find('"'));
}

void Symbolizer::forget_found() {
  for (auto& [process, space] : spaces_) {
    space.cache = {};
    space.method_frames.clear();
  }
}

FrameId Symbolizer::frame(ProcessId process, std::uint64_t address, TraceTime when,
                          AddressKind kind) {
  auto& space = spaces_[process];
  const auto key = address * 2 + (kind == AddressKind::kReturn ? 1 : 0);
  if (const auto id = space.cache.find(key); id != AddressCache::kNone) return id;
  if (const auto [method, always] = method_at(space, address, when, kind); method) {
    if (const auto id = lambda_frame(space, *method, when)) return *id;
    const auto id =
        frames_.lines()
            ? method_frame_at(space, *method, kind == AddressKind::kReturn ? address - 1 : address,
                              when)
            : method_frame(space, *method);
    if (always) space.cache.insert(key, id);
    return id;
  }
  const auto at = kind == AddressKind::kReturn ? address - 1 : address;
  const auto found = (is_kernel_address(at) ? kernel_ : space.native).find(at, when);
  const auto id = native_frame(at, found, space.has_rundown);
  if (found.always) space.cache.insert(key, id);
  return id;
}

MethodMap::Found Symbolizer::method_at(Space& space, std::uint64_t address, TraceTime when,
                                       AddressKind kind) {
  if (kind == AddressKind::kReturn)
    if (const auto found = space.methods.find(address - 1, when); found.method) return found;
  return space.methods.find(address, when);
}

FrameId Symbolizer::method_frame(Space& space, const Method& method) {
  space.method_frames.resize(space.methods.size(), AddressCache::kNone);
  auto& known = space.method_frames[space.methods.index(method)];
  if (known == AddressCache::kNone) {
    const auto path = space.methods.module_path(method);
    auto kind = is_framework_module(path) ? FrameKind::kFramework : FrameKind::kManaged;
    if (method.dynamic) kind = FrameKind::kDynamic;
    known =
        frames_.intern({space.methods.name(method), method.dynamic ? "" : module_name(path), kind});
  }
  return known;
}

// The recorder read what it calls, and wrote it as a symbol of the same code.
std::optional<FrameId> Symbolizer::lambda_frame(Space& space, const Method& method,
                                                TraceTime when) {
  if (!method.dynamic || !space.methods.bare_name(method).starts_with("lambda_method")) return {};
  auto named = frame_of_jit_symbol(space.native.find(method.start, when).symbol);
  if (!named) return {};
  return frames_.intern(*std::move(named));
}

FrameId Symbolizer::method_frame_at(Space& space, const Method& method, std::uint64_t address,
                                    TraceTime when) {
  const auto plain = method_frame(space, method);
  ManagedLines::Code code{.method = method, .module_path = space.methods.module_path(method)};
  if (!method.jitted)
    if (const auto image = space.native.find(method.start, when); image.mapped) {
      code.image_path = image.path;
      code.image_offset = image.file_offset;
    }
  const auto place = space.lines.find(*frames_.lines(), code, address);
  if (!place) return plain;
  auto frame = frames_.frame(plain);
  frame.file = place->file;
  frame.line = place->line;
  return frames_.intern(std::move(frame));
}

FrameId Symbolizer::native_frame(std::uint64_t address, const UniversalMap::Found& found,
                                 bool has_rundown) {
  if (is_kernel_address(address)) {
    const auto module = found.path.starts_with('/') ? module_name(found.path) : "[kernel]";
    return frames_.intern({.method = native_name(module, found.symbol),
                           .module = module,
                           .kind = FrameKind::kKernel});
  }
  if (!found.mapped && found.symbol.empty()) return frames_.intern({.method = "?"});
  if (auto jitted = frame_of_jit_symbol(found.symbol)) return frames_.intern(std::move(*jitted));
  const bool unknown_stub = found.symbol.empty() && has_rundown && is_code_heap(found.path);
  if (unknown_stub || is_stub_name(found.symbol))
    return frames_.intern({.method = std::string{unknown_stub ? kAnyStub : found.symbol},
                           .module = "[stubs]",
                           .kind = FrameKind::kRuntime});
  auto path = found.path;
  if (constexpr std::string_view kDeleted = " (deleted)"; path.ends_with(kDeleted))
    path.remove_suffix(kDeleted.size());
  const auto module = module_name(path);
  Frame frame{.method = native_name(module, found.symbol),
              .module = module,
              .kind = kind_of_native(path, found.symbol)};
  if (frames_.lines())
    if (auto place = frames_.lines()->of_native(std::string{path}, std::string{found.build_id},
                                                found.file_offset)) {
      frame.file = std::move(place->file);
      frame.line = place->line;
    }
  return frames_.intern(std::move(frame));
}

// The code that the kernel interrupted or was called from is where execution stands, as the leaf
// is; all else is where execution returns to.
void Symbolizer::frames(ProcessId process, std::span<const std::uint64_t> addresses, TraceTime when,
                        std::vector<FrameId>& out) {
  out.clear();
  bool exact = true;
  bool was_kernel = false;
  for (const auto address : addresses) {
    const bool kernel = is_kernel_address(address);
    out.push_back(
        frame(process, address, when,
              exact || (was_kernel && !kernel) ? AddressKind::kExact : AddressKind::kReturn));
    exact = false;
    was_kernel = kernel;
  }
  fold_helpers(out);
}

// A function of the runtime without a name that a method calls: which one it is says nothing to
// anybody, so they are one frame.
void Symbolizer::fold_helpers(std::span<FrameId> frames) {
  for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
    const auto& frame = frames_.frame(frames[i]);
    if (frame.kind != FrameKind::kRuntime || !is_nameless(frame)) continue;
    const auto caller = frames_.frame(frames[i + 1]).kind;
    if (caller == FrameKind::kManaged || caller == FrameKind::kFramework ||
        caller == FrameKind::kDynamic)
      frames[i] = frames_.intern({.method = frame.module + "![runtime helper]",
                                  .module = frame.module,
                                  .kind = FrameKind::kRuntime});
  }
}

}  // namespace clrscope::analyze
