// The library's two exports and the tables that the runtime calls. Every function here is thin.
#include "agent/agent.h"

namespace clrscope::agent {
namespace {

constinit Agent g_agent;

struct Callbacks : ComObject {
  wire::Identity identity;
};

Slot g_callback_table[callback::kEnd11];
Slot g_factory_table[5];
constinit Callbacks g_main{{g_callback_table}, wire::Identity::kMain};
constinit Callbacks g_notification{{g_callback_table}, wire::Identity::kNotificationOnly};
struct Factory : ComObject {
  Callbacks* product;
};
constinit Factory g_main_factory{{g_factory_table}, &g_main};
constinit Factory g_notification_factory{{g_factory_table}, &g_notification};

HResult Ignore() { return kOk; }
std::uint32_t CountReference(ComObject*) { return 1; }

HResult Query(ComObject* self, const Guid* id, ComObject** answer) {
  bool known = *id == kUnknownInterface;
  for (const auto& one : kCallbackInterfaces) known = known || *id == one;
  *answer = known ? self : nullptr;
  return known ? kOk : kNoInterface;
}

HResult QueryFactory(ComObject* self, const Guid* id, ComObject** answer) {
  const bool known = *id == kUnknownInterface || *id == kClassFactoryInterface;
  *answer = known ? self : nullptr;
  return known ? kOk : kNoInterface;
}

HResult CreateInstance(Factory* self, ComObject* outer, const Guid* id, ComObject** answer) {
  *answer = nullptr;
  return outer ? kNoInterface : Query(self->product, id, answer);
}

HResult LoadAsNotificationOnly(Callbacks* self, std::int32_t* answer) {
  *answer = self->identity == wire::Identity::kNotificationOnly ? 1 : 0;
  return kOk;
}
HResult Initialize(Callbacks* self, ComObject* runtime) {
  return g_agent.start(runtime, self->identity, nullptr, 0);
}
HResult InitializeForAttach(Callbacks* self, ComObject* runtime, const void* data,
                            std::uint32_t size) {
  // Without client data it is not one that clrscope attached.
  return data ? g_agent.start(runtime, self->identity, data, size) : kCancelActivation;
}
HResult ProfilerAttachComplete(Callbacks*) { return g_agent.attach_completed(), kOk; }
HResult ProfilerDetachSucceeded(Callbacks*) { return g_agent.detach_completed(), kOk; }
HResult Shutdown(Callbacks*) { return g_agent.shut_down(), kOk; }
HResult ExceptionThrown(Callbacks*, Id object) { return g_agent.exception_thrown(object), kOk; }
HResult ExceptionCatcherEnter(Callbacks*, Id function, Id) {
  return g_agent.exception_caught(function), kOk;
}
HResult EventPipeEventDelivered(Callbacks*, Id, std::uint32_t id, std::uint32_t version,
                                std::uint32_t, const std::uint8_t*, std::uint32_t size,
                                const std::uint8_t* payload, const Guid*, const Guid*, Id,
                                std::uint32_t, const Id*) {
  return g_agent.event_delivered({id, version, payload, size}), kOk;
}
HResult ObjectAllocated(Callbacks*, Id object, Id type) {
  g_agent.count_objects([&](Objects& all, ComObject* in) { all.allocated(in, object, type); });
  return kOk;
}
HResult MovedReferences2(Callbacks*, std::uint32_t count, const Id* from, const Id* to,
                         const std::size_t* bytes) {
  g_agent.count_objects([&](Objects& all, ComObject*) { all.moved(count, from, to, bytes); });
  return kOk;
}
// Comes with moved references, of every object after a collection: a failure ends that walk.
HResult ObjectReferences(Callbacks*, Id, Id, std::uint32_t, const Id*) { return kFail; }
constexpr std::uint32_t kTransitionCall = 0;  // not a return
HResult ManagedToUnmanagedTransition(Callbacks*, Id function, std::uint32_t reason) {
  if (reason == kTransitionCall)
    g_agent.count_objects([&](Objects& all, ComObject*) { all.called_native(function); });
  return kOk;
}
HResult UnmanagedToManagedTransition(Callbacks*, Id function, std::uint32_t reason) {
  if (reason == kTransitionCall)
    g_agent.count_objects([&](Objects& all, ComObject*) { all.called_managed(function); });
  return kOk;
}
HResult ModuleAttachedToAssembly(Callbacks*, Id, Id) { return g_agent.module_attached(), kOk; }
HResult GetReJITParameters(Callbacks*, Id module, Token method, ComObject* control) {
  return g_agent.rejit_parameters(module, method, control);
}
HResult ReJITError(Callbacks*, Id module, Token method, Id, HResult why) {
  return g_agent.rejit_error(module, method, why), kOk;
}
HResult GarbageCollectionStarted(Callbacks*, std::int32_t count, const std::int32_t* generations,
                                 std::uint32_t reason) {
  g_agent.happened([&](Happenings& all, const HappeningContext& in) {
    all.collection_started(in, {generations, count}, reason);
  });
  return g_agent.collection_started({generations, count}), kOk;
}
HResult GarbageCollectionFinished(Callbacks*) { return g_agent.collection_finished(), kOk; }
HResult RuntimeSuspendStarted(Callbacks*, std::uint32_t reason) {
  g_agent.happened([&](Happenings& all, const auto&) { all.suspend_started(reason); });
  return kOk;
}
HResult RuntimeSuspendFinished(Callbacks*) {
  g_agent.happened([](Happenings& all, const auto&) { all.suspend_finished(); });
  return kOk;
}
HResult RuntimeSuspendAborted(Callbacks*) {
  g_agent.happened([](Happenings& all, const auto&) { all.suspend_aborted(); });
  return kOk;
}
HResult RuntimeResumeFinished(Callbacks*) {
  g_agent.happened([](Happenings& all, const auto& in) { all.resume_finished(in); });
  return kOk;
}
HResult ThreadCreated(Callbacks*, Id thread) {
  g_agent.happened([&](Happenings& all, const auto& in) { all.thread_started(in, thread); });
  return kOk;
}
HResult ThreadDestroyed(Callbacks*, Id thread) {
  g_agent.happened([&](Happenings& all, const auto& in) { all.thread_ended(in, thread); });
  return kOk;
}
HResult ThreadNameChanged(Callbacks*, Id thread, std::uint32_t count, const char16_t* name) {
  g_agent.happened(
      [&](Happenings& all, const auto& in) { all.thread_named(in, thread, name, count); });
  return kOk;
}
HResult ModuleLoadFinished(Callbacks*, Id module, HResult result) {
  g_agent.happened([&](Happenings& all, const auto& in) { all.module_loaded(in, module, result); });
  return kOk;
}
HResult ClassLoadFinished(Callbacks*, Id, HResult result) {
  g_agent.happened([&](Happenings& all, const auto& in) { all.class_loaded(in, result); });
  return kOk;
}
// Of dynamic methods too: the arguments behind these differ and are not used.
HResult JITCompilationStarted(Callbacks*, Id function) {
  g_agent.happened([&](Happenings& all, const auto&) { all.compile_started(function); });
  return kOk;
}
HResult JITCompilationFinished(Callbacks*, Id function, HResult result) {
  g_agent.happened(
      [&](Happenings& all, const auto& in) { all.compile_finished(in, function, result); });
  return kOk;
}
HResult ReJITCompilationFinished(Callbacks*, Id function, Id, HResult result) {
  return JITCompilationFinished(nullptr, function, result);
}
HResult ModuleUnloadStarted(Callbacks*, Id module) { return g_agent.unloading(module), kOk; }
HResult DynamicMethodUnloaded(Callbacks*, Id function) { return g_agent.unloading(function), kOk; }

template <class Function>
Slot as_slot(Function* function) {
  return reinterpret_cast<Slot>(function);
}

bool is_class(const void* id, const std::uint8_t (&known)[16]) {
  for (unsigned i = 0; i < sizeof known; ++i)
    if (static_cast<const std::uint8_t*>(id)[i] != known[i]) return false;
  return true;
}

// The same values each time: may run twice at once.
void fill_tables() {
  for (auto& slot : g_callback_table) slot = as_slot(&Ignore);
  auto* table = g_callback_table;
  table[callback::kQueryInterface] = as_slot(&Query);
  table[callback::kAddRef] = table[callback::kRelease] = as_slot(&CountReference);
  table[callback::kInitialize] = as_slot(&Initialize);
  table[callback::kShutdown] = as_slot(&Shutdown);
  table[callback::kInitializeForAttach] = as_slot(&InitializeForAttach);
  table[callback::kProfilerAttachComplete] = as_slot(&ProfilerAttachComplete);
  table[callback::kProfilerDetachSucceeded] = as_slot(&ProfilerDetachSucceeded);
  table[callback::kLoadAsNotificationOnly] = as_slot(&LoadAsNotificationOnly);
  table[callback::kExceptionThrown] = as_slot(&ExceptionThrown);
  table[callback::kExceptionCatcherEnter] = as_slot(&ExceptionCatcherEnter);
  table[callback::kEventPipeEventDelivered] = as_slot(&EventPipeEventDelivered);
  table[callback::kModuleAttachedToAssembly] = as_slot(&ModuleAttachedToAssembly);
  table[callback::kGetReJITParameters] = as_slot(&GetReJITParameters);
  table[callback::kReJITError] = as_slot(&ReJITError);
  table[callback::kGarbageCollectionStarted] = as_slot(&GarbageCollectionStarted);
  table[callback::kGarbageCollectionFinished] = as_slot(&GarbageCollectionFinished);
  table[callback::kRuntimeSuspendStarted] = as_slot(&RuntimeSuspendStarted);
  table[callback::kRuntimeSuspendFinished] = as_slot(&RuntimeSuspendFinished);
  table[callback::kRuntimeSuspendAborted] = as_slot(&RuntimeSuspendAborted);
  table[callback::kRuntimeResumeFinished] = as_slot(&RuntimeResumeFinished);
  table[callback::kThreadCreated] = as_slot(&ThreadCreated);
  table[callback::kThreadDestroyed] = as_slot(&ThreadDestroyed);
  table[callback::kThreadNameChanged] = as_slot(&ThreadNameChanged);
  table[callback::kModuleLoadFinished] = as_slot(&ModuleLoadFinished);
  table[callback::kClassLoadFinished] = as_slot(&ClassLoadFinished);
  table[callback::kJITCompilationStarted] = as_slot(&JITCompilationStarted);
  table[callback::kJITCompilationFinished] = as_slot(&JITCompilationFinished);
  table[callback::kObjectAllocated] = as_slot(&ObjectAllocated);
  table[callback::kMovedReferences2] = as_slot(&MovedReferences2);
  table[callback::kObjectReferences] = as_slot(&ObjectReferences);
  table[callback::kManagedToUnmanagedTransition] = as_slot(&ManagedToUnmanagedTransition);
  table[callback::kUnmanagedToManagedTransition] = as_slot(&UnmanagedToManagedTransition);
  table[callback::kReJITCompilationStarted] = as_slot(&JITCompilationStarted);
  table[callback::kReJITCompilationFinished] = as_slot(&ReJITCompilationFinished);
  table[callback::kDynamicMethodJITCompilationStarted] = as_slot(&JITCompilationStarted);
  table[callback::kDynamicMethodJITCompilationFinished] = as_slot(&JITCompilationFinished);
  table[callback::kModuleUnloadStarted] = as_slot(&ModuleUnloadStarted);
  table[callback::kDynamicMethodUnloaded] = as_slot(&DynamicMethodUnloaded);
  g_factory_table[0] = as_slot(&QueryFactory);
  g_factory_table[1] = g_factory_table[2] = as_slot(&CountReference);
  g_factory_table[3] = as_slot(&CreateInstance);
  g_factory_table[4] = as_slot(&Ignore);
}

}  // namespace
}  // namespace clrscope::agent

#define EXPORTED extern "C" __attribute__((visibility("default")))

EXPORTED std::int32_t DllGetClassObject(const void* class_id, const void* id, void** answer);
EXPORTED std::int32_t DllCanUnloadNow();

std::int32_t DllGetClassObject(const void* class_id, const void* id, void** answer) {
  using namespace clrscope::agent;
  *answer = nullptr;
  ComObject* factory = nullptr;
  if (is_class(class_id, clrscope::wire::kMainClass)) factory = &g_main_factory;
  if (is_class(class_id, clrscope::wire::kNotificationClass)) factory = &g_notification_factory;
  if (!factory) return kClassNotAvailable;
  static std::atomic<bool> filled{false};
  if (!filled.load(std::memory_order_acquire)) {
    fill_tables();
    filled.store(true, std::memory_order_release);
  }
  return QueryFactory(factory, static_cast<const Guid*>(id), reinterpret_cast<ComObject**>(answer));
}

std::int32_t DllCanUnloadNow() { return clrscope::agent::kFalse; }
