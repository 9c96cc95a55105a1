// The profiling API as the runtime lays it out: slot numbers of its tables and the few calls we
// use.
//
// Written by hand from the published order of the methods; clr_abi_test.cpp checks the numbers. The
// runtime's objects are tables of function pointers, so a call is a slot and a signature.
#pragma once

#include <cstdint>

namespace clrscope::agent {

using HResult = std::int32_t;
using Id = std::uintptr_t;  // FunctionID, ClassID, ModuleID, ThreadID, ObjectID
using Token = std::uint32_t;

constexpr HResult hresult(std::uint32_t code) { return static_cast<HResult>(code); }
constexpr HResult kOk = 0;
constexpr HResult kFalse = 1;
constexpr HResult kNoInterface = hresult(0x80004002);
constexpr HResult kFail = hresult(0x80004005);
constexpr HResult kClassNotAvailable = hresult(0x80040111);
constexpr HResult kCancelActivation = hresult(0x80131375);
constexpr HResult kUnsupportedRuntime = hresult(0x8013135b);
constexpr HResult kIrreversible = hresult(0x80131370);  // methods were instrumented: no detach

struct Guid {
  std::uint32_t a;
  std::uint16_t b, c;
  std::uint8_t d[8];
};
constexpr bool operator==(const Guid& x, const Guid& y) {
  if (x.a != y.a || x.b != y.b || x.c != y.c) return false;
  for (int i = 0; i < 8; ++i)
    if (x.d[i] != y.d[i]) return false;
  return true;
}

constexpr Guid kUnknownInterface{0, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
constexpr Guid kClassFactoryInterface{1, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
constexpr Guid kInfo12{
    0x27b24ccd, 0x1cb1, 0x47c5, {0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59}};
constexpr Guid kInfo13{
    0x6e6c7ee2, 0x0701, 0x4ec2, {0x9d, 0x29, 0x2e, 0x87, 0x33, 0xb6, 0x69, 0x34}};
constexpr Guid kInfo14{
    0xf460e352, 0xd76d, 0x4fe9, {0x83, 0x5f, 0xf6, 0xaf, 0x9d, 0x6e, 0x86, 0x2d}};
constexpr Guid kInfo15{
    0xb446462d, 0xbd22, 0x41dd, {0x87, 0x2d, 0xdc, 0x71, 0x4c, 0x49, 0xeb, 0x56}};
constexpr Guid kMetadataImport2{
    0xfce5efa0, 0x8bba, 0x4f8e, {0xa0, 0x36, 0x8f, 0x20, 0x22, 0xb0, 0x84, 0x66}};
constexpr Guid kMetadataEmit{
    0xba3fee4c, 0xecb9, 0x4e41, {0x83, 0xb7, 0x18, 0x3f, 0xa4, 0x1c, 0xd8, 0x59}};
constexpr Guid kCallbackInterfaces[] = {
    {0x176fbed1, 0xa55c, 0x4796, {0x98, 0xca, 0xa9, 0xda, 0x0e, 0xf8, 0x83, 0xe7}},
    {0x8a8cc829, 0xccf2, 0x49fe, {0xbb, 0xae, 0x0f, 0x02, 0x22, 0x28, 0x07, 0x1a}},
    {0x4fd2ed52, 0x7731, 0x4b8d, {0x94, 0x69, 0x03, 0xd2, 0xcc, 0x30, 0x86, 0xc5}},
    {0x7b63b2e3, 0x107d, 0x4d48, {0xb2, 0xf6, 0xf6, 0x1e, 0x22, 0x94, 0x70, 0xd2}},
    {0x8dfba405, 0x8c9f, 0x45f8, {0xbf, 0xfa, 0x83, 0xb1, 0x4c, 0xef, 0x78, 0xb5}},
    {0xfc13df4b, 0x4448, 0x4f4f, {0x95, 0x0c, 0xba, 0x8d, 0x19, 0xd0, 0x0c, 0x36}},
    {0xf76a2dba, 0x1d52, 0x4539, {0x86, 0x6c, 0x2a, 0xa5, 0x18, 0xf9, 0xef, 0xc3}},
    {0x5bed9b15, 0xc079, 0x4d47, {0xbf, 0xe2, 0x21, 0x5a, 0x14, 0x0c, 0x07, 0xe0}},
    {0x27583ec3, 0xc8f5, 0x482f, {0x80, 0x52, 0x19, 0x4b, 0x8c, 0xe4, 0x70, 0x5a}},
    {0xcec5b60e, 0xc69c, 0x495f, {0x87, 0xf6, 0x84, 0xd2, 0x8e, 0xe1, 0x6f, 0xfb}},
    {0x42350846, 0xaaed, 0x47f7, {0xb1, 0x28, 0xfd, 0x0c, 0x98, 0x88, 0x1c, 0xde}},
};

// clang-format off: one name per line would make the two lists unreadable
// Every method of ICorProfilerInfo 1 to 15 in the order of its table; kEndN is one past number N.
namespace info {
enum Slot : unsigned {
  kQueryInterface,
  kAddRef,
  kRelease,
  kGetClassFromObject,
  kGetClassFromToken,
  kGetCodeInfo,
  kGetEventMask,
  kGetFunctionFromIP,
  kGetFunctionFromToken,
  kGetHandleFromThread,
  kGetObjectSize,
  kIsArrayClass,
  kGetThreadInfo,
  kGetCurrentThreadID,
  kGetClassIDInfo,
  kGetFunctionInfo,
  kSetEventMask,
  kSetEnterLeaveFunctionHooks,
  kSetFunctionIDMapper,
  kGetTokenAndMetaDataFromFunction,
  kGetModuleInfo,
  kGetModuleMetaData,
  kGetILFunctionBody,
  kGetILFunctionBodyAllocator,
  kSetILFunctionBody,
  kGetAppDomainInfo,
  kGetAssemblyInfo,
  kSetFunctionReJIT,
  kForceGC,
  kSetILInstrumentedCodeMap,
  kGetInprocInspectionInterface,
  kGetInprocInspectionIThisThread,
  kGetThreadContext,
  kBeginInprocDebugging,
  kEndInprocDebugging,
  kGetILToNativeMapping,
  kEnd1,
  kDoStackSnapshot = kEnd1,
  kSetEnterLeaveFunctionHooks2,
  kGetFunctionInfo2,
  kGetStringLayout,
  kGetClassLayout,
  kGetClassIDInfo2,
  kGetCodeInfo2,
  kGetClassFromTokenAndTypeArgs,
  kGetFunctionFromTokenAndTypeArgs,
  kEnumModuleFrozenObjects,
  kGetArrayObjectInfo,
  kGetBoxClassLayout,
  kGetThreadAppDomain,
  kGetRVAStaticAddress,
  kGetAppDomainStaticAddress,
  kGetThreadStaticAddress,
  kGetContextStaticAddress,
  kGetStaticFieldInfo,
  kGetGenerationBounds,
  kGetObjectGeneration,
  kGetNotifiedExceptionClauseInfo,
  kEnd2,
  kEnumJITedFunctions = kEnd2,
  kRequestProfilerDetach,
  kSetFunctionIDMapper2,
  kGetStringLayout2,
  kSetEnterLeaveFunctionHooks3,
  kSetEnterLeaveFunctionHooks3WithInfo,
  kGetFunctionEnter3Info,
  kGetFunctionLeave3Info,
  kGetFunctionTailcall3Info,
  kEnumModules,
  kGetRuntimeInformation,
  kGetThreadStaticAddress2,
  kGetAppDomainsContainingModule,
  kGetModuleInfo2,
  kEnd3,
  kEnumThreads = kEnd3,
  kInitializeCurrentThread,
  kRequestReJIT,
  kRequestRevert,
  kGetCodeInfo3,
  kGetFunctionFromIP2,
  kGetReJITIDs,
  kGetILToNativeMapping2,
  kEnumJITedFunctions2,
  kGetObjectSize2,
  kEnd4,
  kGetEventMask2 = kEnd4,
  kSetEventMask2,
  kEnd5,
  kEnumNgenModuleMethodsInliningThisMethod = kEnd5,
  kEnd6,
  kApplyMetaData = kEnd6,
  kGetInMemorySymbolsLength,
  kReadInMemorySymbols,
  kEnd7,
  kIsFunctionDynamic = kEnd7,
  kGetFunctionFromIP3,
  kGetDynamicFunctionInfo,
  kEnd8,
  kGetNativeCodeStartAddresses = kEnd8,
  kGetILToNativeMapping3,
  kGetCodeInfo4,
  kEnd9,
  kEnumerateObjectReferences = kEnd9,
  kIsFrozenObject,
  kGetLOHObjectSizeThreshold,
  kRequestReJITWithInliners,
  kSuspendRuntime,
  kResumeRuntime,
  kEnd10,
  kGetEnvironmentVariable = kEnd10,
  kSetEnvironmentVariable,
  kEnd11,
  kEventPipeStartSession = kEnd11,
  kEventPipeAddProviderToSession,
  kEventPipeStopSession,
  kEventPipeCreateProvider,
  kEventPipeGetProviderInfo,
  kEventPipeDefineEvent,
  kEventPipeWriteEvent,
  kEnd12,
  kCreateHandle = kEnd12,
  kDestroyHandle,
  kGetObjectIDFromHandle,
  kEnd13,
  kEnumerateNonGCObjects = kEnd13,
  kGetNonGCHeapBounds,
  kEventPipeCreateProvider2,
  kEnd14,
  kEnumerateGCHeapObjects = kEnd14,
  kEnd15,
};
}  // namespace info

// Every method of ICorProfilerCallback 1 to 11, which are ours.
namespace callback {
enum Slot : unsigned {
  kQueryInterface,
  kAddRef,
  kRelease,
  kInitialize,
  kShutdown,
  kAppDomainCreationStarted,
  kAppDomainCreationFinished,
  kAppDomainShutdownStarted,
  kAppDomainShutdownFinished,
  kAssemblyLoadStarted,
  kAssemblyLoadFinished,
  kAssemblyUnloadStarted,
  kAssemblyUnloadFinished,
  kModuleLoadStarted,
  kModuleLoadFinished,
  kModuleUnloadStarted,
  kModuleUnloadFinished,
  kModuleAttachedToAssembly,
  kClassLoadStarted,
  kClassLoadFinished,
  kClassUnloadStarted,
  kClassUnloadFinished,
  kFunctionUnloadStarted,
  kJITCompilationStarted,
  kJITCompilationFinished,
  kJITCachedFunctionSearchStarted,
  kJITCachedFunctionSearchFinished,
  kJITFunctionPitched,
  kJITInlining,
  kThreadCreated,
  kThreadDestroyed,
  kThreadAssignedToOSThread,
  kRemotingClientInvocationStarted,
  kRemotingClientSendingMessage,
  kRemotingClientReceivingReply,
  kRemotingClientInvocationFinished,
  kRemotingServerReceivingMessage,
  kRemotingServerInvocationStarted,
  kRemotingServerInvocationReturned,
  kRemotingServerSendingReply,
  kUnmanagedToManagedTransition,
  kManagedToUnmanagedTransition,
  kRuntimeSuspendStarted,
  kRuntimeSuspendFinished,
  kRuntimeSuspendAborted,
  kRuntimeResumeStarted,
  kRuntimeResumeFinished,
  kRuntimeThreadSuspended,
  kRuntimeThreadResumed,
  kMovedReferences,
  kObjectAllocated,
  kObjectsAllocatedByClass,
  kObjectReferences,
  kRootReferences,
  kExceptionThrown,
  kExceptionSearchFunctionEnter,
  kExceptionSearchFunctionLeave,
  kExceptionSearchFilterEnter,
  kExceptionSearchFilterLeave,
  kExceptionSearchCatcherFound,
  kExceptionOSHandlerEnter,
  kExceptionOSHandlerLeave,
  kExceptionUnwindFunctionEnter,
  kExceptionUnwindFunctionLeave,
  kExceptionUnwindFinallyEnter,
  kExceptionUnwindFinallyLeave,
  kExceptionCatcherEnter,
  kExceptionCatcherLeave,
  kCOMClassicVTableCreated,
  kCOMClassicVTableDestroyed,
  kExceptionCLRCatcherFound,
  kExceptionCLRCatcherExecute,
  kEnd1,
  kThreadNameChanged = kEnd1,
  kGarbageCollectionStarted,
  kSurvivingReferences,
  kGarbageCollectionFinished,
  kFinalizeableObjectQueued,
  kRootReferences2,
  kHandleCreated,
  kHandleDestroyed,
  kEnd2,
  kInitializeForAttach = kEnd2,
  kProfilerAttachComplete,
  kProfilerDetachSucceeded,
  kEnd3,
  kReJITCompilationStarted = kEnd3,
  kGetReJITParameters,
  kReJITCompilationFinished,
  kReJITError,
  kMovedReferences2,
  kSurvivingReferences2,
  kEnd4,
  kConditionalWeakTableElementReferences = kEnd4,
  kEnd5,
  kGetAssemblyReferences = kEnd5,
  kEnd6,
  kModuleInMemorySymbolsUpdated = kEnd6,
  kEnd7,
  kDynamicMethodJITCompilationStarted = kEnd7,
  kDynamicMethodJITCompilationFinished,
  kEnd8,
  kDynamicMethodUnloaded = kEnd8,
  kEnd9,
  kEventPipeEventDelivered = kEnd9,
  kEventPipeProviderCreated,
  kEnd10,
  kLoadAsNotificationOnly = kEnd10,
  kEnd11,
};
}  // namespace callback
// clang-format on

// The slots of IMetaDataImport2 that we call.
namespace metadata {
enum Slot : unsigned {
  kCloseEnum = 3,
  kEnumTypeDefs = 6,
  kGetTypeDefProps = 12,
  kGetTypeRefProps = 14,
  kEnumMethods = 18,
  kEnumMethodsWithName = 19,
  kGetMethodProps = 30,
  kGetMemberRefProps = 31,
  kGetSigFromToken = 41,
  kGetTypeSpecFromToken = 44,
  kEnumCustomAttributes = 53,
  kGetCustomAttributeProps = 54,
  kGetCustomAttributeByName = 60,
  kGetNestedClassProps = 62,
  kGetMethodSpecProps = 67
};
}  // namespace metadata

// Of IMetaDataEmit, ICorProfilerFunctionControl and the enumerators.
namespace emit {
enum Slot : unsigned { kGetTokenFromSig = 23 };
}  // namespace emit
namespace control {
enum Slot : unsigned { kSetILFunctionBody = 4 };
}  // namespace control
namespace enumerator {
enum Slot : unsigned { kNext = 7 };
}  // namespace enumerator

// Event mask, low half.
namespace mask {
constexpr std::uint32_t kClassLoads = 0x2;
constexpr std::uint32_t kModuleLoads = 0x4;
constexpr std::uint32_t kJitCompilation = 0x20;
constexpr std::uint32_t kExceptions = 0x40;
constexpr std::uint32_t kMonitorGc = 0x80;  // from the start only: ends background collections
constexpr std::uint32_t kObjectAllocated = 0x100;
constexpr std::uint32_t kThreads = 0x200;
constexpr std::uint32_t kCodeTransitions = 0x800;  // from the start only
constexpr std::uint32_t kSuspends = 0x1'0000;
constexpr std::uint32_t kEnableReJit = 0x4'0000;
constexpr std::uint32_t kEnableObjectAllocated = 0x80'0000;  // from the start only
constexpr std::uint32_t kStackSnapshot = 0x1000'0000;
constexpr std::uint32_t kHighDynamicUnloads = 0x4;
constexpr std::uint32_t kHighBasicGc = 0x10;
constexpr std::uint32_t kHighEventPipe = 0x80;
}  // namespace mask

using Slot = void (*)();

// An object of the runtime, or one of ours: a pointer to a table comes first.
struct ComObject {
  const Slot* table;
};

#if defined(__clang__)
// Its check of function types does not know that one side sees a base of the other's object.
#define CLR_CALL __attribute__((no_sanitize("function")))
#else
#define CLR_CALL
#endif

template <class... Arguments>
CLR_CALL HResult call(ComObject* object, unsigned slot, Arguments... arguments) {
  using Function = HResult (*)(ComObject*, Arguments...);
  return reinterpret_cast<Function>(object->table[slot])(object, arguments...);
}

inline void release(ComObject* object) { call(object, info::kRelease); }

}  // namespace clrscope::agent
