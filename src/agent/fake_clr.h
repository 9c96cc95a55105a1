// A runtime for tests of the agent: the tables of the profiling API with functions of ours.
//
// Functions have the ids 0x1000 + n (and the name "MethodN"), types 0x2000 + n, all in one module.
#pragma once

#include <atomic>
#include <string>

#include "agent/clr_abi.h"
#include "wire/control.h"

extern "C" std::int32_t DllGetClassObject(const void* class_id, const void* id, void** answer);

namespace clrscope::agent {

struct FakeClr {
  static inline std::atomic<std::uint32_t> mask{0};
  static inline std::atomic<std::uint32_t> suspensions{0};
  static inline std::atomic<bool> hang{false};  // SuspendRuntime does not return while true
  static inline std::atomic<HResult> mask_answer{kOk};
  static inline std::atomic<HResult> detach_answer{kOk};
  static inline std::atomic<std::uint32_t> depth{3};  // frames of every stack
  static inline std::atomic<std::uint32_t> named{0};  // questions for names

  static inline std::atomic<std::uint64_t> keywords{0};  // of the session that runs

  static constexpr Id kModule = 0x77;

  FakeClr() {
    if (object_.table) return;  // threads of an earlier test may still read them
    for (auto& slot : table_) slot = reinterpret_cast<Slot>(&not_implemented);
    for (auto& slot : metadata_table_) slot = reinterpret_cast<Slot>(&not_implemented);
    set(info::kQueryInterface, &query);
    set(info::kAddRef, &one);
    set(info::kRelease, &one);
    set(info::kSetEventMask2, &set_mask);
    set(info::kGetRuntimeInformation, &runtime_information);
    set(info::kGetClassFromObject, &class_from_object);
    set(info::kDoStackSnapshot, &walk);
    set(info::kIsFunctionDynamic, &is_dynamic);
    set(info::kGetFunctionInfo2, &function_info);
    set(info::kGetClassIDInfo2, &class_info);
    set(info::kGetModuleMetaData, &open_metadata);
    set(info::kRequestProfilerDetach, &request_detach);
    set(info::kSuspendRuntime, &suspend);
    set(info::kResumeRuntime, &resume);
    set(info::kEnumThreads, &enum_threads);
    set(info::kEventPipeStartSession, &start_session);
    set(info::kEventPipeStopSession, &stop_session);
    set(info::kGetThreadInfo, &thread_info);
    metadata_table_[2] = reinterpret_cast<Slot>(&one);
    metadata_table_[metadata::kGetTypeDefProps] = reinterpret_cast<Slot>(&type_props);
    metadata_table_[metadata::kGetMethodProps] = reinterpret_cast<Slot>(&method_props);
    threads_table_[2] = reinterpret_cast<Slot>(&one);
    threads_table_[7] = reinterpret_cast<Slot>(&next_thread);
    object_.table = table_;
    metadata_.table = metadata_table_;
    threads_.table = threads_table_;
  }

  ComObject* object() { return &object_; }

  // The agent's callbacks, as the runtime gets them.
  static ComObject* load(const std::uint8_t (&class_id)[16]) {
    ComObject* factory = nullptr;
    if (DllGetClassObject(class_id, &kClassFactoryInterface, reinterpret_cast<void**>(&factory)) !=
        kOk)
      return nullptr;
    ComObject* callbacks = nullptr;
    call(factory, 3U, static_cast<ComObject*>(nullptr), &kCallbackInterfaces[10], &callbacks);
    return callbacks;
  }

