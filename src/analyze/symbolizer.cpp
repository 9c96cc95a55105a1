#include "analyze/symbolizer.h"

#include "symbols/method_name.h"

namespace clrscope::analyze {
namespace {

// Of the runtime's provider and of its rundown, which differ in these only.
enum RuntimeId : std::uint32_t {
  kMethodLoadVerbose = 143,    // rundown: DCStartVerbose
  kMethodUnloadVerbose = 144,  // rundown: DCStopVerbose
  kDomainModuleLoad = 151,
  kModuleLoad = 152,    // rundown: DomainModuleDCStop
  kModuleUnload = 153,  // rundown: ModuleDCStart
  kModuleDCStop = 154,
};
enum UniversalId : std::uint32_t { kProcessMapping = 3, kProcessSymbol = 4 };

constexpr std::uint32_t kDynamicFlag = 1;
constexpr std::size_t kMaxNativeRanges = 1 << 20;  // of a process; more is no sane trace

std::string read_text8(ByteReader& in) {
  return std::string{as_text(in.take(in.read<std::uint16_t>()))};
}

}  // namespace

FrameId FrameTable::intern(Frame frame) {
  const auto hash = hash_bytes(frame.method.data(), frame.method.size()) ^
                    (hash_bytes(frame.module.data(), frame.module.size()) * 31) ^
                    static_cast<std::uint64_t>(frame.kind);
  auto id = index_.find(hash, [&](std::uint32_t i) { return frames_[i] == frame; });
  if (id == HashIndex::kNone) {
    id = static_cast<std::uint32_t>(frames_.size());
    frames_.push_back(std::move(frame));
    index_.insert(hash, id);
  }
  return FrameId{id};
}

void Symbolizer::on_event(const Event& event, Provider provider) {
  const auto id = event.type->id;
  switch (provider) {
    case Provider::kRuntime:
      if (id == kMethodLoadVerbose || id == kMethodUnloadVerbose) on_method(event, id);
      if (id == kDomainModuleLoad || id == kModuleLoad || id == kModuleUnload)
        on_module(event, id == kDomainModuleLoad);
      break;
    case Provider::kRundown:
      if (id == kMethodLoadVerbose || id == kMethodUnloadVerbose) on_method(event, 0);
      if (id >= kDomainModuleLoad && id <= kModuleDCStop)
        on_module(event, id == kDomainModuleLoad || id == kModuleLoad);
      break;
    case Provider::kUniversalSystem:
      if (id == kProcessMapping || id == kProcessSymbol) on_universal(event);
      break;
    default:
      break;
  }
}

// `id` is 0 for a rundown, which says that a method is there, but not since when.
void Symbolizer::on_method(const Event& event, std::uint32_t id) {
  ByteReader in{event.payload};
  MethodCode code;
  code.method_id = in.read<std::uint64_t>();
  code.module_id = in.read<std::uint64_t>();
  code.start = in.read<std::uint64_t>();
  code.size = in.read<std::uint32_t>();
  in.skip(4);  // token
  code.dynamic = (in.read<std::uint32_t>() & kDynamicFlag) != 0;
  code.type = in.take_utf16z();
  code.name = in.take_utf16z();
  code.signature = in.take_utf16z();
  if (!in.ok()) return;
  auto& methods = spaces_[event.process].methods;
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
  if (in.ok()) spaces_[event.process].methods.module(module_id, path);
}

void Symbolizer::on_universal(const Event& event) {
  auto& space = spaces_[event.process];
  ByteReader in{event.payload};
  in.read_varuint();  // its id
  const bool symbol = event.type->id == kProcessSymbol;
  if (symbol) in.read_varuint();  // the mapping's
  const auto start = in.read_varuint();
  const auto end = in.read_varuint();
  if (!symbol) in.read_varuint();  // offset in the file
  auto name = read_text8(in);
  if (!in.ok() || end < start) return;
  auto& ranges = symbol ? space.symbols : space.mappings;
  if (ranges.size() >= kMaxNativeRanges) return;
  if (symbol)
    ranges[start] = {end, std::move(name), ""};
  else
    ranges[start] = {end, "", module_name(name)};
}

FrameId Symbolizer::frame(ProcessId process, std::uint64_t address, TraceTime when,
                          AddressKind kind) {
  auto& space = spaces_[process];
  const auto key = address * 2 + (kind == AddressKind::kReturn ? 1 : 0);
  if (const auto found = space.cache.find(key); found != space.cache.end()) return found->second;
  const auto [method, always] = method_at(space, address, when, kind);
  const auto id = method
                      ? method_frame(space, *method)
                      : native_frame(space, kind == AddressKind::kReturn ? address - 1 : address);
  if (always) space.cache.emplace(key, id);
  return id;
}

MethodMap::Found Symbolizer::method_at(Space& space, std::uint64_t address, TraceTime when,
                                       AddressKind kind) {
  if (kind == AddressKind::kReturn)
    if (const auto found = space.methods.find(address - 1, when); found.method) return found;
  return space.methods.find(address, when);
}

FrameId Symbolizer::method_frame(Space& space, const Method& method) {
  const auto [at, is_new] = space.method_frames.try_emplace(&method);
  if (is_new) {
    const auto path = space.methods.module_path(method);
    auto kind = is_framework_module(path) ? FrameKind::kFramework : FrameKind::kManaged;
    if (method.dynamic) kind = FrameKind::kDynamic;
    at->second =
        frames_.intern({space.methods.name(method), method.dynamic ? "" : module_name(path), kind});
  }
  return at->second;
}

FrameId Symbolizer::native_frame(const Space& space, std::uint64_t address) {
  const auto covering = [address](const std::map<std::uint64_t, Range>& ranges) -> const Range* {
    const auto after = ranges.upper_bound(address);
    if (after == ranges.begin()) return nullptr;
    const auto& range = std::prev(after)->second;
    return address <= range.end ? &range : nullptr;
  };
  const auto* mapping = covering(space.mappings);
  const auto* symbol = covering(space.symbols);
  Frame frame{.method = "?"};
  if (mapping) frame.module = mapping->module;
  if (symbol) frame.method = symbol->symbol;
  if (mapping || symbol) frame.kind = FrameKind::kNative;
  if (symbol && address >> 63 != 0) frame.kind = FrameKind::kKernel;
  return frames_.intern(std::move(frame));
}

void Symbolizer::frames(ProcessId process, std::span<const std::uint64_t> addresses, TraceTime when,
                        std::vector<FrameId>& out) {
  out.clear();
  for (std::size_t i = 0; i < addresses.size(); ++i)
    out.push_back(
        frame(process, addresses[i], when, i == 0 ? AddressKind::kExact : AddressKind::kReturn));
}

}  // namespace clrscope::analyze
