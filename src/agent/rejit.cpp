#include "agent/rejit.h"

#include "agent/syscalls.h"

namespace clrscope::agent {
namespace {

// What enter and leave cost together; in requests that are not sampled.
constexpr std::uint64_t kProbeNs = 25, kPassedNs = 4;
constexpr HResult kInvalidArgument = hresult(0x80070057);

std::uint32_t bucket_of(Id module, Token token) {
  const auto key = (static_cast<std::uint64_t>(module) ^ token) * 0x9e37'79b9'7f4a'7c15ULL +
                   static_cast<std::uint64_t>(token) * 0xd6e8'feb8'6659'fd93ULL;
  return static_cast<std::uint32_t>(key >> 40);
}

// Of the method that makes one step of a state machine; `length` counts the zero at its end.
constexpr std::uint32_t kStepNameSize = 9;
bool is_step_name(const char16_t* name, std::uint32_t length) {
  constexpr char16_t kName[kStepNameSize] = u"MoveNext";
  if (length != kStepNameSize) return false;
  for (std::uint32_t i = 0; i < kStepNameSize - 1; ++i)
    if (name[i] != kName[i]) return false;
  return true;
}

struct Blob {
  const std::uint8_t* bytes;
  std::uint32_t size;
};
// Of the enter probe.
Blob signature_of(bool is_step, bool is_queue) {
  if (is_step) return {il::kEnterStepSignature, sizeof il::kEnterStepSignature};
  if (is_queue) return {il::kEnterArgumentSignature, sizeof il::kEnterArgumentSignature};
  return {il::kEnterSignature, sizeof il::kEnterSignature};
}

}  // namespace

bool Rejit::open() {
  if (!memory_) memory_ = static_cast<Memory*>(map_memory(sizeof(Memory)));
  return memory_ && probes_.open();
}

void Rejit::announce() {
  cancelled_.store(false, std::memory_order_release);
  probes_.shared()->header.progress.store(
      static_cast<std::uint32_t>(wire::ProbeProgress::kWorking));
}

void Rejit::cancel() {
  probes_.switch_off();
  cancelled_.store(true, std::memory_order_release);
}

// --- the table of methods ---

std::uint32_t Rejit::find(Id module, Token token) const {
  for (std::uint32_t i = 0, at = bucket_of(module, token); i < kBuckets; ++i, ++at) {
    const auto number = memory_->buckets[at % kBuckets];
    if (number == 0) return kNone;
    const auto& entry = memory_->entries[number - 1];
    if (entry.module == module && entry.token == token) return number - 1;
  }
  return kNone;
}

std::uint32_t Rejit::find_or_add(Id module, Token token) {
  if (const auto found = find(module, token); found != kNone) return found;
  if (entry_count_ == wire::kProbeMethods) return kNone;
  auto at = bucket_of(module, token);
  while (memory_->buckets[at % kBuckets] != 0) ++at;
  const auto index = entry_count_++;
  memory_->entries[index] = {.module = module,
                             .token = token,
                             .locals = 0,
                             .counter = wire::kNoCounter,
                             .state = wire::ProbeState::kNone,
                             .is_inliner = false,
                             .is_named = false,
                             .is_pending = false,
                             .seen = 0};
  memory_->buckets[at % kBuckets] = index + 1;
  auto& shared = probes_.shared()->methods[index];
  shared.name_size = 0;
  shared.counter.store(wire::kNoCounter);
  probes_.shared()->header.methods.store(entry_count_, std::memory_order_release);
  return index;
}

std::uint32_t Rejit::name_entry(std::uint32_t index, const char* name, std::uint32_t size) {
  auto& entry = memory_->entries[index];
  if (entry.is_named) return index;
  entry.is_named = true;
  if (size > wire::kProbeTextBytes - text_used_) return index;
  auto& shared = probes_.shared()->methods[index];
  __builtin_memcpy(probes_.shared()->text + text_used_, name, size);
  shared.name_offset = text_used_;
  shared.name_size = size;
  text_used_ += size;
  return index;
}

void Rejit::set_state(std::uint32_t index, wire::ProbeState state, il::Reason reason, HResult why) {
  memory_->entries[index].state = state;
  auto& shared = probes_.shared()->methods[index];
  shared.reason.store(static_cast<std::uint32_t>(reason), std::memory_order_relaxed);
  shared.hresult.store(why, std::memory_order_relaxed);
  shared.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

void Rejit::forget_last() {
  const Lock lock{lock_};
  probes_.reset(counter_count_);
  for (std::uint32_t i = 0; i < entry_count_; ++i) {
    set_state(i, wire::ProbeState::kNone);
    memory_->entries[i].is_inliner = false;
    memory_->entries[i].is_pending = false;
    memory_->entries[i].seen = 0;
  }
  auto& header = probes_.shared()->header;
  for (auto* count : {&header.modules, &header.skipped_modules, &header.skipped_trivial,
                      &header.skipped_small, &header.inliners})
    count->store(0);
  scanned_ = 0;
  queue_entry_ = kNone;
}

Rejit::Module* Rejit::module_of(Id id) {
  for (std::uint32_t i = 0; i < module_count_; ++i)
    if (memory_->modules[i].id == id) return &memory_->modules[i];
  return nullptr;
}

// --- worker thread ---

HResult Rejit::enable(ComObject* runtime) {
  if (is_enabled()) return kOk;
  std::uint32_t low = 0, high = 0;
  const auto got = call(runtime, info::kGetEventMask2, &low, &high);
  if (got < 0) return got;
  const auto set = call(runtime, info::kSetEventMask2, low | mask::kEnableReJit, high);
  if (set >= 0) enabled_.store(true, std::memory_order_release);
  return set;
}

HResult Rejit::apply(ComObject* runtime) {
  auto& header = probes_.shared()->header;
  const auto finish = [&](wire::ProbeProgress progress, HResult result) {
    header.hresult.store(result);
    header.progress.store(static_cast<std::uint32_t>(progress), std::memory_order_release);
    return result;
  };
  if (is_active()) (void)revert(runtime);
  // A copy: clrscope could change it while it is read.
  auto& order = memory_->order;
  __builtin_memcpy(&order, &probes_.shared()->order, sizeof order);
  if (order.pattern_bytes > sizeof order.patterns ||
      !filter_.parse(order.patterns, order.pattern_bytes))
    return finish(wire::ProbeProgress::kFailed, kInvalidArgument);
  if (for_requests() && RequestTable::helper().enter_step == 0)
    return finish(wire::ProbeProgress::kFailed, kInvalidArgument);
  if (const auto enabled = enable(runtime); enabled < 0)
    return finish(wire::ProbeProgress::kFailed, enabled);
  forget_last();
  active_.store(true, std::memory_order_release);
  last_guard_ns_ = monotonic_ns();
  const bool closed = (order.flags & (wire::kClosed | wire::kForRequests)) != 0;
  if (!closed && !cancelled_.load(std::memory_order_acquire)) probes_.switch_on();
  modules_changed_.store(false);
  scan_modules(runtime);
  if (cancelled_.load(std::memory_order_acquire)) return revert(runtime);
  applied_.store(true, std::memory_order_release);
  return finish(wire::ProbeProgress::kApplied, kOk);
}

void Rejit::request(ComObject* runtime, Batch& batch) {
  if (batch.count == 0) return;
  constexpr std::uint32_t kBlockInlining = 1;
  const auto answer = call(runtime, info::kRequestReJITWithInliners, kBlockInlining, batch.count,
                           &batch.modules[0], &batch.tokens[0]);
  // One that the runtime refuses keeps the others from being compiled: ask for each.
  for (std::uint32_t i = 0; answer < 0 && i < batch.count; ++i) {
    const auto one = batch.count == 1
                         ? answer
                         : call(runtime, info::kRequestReJITWithInliners, kBlockInlining,
                                std::uint32_t{1}, &batch.modules[i], &batch.tokens[i]);
    if (one >= 0) continue;
    const Lock lock{lock_};
    set_state(batch.entries[i], wire::ProbeState::kRefused, il::Reason::kRefusedByRuntime, one);
  }
  batch.count = 0;
}

void Rejit::give_back(ComObject* runtime, Batch& batch) {
  if (batch.count == 0) return;
  (void)call(runtime, info::kRequestRevert, batch.count, &batch.modules[0], &batch.tokens[0],
             &batch.answers[0]);
  batch.count = 0;
}

HResult Rejit::revert(ComObject* runtime) {
  probes_.switch_off();
  applied_.store(false, std::memory_order_release);
  Batch batch;
  for (std::uint32_t i = 0; is_active(); ++i) {
    {
      const Lock lock{lock_};
      if (i >= entry_count_) break;
      auto& entry = memory_->entries[i];
      const bool changed = entry.state == wire::ProbeState::kRequested ||
                           entry.state == wire::ProbeState::kInstrumented || entry.is_inliner;
      if (!changed) continue;
      if (!entry.is_inliner) set_state(i, wire::ProbeState::kReverted);
      entry.is_inliner = false;
      const bool asked_for = !entry.is_pending;
      entry.is_pending = false;
      if (!asked_for) continue;
      batch.modules[batch.count] = entry.module;
      batch.tokens[batch.count++] = entry.token;
    }
    if (batch.count == kBatch) give_back(runtime, batch);
  }
  give_back(runtime, batch);
  active_.store(false, std::memory_order_release);
  probes_.shared()->header.progress.store(static_cast<std::uint32_t>(wire::ProbeProgress::kIdle),
                                          std::memory_order_release);
  return kOk;
}

void Rejit::tick(ComObject* runtime, std::uint64_t now_ns) {
  if (!is_active() || cancelled_.load(std::memory_order_acquire)) return;
  if (modules_changed_.exchange(false)) scan_modules(runtime);
  guard(runtime, now_ns);
}

// A method whose probes cost more than their share is given back. What was counted stays.
void Rejit::guard(ComObject* runtime, std::uint64_t now_ns) {
  const auto share = memory_->order.share_ppm;
  const auto elapsed = now_ns - last_guard_ns_;
  last_guard_ns_ = now_ns;
  if (share == 0 || elapsed == 0) return;
  const auto most = elapsed / 1000 * share / 1000 / (for_requests() ? kPassedNs : kProbeNs);
  Batch batch;
  for (std::uint32_t counter = 0;; ++counter) {
    {
      const Lock lock{lock_};
      if (counter >= counter_count_) break;
      const auto index = memory_->counter_entries[counter];
      auto& entry = memory_->entries[index];
      if (entry.state != wire::ProbeState::kInstrumented) continue;
      const auto calls = for_requests() ? probes_.enters(counter) : probes_.leaves(counter);
      const auto fresh = calls - entry.seen;
      entry.seen = calls;
      if (fresh <= most) continue;
      set_state(index, wire::ProbeState::kRefused, il::Reason::kOverBudget);
      batch.modules[batch.count] = entry.module;
      batch.tokens[batch.count++] = entry.token;
    }
    if (batch.count == kBatch) give_back(runtime, batch);
  }
  give_back(runtime, batch);
}

// --- callbacks ---

il::Reason Rejit::instrument(ComObject* runtime, Entry& entry, ComObject* control, HResult& why) {
  auto& memory = *memory_;
  auto* module = module_of(entry.module);
  const std::uint8_t* bytes = nullptr;
  std::uint32_t size = 0;
  why = call(runtime, info::kGetILFunctionBody, entry.module, entry.token, &bytes, &size);
  if (why < 0 || !bytes || !module) return il::Reason::kNoBody;
  il::Body body;
  if (const auto parsed = il::parse_body(bytes, size, body); parsed != il::Reason::kNone)
    return parsed;
  ComObject* import = nullptr;
  ComObject* emit = nullptr;
  constexpr std::uint32_t kRead = 0, kWrite = 1;
  why = call(runtime, info::kGetModuleMetaData, entry.module, kRead, &kMetadataImport2, &import);
  if (why < 0 || !import) return il::Reason::kRefusedByRuntime;
  const auto rewrite = [&]() -> il::Reason {
    Token owner = 0;
    std::uint32_t length = 0, attributes = 0, signature_size = 0, address = 0, flags = 0;
    const std::uint8_t* signature_bytes = nullptr;
    char16_t name[kStepNameSize]{};
    why = call(import, metadata::kGetMethodProps, entry.token, &owner, &name[0], kStepNameSize,
               &length, &attributes, &signature_bytes, &signature_size, &address, &flags);
    if (why < 0) return il::Reason::kRefusedByRuntime;
    il::MethodSignature signature;
    if (const auto parsed = il::parse_method_signature(signature_bytes, signature_size, signature);
        parsed != il::Reason::kNone)
      return parsed;
    const std::uint8_t* old = nullptr;
    std::uint32_t old_size = 0;
    if (body.locals != 0) {
      why = call(import, metadata::kGetSigFromToken, body.locals, &old, &old_size);
      if (why < 0) return il::Reason::kRefusedByRuntime;
    }
    il::NewLocals locals;
    if (const auto extended =
            il::extend_locals(old, old_size, signature, memory.locals, kMostLocalBytes, locals);
        extended != il::Reason::kNone)
      return extended;
    why = call(runtime, info::kGetModuleMetaData, entry.module, kRead | kWrite, &kMetadataEmit,
               &emit);
    if (why < 0 || !emit) return il::Reason::kRefusedByRuntime;
    const auto token_of = [&](const std::uint8_t* blob, std::uint32_t blob_size, Token& token) {
      if (token == 0) why = call(emit, emit::kGetTokenFromSig, blob, blob_size, &token);
      if (why < 0) token = 0;
      return why >= 0;
    };
    il::StateMachine machine;
    const bool is_step = for_requests() && signature.is_void && signature.parameters == 0 &&
                         is_step_name(name, length) && il::find_state_machine(body, machine);
    const bool is_queue = queue_entry_ != kNone && &entry == &memory.entries[queue_entry_];
    auto& enter = is_step ? module->enter_step : is_queue ? module->queued : module->enter;
    auto& leave = is_step ? module->leave_step : module->leave;
    const auto& [enter_blob, enter_size] = signature_of(is_step, is_queue);
    if (!token_of(memory.locals, locals.size, entry.locals) ||
        !token_of(enter_blob, enter_size, enter) ||
        !(is_step ? token_of(il::kLeaveStepSignature, sizeof il::kLeaveStepSignature, leave) &&
                        token_of(il::kFaultSignature, sizeof il::kFaultSignature, module->fault)
                  : token_of(il::kLeaveSignature, sizeof il::kLeaveSignature, leave)))
      return il::Reason::kRefusedByRuntime;
    il::Probe probe{.id = entry.counter,
                    .gate = probe_gate_address(),
                    .enter = probe_enter_address(),
                    .leave = probe_leave_address(),
                    .enter_token = enter,
                    .leave_token = leave,
                    .locals_token = entry.locals};
    if (for_requests()) {
      const auto helper = RequestTable::helper();
      probe.gate = request_gate_address();
      probe.enter = is_step    ? helper.enter_step
                    : is_queue ? helper.queued
                               : request_enter_address();
      probe.leave = is_step ? request_leave_step_address() : request_leave_address();
      probe.leave_fault = is_step || is_queue ? 0 : request_leave_fault_address();
      probe.machine = is_step ? &machine : nullptr;
      probe.fault = helper.fault;
      probe.fault_token = module->fault;
      probe.argument = is_queue ? 1 : il::kNoArgument;
    }
    il::Layout layout;
    const auto done = il::rewrite(body, signature, locals, probe, memory.map, kMostCode + 1,
                                  memory.code, kMostNewCode, layout);
    if (done != il::Reason::kNone) return done;
    why = call(control, control::kSetILFunctionBody, layout.size, &memory.code[0]);
    return why < 0 ? il::Reason::kRefusedByRuntime : il::Reason::kNone;
  };
  const auto reason = rewrite();
  release(import);
  if (emit) release(emit);
  return reason;
}

HResult Rejit::on_parameters(ComObject* runtime, Id module, Token method, ComObject* control) {
  if (!is_enabled()) return kOk;
  const Lock lock{lock_};
  const auto index = find_or_add(module, method);
  if (index == kNone) return kOk;
  auto& entry = memory_->entries[index];
  if (entry.state != wire::ProbeState::kRequested &&
      entry.state != wire::ProbeState::kInstrumented) {
    // It had inlined one of ours, or comes too late. Without a new body it keeps its own.
    if (is_active() && !entry.is_inliner) {
      entry.is_inliner = true;
      probes_.shared()->header.inliners.fetch_add(1, std::memory_order_relaxed);
    }
    return kOk;
  }
  // It has inlined one of ours, and is asked for itself when its module is open.
  if (const auto* found = module_of(module); !found || !found->is_open) return kOk;
  if (entry.counter == wire::kNoCounter) {
    if (counter_count_ == wire::kProbeCounters) {
      set_state(index, wire::ProbeState::kRefused, il::Reason::kTooMany);
      return kOk;
    }
    entry.counter = counter_count_;
    memory_->counter_entries[counter_count_++] = index;
    probes_.shared()->methods[index].counter.store(entry.counter);
    probes_.shared()->header.counters.store(counter_count_);
  }
  HResult why = kOk;
  const auto reason = instrument(runtime, entry, control, why);
  if (reason == il::Reason::kNone)
    set_state(index, wire::ProbeState::kInstrumented);
  else
    set_state(index, wire::ProbeState::kRefused, reason, why);
  return kOk;
}

void Rejit::on_error(Id module, Token method, HResult why) {
  if (!is_enabled()) return;
  const Lock lock{lock_};
  const auto index = find(module, method);
  if (index == kNone || memory_->entries[index].state == wire::ProbeState::kNone) return;
  set_state(index, wire::ProbeState::kRefused, il::Reason::kRefusedByRuntime, why);
}

}  // namespace clrscope::agent
