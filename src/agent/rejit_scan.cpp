// Chooses the methods that an order means, in all modules that are loaded.
#include "agent/attributes.h"
#include "agent/names.h"
#include "agent/rejit.h"
#include "agent/tokens.h"

namespace clrscope::agent {
namespace {

bool has_attribute(ComObject* metadata, Token token, const char16_t* name) {
  const void* data = nullptr;
  std::uint32_t size = 0;
  return call(metadata, metadata::kGetCustomAttributeByName, token, name, &data, &size) == kOk;
}

// It only starts a state machine, whose steps are measured instead.
bool starts_state_machine(ComObject* metadata, Token method) {
  return has_attribute(metadata, method,
                       u"System.Runtime.CompilerServices.AsyncStateMachineAttribute") ||
         has_attribute(metadata, method,
                       u"System.Runtime.CompilerServices.AsyncIteratorStateMachineAttribute");
}

bool is_intrinsic(ComObject* metadata, Token token) {
  return has_attribute(metadata, token, u"System.Runtime.CompilerServices.IntrinsicAttribute");
}

}  // namespace

void Rejit::scan_modules(ComObject* runtime) {
  ComObject* modules = nullptr;
  if (call(runtime, info::kEnumModules, &modules) < 0 || !modules) return;
  Id id = 0;
  std::uint32_t got = 0;
  while (!cancelled_.load(std::memory_order_acquire) &&
         call(modules, enumerator::kNext, std::uint32_t{1}, &id, &got) == kOk && got == 1) {
    bool known = false;
    for (std::uint32_t i = 0; i < scanned_; ++i) known = known || memory_->modules[i].id == id;
    if (known) continue;
    {
      const Lock lock{lock_};
      // The scanned ones come first: the place of this one is taken by the first unscanned.
      auto* found = module_of(id);
      if (!found) {
        if (module_count_ == kMostModules) break;
        found = &memory_->modules[module_count_++];
        *found = {id, 0, 0, 0, 0, 0, 0, false};
      }
      const auto moved = memory_->modules[scanned_];
      memory_->modules[scanned_] = *found;
      *found = moved;
      ++scanned_;
    }
    scan_module(runtime, id);
  }
  release(modules);
  open_modules(runtime);
  request_pending(runtime);
}

void Rejit::scan_module(ComObject* runtime, Id module) {
  auto& header = probes_.shared()->header;
  const std::uint8_t* base = nullptr;
  std::uint32_t length = 0, flags = 0;
  Id assembly = 0;
  constexpr std::uint32_t kDynamic = 4, kCollectible = 8, kResource = 16;
  constexpr std::uint32_t kLongestPath = 1024;
  char16_t path[kLongestPath];
  if (call(runtime, info::kGetModuleInfo2, module, &base, kLongestPath, &length, &path[0],
           &assembly, &flags) < 0 ||
      (flags & (kDynamic | kCollectible | kResource)) != 0) {
    header.skipped_modules.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  auto* metadata = open_metadata(runtime, module);
  if (!metadata) return;
  if (length <= kLongestPath && is_core_library(path, length)) core_library_ = module;
  header.modules.fetch_add(1, std::memory_order_relaxed);
  for_each_token(
      metadata,
      [&](void** position, Token* tokens, std::uint32_t count, std::uint32_t* got) {
        return call(metadata, metadata::kEnumTypeDefs, position, tokens, count, got);
      },
      [&](Token type) {
        if (!cancelled_.load(std::memory_order_acquire)) scan_type(runtime, metadata, module, type);
      });
  release(metadata);
}

void Rejit::scan_type(ComObject* runtime, ComObject* metadata, Id module, Token type) {
  Text type_name;
  put_type(metadata, type, type_name);
  type_name.put('.');
  int intrinsic = -1;  // asked for only when a method matches
  const auto marks =
      filter_.has_attributes() ? marks_on_type(metadata, type, filter_) : MethodFilter::Marks{0};
  for_each_token(
      metadata,
      [&](void** position, Token* tokens, std::uint32_t count, std::uint32_t* got) {
        return call(metadata, metadata::kEnumMethods, position, type, tokens, count, got);
      },
      [&](Token method) {
        Text name = type_name;
        Token owner = 0;
        char16_t own[512];
        std::uint32_t length = 0, attributes = 0, size = 0, address = 0, flags = 0;
        const std::uint8_t* signature = nullptr;
        if (call(metadata, metadata::kGetMethodProps, method, &owner, &own[0], std::uint32_t{512},
                 &length, &attributes, &signature, &size, &address, &flags) < 0)
          return;
        name.put(own, length < 512 ? length : 512);
        constexpr std::uint32_t kNotIl = 3 | 4 | 0x1000;  // code type, unmanaged, internal call
        if (address == 0 || (flags & kNotIl) != 0) return;
        if (!chooses(name, filter_.has_attributes() ? marks | marks_on(metadata, method, filter_)
                                                    : MethodFilter::Marks{0}))
          return;
        if (intrinsic < 0) intrinsic = is_intrinsic(metadata, type) ? 1 : 0;
        consider(runtime, metadata, module, method, intrinsic == 1, name);
      });
}

bool Rejit::chooses(const Text& name, MethodFilter::Marks marks) const {
  if (!for_requests()) return filter_.chooses(name.data(), name.size(), marks);
  return is_queue(name) || (filter_.chooses_step(name.data(), name.size(), marks) &&
                            !is_made_by_compiler(name.data(), name.size()));
}

// What gives work to the thread pool: its probe says when a step of an async method was queued.
bool Rejit::is_queue(const Text& name) {
  constexpr char kQueue[] = "System.Threading.ThreadPoolWorkQueue.Enqueue";
  constexpr std::uint32_t kSize = sizeof kQueue - 1;
  return name.size() == kSize && __builtin_memcmp(name.data(), kQueue, kSize) == 0;
}

void Rejit::consider(ComObject* runtime, ComObject* metadata, Id module, Token method,
                     bool intrinsic, Text& name) {
  bool skipped = false;
  std::uint32_t il_bytes = 0;
  auto reason = examine(runtime, metadata, module, method, skipped, il_bytes);
  if (skipped && !(for_requests() && is_queue(name))) return;
  if (for_requests() && starts_state_machine(metadata, method)) return;
  if (reason == il::Reason::kNone &&
      (intrinsic || is_runtime_helper(name.data(), name.size()) || is_intrinsic(metadata, method)))
    reason = il::Reason::kIntrinsic;
  // Not for the queue alone, which every profile of requests takes: it takes milliseconds.
  if (reason == il::Reason::kNone && module == core_library_ && !is_queue(name)) {
    find_helpers(runtime, metadata, module);
    if (is_in_helper(module, method)) reason = il::Reason::kIntrinsic;
  }
  const Lock lock{lock_};
  const auto index = find_or_add(module, method);
  if (index == kNone) return;
  (void)name_entry(index, name.data(), name.size());
  if (for_requests() && is_queue(name)) queue_entry_ = index;
  auto& entry = memory_->entries[index];
  entry.is_inliner = false;
  probes_.shared()->methods[index].il_bytes = il_bytes;
  if (reason != il::Reason::kNone) return set_state(index, wire::ProbeState::kRefused, reason);
  entry.is_pending = true;
  set_state(index, wire::ProbeState::kRequested);
}

il::Reason Rejit::examine(ComObject* runtime, ComObject* metadata, Id module, Token method,
                          bool& skipped, std::uint32_t& il_bytes) {
  const std::uint8_t* bytes = nullptr;
  std::uint32_t size = 0;
  if (call(runtime, info::kGetILFunctionBody, module, method, &bytes, &size) < 0 || !bytes)
    return il::Reason::kNoBody;
  il::Body body;
  if (const auto parsed = il::parse_body(bytes, size, body); parsed != il::Reason::kNone)
    return parsed;
  il_bytes = body.code_size;
  auto& header = probes_.shared()->header;
  if ((memory_->order.flags & wire::kWithAccessors) == 0 && il::is_trivial(body)) {
    skipped = true;
    header.skipped_trivial.fetch_add(1, std::memory_order_relaxed);
    return il::Reason::kNone;
  }
  if (body.code_size < memory_->order.smallest_il) {
    skipped = true;
    header.skipped_small.fetch_add(1, std::memory_order_relaxed);
    return il::Reason::kNone;
  }
  Token owner = 0;
  std::uint32_t length = 0, attributes = 0, signature_size = 0, address = 0, flags = 0;
  const std::uint8_t* signature_bytes = nullptr;
  if (call(metadata, metadata::kGetMethodProps, method, &owner, static_cast<char16_t*>(nullptr),
           std::uint32_t{0}, &length, &attributes, &signature_bytes, &signature_size, &address,
           &flags) < 0)
    return il::Reason::kSignature;
  constexpr std::uint32_t kAsync = 0x2000;
  if ((flags & kAsync) != 0) return il::Reason::kRuntimeAsync;
  il::MethodSignature signature;
  if (const auto parsed = il::parse_method_signature(signature_bytes, signature_size, signature);
      parsed != il::Reason::kNone)
    return parsed;
  return il::check_body(body, memory_->scan_map, kMostCode + 1);
}

}  // namespace clrscope::agent
