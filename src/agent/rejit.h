// Instruments methods of the running process and gives them their own code back.
//
// The worker thread chooses methods and asks the runtime to compile them again; the runtime then
// asks for the new code on the thread that calls such a method next. If it asks for
// the code of a method that had inlined one of them, that method keeps its own and is reverted too.
// Once used, the runtime does not let the agent leave any more.
#pragma once

#include "agent/clr_abi.h"
#include "agent/method_filter.h"
#include "agent/name_text.h"
#include "agent/probes.h"
#include "agent/requests.h"
#include "agent/syscalls.h"
#include "il/rewrite.h"

namespace clrscope::agent {

class Rejit {
 public:
  constexpr Rejit() = default;

  bool open();
  int fd() const { return probes_.fd(); }
  wire::Probes* shared() { return probes_.shared(); }

  // --- control thread ---
  // Before apply() or revert() is given to the worker.
  void announce();
  // The listener is gone: counts no more, and a running apply() ends soon.
  void cancel();
  bool is_enabled() const { return enabled_.load(std::memory_order_acquire); }
  bool is_active() const { return active_.load(std::memory_order_acquire); }
  // All methods have been asked for.
  bool is_applied() const { return applied_.load(std::memory_order_acquire); }
  std::uint32_t mask() const { return is_enabled() ? mask::kEnableReJit : 0; }

  // --- worker thread ---
  HResult apply(ComObject* runtime);
  HResult revert(ComObject* runtime);
  // Ten times a second: modules that were loaded since, and methods that cost too much.
  void tick(ComObject* runtime, std::uint64_t now_ns);

  // --- callbacks ---
  HResult on_parameters(ComObject* runtime, Id module, Token method, ComObject* control);
  void on_error(Id module, Token method, HResult why);
  void on_module() { modules_changed_.store(true, std::memory_order_release); }

 private:
  static constexpr std::uint32_t kMostModules = 4096;
  static constexpr std::uint32_t kBatch = 256;
  static constexpr std::uint32_t kBuckets = wire::kProbeMethods * 2;
  static constexpr std::uint32_t kMostCode = 256 << 10;
  static constexpr std::uint32_t kMostNewCode = 2 << 20;
  static constexpr std::uint32_t kMostLocalBytes = 64 << 10;
  static constexpr std::uint32_t kMostCoreMethods = 128 << 10;
  static constexpr std::uint32_t kNone = 0xffff'ffff;

  struct Entry {
    Id module;
    Token token;
    std::uint32_t locals;  // token of its new local signature; 0: not made yet
    std::uint32_t counter;
    wire::ProbeState state;
    bool is_inliner;  // not chosen: its code stays as it is
    bool is_named;
    bool is_pending;     // chosen, not asked for yet
    std::uint64_t seen;  // calls at the last tick
  };
  struct Module {
    Id id;
    // Tokens of the probes' signatures; 0: not made yet.
    std::uint32_t enter, leave, enter_step, leave_step, fault, queued;
    bool is_open;  // its metadata, for writing: before, it takes no new code
  };
  // Mapped once; stays.
  struct Memory {
    Entry entries[wire::kProbeMethods];
    std::uint32_t buckets[kBuckets];  // number of an entry + 1
    std::uint32_t counter_entries[wire::kProbeCounters];
    Module modules[kMostModules];
    wire::ProbeOrder order;
    std::uint32_t map[kMostCode + 1];
    std::uint32_t scan_map[kMostCode + 1];
    std::uint8_t code[kMostNewCode];
    std::uint8_t locals[kMostLocalBytes];
    struct {
      Id id;
      HResult result;
    } to_open[kMostModules];  // worker thread only
    // Of the core library, likewise.
    bool in_helper[kMostCoreMethods];
    Token helpers[kMostCoreMethods];
  };
  // Around the table of methods. Held for microseconds, by threads that are not in managed code.
  class Lock {
   public:
    explicit Lock(std::atomic<std::uint32_t>& word) : word_(word) {
      while (word_.exchange(1, std::memory_order_acquire) != 0) syscall_raw(number::kSchedYield);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    ~Lock() { word_.store(0, std::memory_order_release); }

   private:
    std::atomic<std::uint32_t>& word_;
  };
  struct Batch {
    Id modules[kBatch];
    Token tokens[kBatch];
    HResult answers[kBatch];
    std::uint32_t entries[kBatch];
    std::uint32_t count = 0;
  };

  std::uint32_t find(Id module, Token token) const;
  std::uint32_t find_or_add(Id module, Token token);
  std::uint32_t name_entry(std::uint32_t index, const char* name, std::uint32_t size);
  void set_state(std::uint32_t index, wire::ProbeState state, il::Reason reason = il::Reason::kNone,
                 HResult why = kOk);
  void forget_last();
  HResult enable(ComObject* runtime);

  void scan_modules(ComObject* runtime);
  void scan_module(ComObject* runtime, Id module);
  void scan_type(ComObject* runtime, ComObject* metadata, Id module, Token type);
  void consider(ComObject* runtime, ComObject* metadata, Id module, Token method, bool intrinsic,
                Text& name);
  il::Reason examine(ComObject* runtime, ComObject* metadata, Id module, Token method,
                     bool& skipped, std::uint32_t& il_bytes);
  static bool is_core_library(const char16_t* path, std::uint32_t size);
  void find_helpers(ComObject* runtime, ComObject* metadata, Id module);
  bool is_in_helper(Id module, Token method) const;
  bool chooses(const Text& name, MethodFilter::Marks marks) const;
  static bool is_queue(const Text& name);
  void open_modules(ComObject* runtime);
  void open_suspended(ComObject* runtime, std::uint32_t count);
  HResult result_of_opening(Id module) const;
  void request_pending(ComObject* runtime);
  void request(ComObject* runtime, Batch& batch);
  void give_back(ComObject* runtime, Batch& batch);
  void guard(ComObject* runtime, std::uint64_t now_ns);

  il::Reason instrument(ComObject* runtime, Entry& entry, ComObject* control, HResult& why);
  bool for_requests() const { return (memory_->order.flags & wire::kForRequests) != 0; }
  Module* module_of(Id id);

  ProbeTable probes_;
  Memory* memory_ = nullptr;
  MethodFilter filter_;
  std::atomic<std::uint32_t> lock_{0};
  std::atomic<bool> enabled_{false};
  std::atomic<bool> active_{false};
  std::atomic<bool> applied_{false};
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> modules_changed_{false};
  Id core_library_ = 0;
  Id helpers_of_ = 0;  // the core library, when they have been found
  std::uint32_t queue_entry_ = kNone;
  std::uint32_t entry_count_ = 0;
  std::uint32_t counter_count_ = 0;
  std::uint32_t module_count_ = 0;
  std::uint32_t scanned_ = 0;  // modules of this order; they are the first ones
  std::uint32_t text_used_ = 0;
  std::uint64_t last_guard_ns_ = 0;
};

}  // namespace clrscope::agent
