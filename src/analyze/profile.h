// A profile: samples with their stacks named, ready to be drawn, counted or exported.
//
// Data only; what makes one is profile_builder.h. Owns everything it holds and can be read by many
// threads at once. Stacks are kept as a tree, since most of them share their beginnings: a stack is
// its leaf's node, and walking the parents goes from the leaf to the root.
//
//   for (const Sample& sample : profile.samples)                  // all threads, by time
//     for (StackNodeId at = sample.stack; at != kNoStack; at = profile.node(at).parent)
//       use(profile.frame(profile.node(at).frame).method);        // leaf first
//   for (const ProfileThread& thread : profile.threads)
//     for (const std::uint32_t i : thread.samples) use(profile.samples[i]);   // one thread, by
//     time
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/ids.h"

namespace clrscope::analyze {

enum class FrameId : std::uint32_t {};      // index into Profile::frames
enum class StackNodeId : std::uint32_t {};  // index into Profile::stacks
constexpr StackNodeId kNoStack{0};          // node 0 is the empty stack, the parent of every root

// Whose code a frame is. The order and the texts are a contract with the exports and the pages.
enum class FrameKind : std::uint8_t {
  kUnknown,    // an address that nothing in the trace names
  kManaged,    // of the application: jitted or precompiled
  kFramework,  // managed, in a module of the .NET runtime or ASP.NET
  kDynamic,    // managed, made at run time, in no module
  kNative,
  kKernel,
  kRuntime,  // native, of .NET itself: execution engine, host, libraries
  kGc,       // native: the collector
  kJit,      // native: the compiler
};
constexpr std::size_t kFrameKinds = 9;
std::string_view to_string(FrameKind kind);  // "unknown", "managed", "framework", …
std::span<const std::string_view> names_of(FrameKind);

struct Frame {
  std::string method;    // "Shop.Cart.Add(System.Int32)"; "0x7f00…" or "?" when unknown
  std::string module{};  // "Shop.dll" without ".dll": "Shop"; empty when unknown or dynamic
  FrameKind kind = FrameKind::kUnknown;
  std::string file{};      // where the source is known and was asked for: "/src/Shop/Cart.cs"
  std::uint32_t line = 0;  // 0: not known

  friend bool operator==(const Frame&, const Frame&) = default;
};

// A compiled expression: the application's, though what it calls is not known.
bool is_unnamed_lambda(const Frame& frame);

// "Cart.cs:22"; empty when the line is not known.
std::string place_text(const Frame& frame);

// A frame and the stack below it, towards the root.
struct StackNode {
  StackNodeId parent = kNoStack;
  FrameId frame{};
};

// What the thread did when it was sampled, as far as the source knows. The runtime's own sampler
// cannot see whether a thread is on a processor: it knows only whether the thread was in managed
// code (kRunning) or had left it (kWaiting: usually blocked or in a system call, but perhaps
// computing in native code). That of .NET 9 does not even know that: there the state is judged by
// the method on top of the stack.
enum class ThreadState : std::uint8_t { kUnknown, kRunning, kWaiting };
std::string_view to_string(ThreadState state);  // "unknown", "running", "waiting"

struct Sample {
  TraceTime time{};
  // What the sample stands for. Sampler: the time to the thread's next sample (the last one of a
  // thread: its usual distance). perf: the period.
  std::chrono::nanoseconds weight{};
  std::uint32_t thread = 0;  // index into Profile::threads
  StackNodeId stack = kNoStack;
  ThreadState state = ThreadState::kUnknown;
};

struct ProfileThread {
  ProcessId process{};
  ThreadId thread{};
  std::string name{};                    // empty when the trace does not say
  std::vector<std::uint32_t> samples{};  // indices into Profile::samples, by time
};

struct ProfileProcess {
  ProcessId process{};
  std::string name{};  // empty when the trace does not say
};

struct Profile {
  WallTime start{};               // the wall clock at `from`
  TraceTime from{};               // the trace's beginning
  TraceTime to{};                 // its last event
  std::vector<Frame> frames;      // each once; equal method, module and kind are one frame
  std::vector<StackNode> stacks;  // a parent stands before its children; [0] is the empty stack
  std::vector<Sample> samples;    // by time
  std::vector<ProfileThread> threads;
  std::vector<ProfileProcess> processes;
  bool by_kernel = false;  // who took the samples: the kernel, or the runtime
  std::uint64_t lost = 0;  // events that the recorder dropped: some may have been samples

  const Frame& frame(FrameId id) const { return frames[static_cast<std::size_t>(id)]; }
  const StackNode& node(StackNodeId id) const { return stacks[static_cast<std::size_t>(id)]; }

  // The frames of a stack, root first, into `out`.
  void frames_of(StackNodeId stack, std::vector<FrameId>& out) const;
};

}  // namespace clrscope::analyze