 private:
  template <class Function>
  void set(unsigned slot, Function* function) {
    table_[slot] = reinterpret_cast<Slot>(function);
  }
  static HResult not_implemented() { return hresult(0x80004001); }
  static std::uint32_t one(ComObject*) { return 1; }
  static HResult query(ComObject* self, const Guid* id, ComObject** answer) {
    const bool known = *id == kInfo14 || *id == kInfo13 || *id == kInfo12;
    *answer = known ? self : nullptr;
    return known ? kOk : kNoInterface;
  }
  static HResult set_mask(ComObject*, std::uint32_t low, std::uint32_t) {
    if (mask_answer < 0) return mask_answer;
    mask = low;
    return kOk;
  }
  static HResult runtime_information(ComObject*, std::uint16_t*, std::uint32_t*,
                                     std::uint16_t* major, std::uint16_t* minor, std::uint16_t*,
                                     std::uint16_t*, std::uint32_t, std::uint32_t*, char16_t*) {
    *major = 8;
    *minor = 0;
    return kOk;
  }
  static HResult class_from_object(ComObject*, Id object, Id* type) {
    *type = 0x2000 + object;
    return kOk;
  }
  using OnFrame = HResult (*)(Id, Id, Id, std::uint32_t, std::uint8_t*, void*);
  static HResult walk(ComObject*, Id, OnFrame on_frame, std::uint32_t, void* data, std::uint8_t*,
                      std::uint32_t) {
    for (std::uint32_t i = 0; i < depth; ++i)
      if (on_frame(0x1000 + i, 0, 0, 0, nullptr, data) != kOk) return hresult(0x8013135f);
    return kOk;
  }
  static HResult is_dynamic(ComObject*, Id, std::int32_t* answer) {
    *answer = 0;
    return kOk;
  }
  static HResult function_info(ComObject*, Id function, Id, Id*, Id* module, Token* token,
                               std::uint32_t, std::uint32_t*, Id*) {
    ++named;
    *module = kModule;
    *token = static_cast<Token>(0x0600'0000 + (function & 0xfff));
    return kOk;
  }
  static HResult class_info(ComObject*, Id type, Id* module, Token* token, Id*, std::uint32_t,
                            std::uint32_t*, Id*) {
    *module = kModule;
    *token = static_cast<Token>(0x0200'0000 + (type & 0xfff));
    return kOk;
  }
  static HResult open_metadata(ComObject*, Id, std::uint32_t, const Guid*, ComObject** answer) {
    *answer = &metadata_;
    return kOk;
  }
  static void put(const std::string& text, char16_t* to, std::uint32_t room, std::uint32_t* size) {
    for (std::size_t i = 0; i < text.size() && i + 1 < room; ++i) {
      to[i] = static_cast<char16_t>(text[i]);
      to[i + 1] = 0;
    }
    *size = static_cast<std::uint32_t>(text.size() + 1);
  }
  static HResult type_props(ComObject*, Token token, char16_t* name, std::uint32_t room,
                            std::uint32_t* size, std::uint32_t*, Token*) {
    return put("Shop.Type" + std::to_string(token & 0xfff), name, room, size), kOk;
  }
  static HResult method_props(ComObject*, Token token, Token* owner, char16_t* name,
                              std::uint32_t room, std::uint32_t* size, std::uint32_t*,
                              const std::uint8_t**, std::uint32_t*, std::uint32_t*,
                              std::uint32_t*) {
    *owner = 0x0200'0009;
    return put("Method" + std::to_string(token & 0xfff), name, room, size), kOk;
  }
  static HResult request_detach(ComObject*, std::uint32_t) { return detach_answer; }
  static HResult suspend(ComObject*) {
    if (++suspensions % 3 == 0) return hresult(0x80131388);  // a collection is suspending
    while (hang) hang.wait(true);
    return kOk;
  }
  static HResult resume(ComObject*) { return kOk; }
  static HResult start_session(ComObject*, std::uint32_t, const std::uint64_t* config, std::int32_t,
                               std::uint64_t* session) {
    keywords = config[1];  // name, keywords, level, filter
    *session = 99;
    return kOk;
  }
  static HResult stop_session(ComObject*, std::uint64_t session) {
    if (session != 99) return kFail;
    keywords = 0;
    return kOk;
  }
  static HResult enum_threads(ComObject*, ComObject** answer) {
    next_ = 0;
    *answer = &threads_;
    return kOk;
  }
  static HResult next_thread(ComObject*, std::uint32_t, Id* thread, std::uint32_t* fetched) {
    *fetched = next_ < 5 ? 1 : 0;
    *thread = 0x3000 + next_++;
    return *fetched == 1 ? kOk : kFalse;
  }
  static HResult thread_info(ComObject*, Id thread, std::uint32_t* os_id) {
    *os_id = static_cast<std::uint32_t>(thread - 0x3000 + 500);
    return kOk;
  }

  static inline Slot table_[info::kEnd15];
  static inline Slot metadata_table_[70];
  static inline Slot threads_table_[8];
  static inline ComObject object_{};
  static inline ComObject metadata_{};
  static inline ComObject threads_{};
  static inline std::uint32_t next_ = 0;
};

}  // namespace clrscope::agent
