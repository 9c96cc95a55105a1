#include "agent/happenings.h"

#include "agent/names.h"
#include "agent/stack.h"
#include "agent/syscalls.h"
#include "wire/happenings.h"

namespace clrscope::agent {
namespace {

constexpr std::int32_t kOldestGeneration = 2;
constexpr std::uint32_t kInduced = 1;  // COR_PRF_GC_INDUCED
constexpr std::uint32_t kLongestPath = 512;

// Compilations that run on this thread: one may need another one to end first.
struct Compilations {
  struct One {
    Id function;
    std::uint64_t time;
  };
  static constexpr unsigned kMost = 16;
  One running[kMost];
  unsigned count;
};
thread_local constinit Compilations t_compilations{};

wire::RecordHeader header_of(wire::RecordKind kind, std::uint64_t time) {
  return {.kind = kind, .bytes = 0, .thread = this_thread(), .time = time};
}

// Text as words behind a record.
struct Words {
  explicit Words(const Text& text) {
    bytes = text.size() < wire::kLongestText ? text.size() : wire::kLongestText;
    count = (bytes + 3) / 4;
    if (count > 0) words[count - 1] = 0;
    __builtin_memcpy(words, text.data(), bytes);
  }
  std::uint32_t words[wire::kMostFrames];
  std::uint32_t bytes;
  std::uint32_t count;
};

void write_thread(const HappeningContext& in, wire::RecordKind kind, Id thread, const Text& name) {
  const Words words{name};
  in.recorder.write(wire::ThreadChange{.header = header_of(kind, read_tsc()),
                                       .id = thread,
                                       .name_bytes = words.bytes,
                                       .frames = words.count},
                    words.words, words.count);
}

}  // namespace

void Happenings::reset() { suspend_aborted(); }

void Happenings::collection_started(const HappeningContext& in, const Collected& collected,
                                    std::uint32_t reason) {
  std::uint32_t oldest = 0;
  for (std::int32_t i = 0; i <= kOldestGeneration && i < collected.count; ++i)
    if (collected.generations[i] != 0) oldest = static_cast<std::uint32_t>(i);
  in.recorder.count(wire::Happening::kCollections);
  in.recorder.write(wire::GcStarted{.header = header_of(wire::RecordKind::kGcStarted, read_tsc()),
                                    .generation = oldest,
                                    .induced = reason == kInduced ? 1U : 0U});
}

void Happenings::suspend_started(std::uint32_t reason) {
  reason_.store(reason, std::memory_order_relaxed);
  stop_ended_.store(0, std::memory_order_relaxed);
  stop_began_.store(read_tsc(), std::memory_order_release);
}

void Happenings::suspend_finished() { stop_ended_.store(read_tsc(), std::memory_order_release); }

void Happenings::suspend_aborted() {
  stop_began_.store(0, std::memory_order_relaxed);
  stop_ended_.store(0, std::memory_order_release);
}

void Happenings::resume_finished(const HappeningContext& in) {
  const auto ended = stop_ended_.exchange(0, std::memory_order_acq_rel);
  const auto began = stop_began_.exchange(0, std::memory_order_acq_rel);
  if (began == 0 || ended < began) return;
  in.recorder.count(wire::Happening::kSuspensions);
  in.recorder.write(wire::Suspension{.header = header_of(wire::RecordKind::kSuspension, began),
                                     .ticks = read_tsc() - began,
                                     .stop_ticks = ended - began,
                                     .reason = reason_.load(std::memory_order_relaxed),
                                     .reserved = 0});
}

void Happenings::thread_started(const HappeningContext& in, Id thread) {
  in.recorder.count(wire::Happening::kThreadsStarted);
  write_thread(in, wire::RecordKind::kThreadStarted, thread, Text{});
}

void Happenings::thread_ended(const HappeningContext& in, Id thread) {
  in.recorder.count(wire::Happening::kThreadsEnded);
  write_thread(in, wire::RecordKind::kThreadEnded, thread, Text{});
}

void Happenings::thread_named(const HappeningContext& in, Id thread, const char16_t* name,
                              std::uint32_t count) {
  Text text;
  if (name) text.put(name, count);
  write_thread(in, wire::RecordKind::kThreadNamed, thread, text);
}

void Happenings::module_loaded(const HappeningContext& in, Id module, HResult result) {
  if (result < 0) return;
  in.recorder.count(wire::Happening::kModulesLoaded);
  Text path;
  const std::uint8_t* base = nullptr;
  std::uint32_t length = 0;
  char16_t name[kLongestPath];
  Id assembly = 0;
  if (call(in.runtime, info::kGetModuleInfo, module, &base, kLongestPath, &length, &name[0],
           &assembly) >= 0)
    path.put(name, length < kLongestPath ? length : kLongestPath);
  const Words words{path};
  in.recorder.write(
      wire::ModuleLoaded{.header = header_of(wire::RecordKind::kModuleLoaded, read_tsc()),
                         .path_bytes = words.bytes,
                         .frames = words.count},
      words.words, words.count);
}

void Happenings::class_loaded(const HappeningContext& in, HResult result) {
  if (result >= 0) in.recorder.count(wire::Happening::kClassesLoaded);
}

void Happenings::compile_started(Id function) {
  auto& all = t_compilations;
  if (all.count == Compilations::kMost) all.count = 0;  // ends were missed
  all.running[all.count++] = {function, read_tsc()};
}

void Happenings::compile_finished(const HappeningContext& in, Id function, HResult result) {
  const auto now = read_tsc();
  auto& all = t_compilations;
  // One that has no end was switched off meanwhile; those above it are gone too.
  auto at = all.count;
  while (at > 0 && all.running[at - 1].function != function) --at;
  if (at == 0) return;  // it began before we listened
  const auto began = all.running[at - 1].time;
  all.count = at - 1;
  in.recorder.count(wire::Happening::kMethodsCompiled);
  in.recorder.count(wire::Happening::kCompileTicks, now - began);
  auto method = wire::kNoName;
  if (in.recorder.over_budget()) {
    in.recorder.count(wire::Drop::kOverBudget);
  } else {
    method = method_slot(in.runtime, in.recorder, function);
  }
  in.recorder.write(
      wire::MethodCompiled{.header = header_of(wire::RecordKind::kMethodCompiled, began),
                           .ticks = now - began,
                           .method = method,
                           .failed = result < 0 ? 1U : 0U});
}

}  // namespace clrscope::agent
