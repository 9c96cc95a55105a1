// The agent as a whole: the two threads, what is switched on, and how it comes and goes.
//
//   control thread: the socket. Never calls the runtime.
//   worker thread:  every call that changes the runtime or suspends it. Never runs managed code.
//   event threads:  start or stop an event session, then end: the runtime runs managed code there.
//
// A call of the runtime that does not come back keeps the worker only: the control thread reports
// the time-out and does nothing more through the runtime until the call ends. The agent may be
// attached again after it has left: the same library, the same memory.
#pragma once

#include "agent/control.h"
#include "agent/cpu_timer.h"
#include "agent/events.h"
#include "agent/happenings.h"
#include "agent/heap_walk.h"
#include "agent/objects.h"
#include "agent/own_events.h"
#include "agent/recorder.h"
#include "agent/rejit.h"
#include "agent/requests.h"
#include "agent/snapshot.h"
#include "agent/survivors.h"

namespace clrscope::agent {

class Agent {
 public:
  constexpr Agent() = default;

  // From the runtime: an HRESULT. `data` is null when the agent is loaded at the start.
  HResult start(ComObject* runtime, wire::Identity identity, const void* data, std::uint32_t size);
  void attach_completed() { ready_.store(true, std::memory_order_release); }
  void detach_completed();
  void shut_down();

  void exception_thrown(Id object);
  void exception_caught(Id function);
  void event_delivered(const DeliveredEvent& event);
  void unloading(Id owner);
  void module_attached() { rejit_.on_module(); }
  HResult rejit_parameters(Id module, Token method, ComObject* control) {
    return rejit_.on_parameters(runtime_, module, method, control);
  }
  void rejit_error(Id module, Token method, HResult why) { rejit_.on_error(module, method, why); }
  // Calls act(happenings, context) while the source "runtime" is on.
  template <class Act>
  void happened(Act&& act) {
    if ((sources_.load(std::memory_order_acquire) & wire::kSourceRuntime) == 0) return;
    recorder_.enter();
    const auto begin = read_tsc();
    act(happenings_, HappeningContext{runtime_, recorder_});
    recorder_.leave(read_tsc() - begin, wire::Spender::kRuntime);
  }
  void collection_started(const Collected& collected);
  void collection_finished();
  // While the process was started for it: see agent/objects.h.
  template <class Act>
  void count_objects(Act&& act) {
    if (state_.load(std::memory_order_relaxed) == State::kRunning) act(objects_, runtime_);
  }

 private:
  enum class State : std::uint32_t { kAbsent, kRunning, kLeaving };
  enum class Job : std::uint32_t {
    kSetMask,
    kSnapshot,
    kDetach,
    kProbes,
    kProbesRevert,
    kProbesTick,
    kHeap,
    kHeapWrite,
    kObjects
  };
  // Futex words are 32 bits.
  enum WorkerState : std::uint32_t { kIdle, kPosted, kWorking, kFinished };

  bool take_interfaces(ComObject* runtime);
  enum class Thread : std::uint8_t { kControl, kWorker, kEvents };
  bool start_thread(Thread which);
  wire::Outcome perform(Job job, std::uint32_t value, int patience_ms);
  // Gives a job to the worker and does not wait for it.
  wire::Outcome post(Job job, std::uint32_t value);
  wire::Outcome on_probes(wire::RequestKind kind);
  wire::Outcome on_requests(wire::RequestKind kind);
  std::uint8_t status_flags() const;
  HResult run_job(Job job, std::uint32_t value);
  wire::Outcome switch_sources(std::uint32_t sources, std::uint32_t rate);
  wire::Outcome switch_events(std::uint32_t sources);
  void event_thread();
  wire::Outcome on_heap(std::uint32_t options);
  wire::Outcome on_request(const wire::Request& request, bool listens);
  wire::Outcome open_arena();
  void on_listener_gone();
  void on_tick();
  void fill(wire::Status& status) const;
  void control_thread();
  void worker_thread();

  ComObject* runtime_ = nullptr;
  Recorder recorder_;
  Snapshot snapshot_;
  Rejit rejit_;
  CpuTimers cpu_;          // control thread only
  RequestTable requests_;  // likewise
  Survivors survivors_;
  Happenings happenings_;
  OwnEvents own_events_;
  HeapWalk heap_;
  Objects objects_;
  ControlServer control_;
  std::atomic<State> state_{State::kAbsent};
  std::atomic<bool> ready_{false};
  std::atomic<std::uint32_t> sources_{0};
  std::atomic<std::uint32_t> worker_{kIdle};
  std::atomic<HResult> last_refusal_{0};
  Job job_{};
  std::uint32_t job_value_ = 0;
  HResult job_result_ = 0;
  bool listening_ = false;  // control thread only
  // The control thread writes the next two while no event thread runs, event threads the others.
  std::uint32_t events_wanted_ = 0;
  std::uint32_t events_on_ = 0;  // sources of the session that runs
  bool events_heap_ = false;     // the heap is wanted, no session
  std::uint64_t session_ = 0;
  HResult events_result_ = 0;
  std::atomic<std::uint32_t> events_{kIdle};
  std::uint64_t snapshots_ = 0;
  std::uint64_t last_tick_ = 0;
  std::uint64_t build_ = 0;
  long pid_ = 0;  // of the process that started the agent, not of its children
  std::uint16_t major_ = 0;
  std::uint16_t minor_ = 0;
  std::uint8_t info_version_ = 0;
  wire::LoadMode mode_ = wire::LoadMode::kAttached;
  wire::Identity identity_ = wire::Identity::kMain;
};

}  // namespace clrscope::agent
