#include "ops/agent_runtime.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ops/agent_listen.h"

namespace clrscope::ops {
namespace {

using std::chrono::nanoseconds;
using wire::Happening;
using wire::RecordKind;

constexpr std::size_t kMostChanges = 200'000;
constexpr std::size_t kMostModules = 10'000;
constexpr std::size_t kMostMethods = 200'000;
constexpr std::size_t kMostLongest = 20;
constexpr std::size_t kMostThreadNames = 1'000;
constexpr std::size_t kMostSlowest = 100;
constexpr std::size_t kShown = 10;

std::string_view reason_of(std::uint32_t reason) {
  switch (reason) {
    case 1:
      return "garbage collection";
    case 2:
    case 4:
      return "shutdown";
    case 6:
      return "debugger";
    case 7:
      return "preparation of a collection";
    case 8:
      return "ReJIT";
    case 9:
      return "profiler";
    default:
      return "other";
  }
}

// Text that lies behind a record in place of frames; the process may lie about its size.
template <class Fixed>
std::string text_of(const Fixed* record, std::uint32_t bytes) {
  const auto* text = reinterpret_cast<const char*>(wire::frames_of(record));
  return std::string{text, std::min<std::size_t>(bytes, std::size_t{record->frames} * 4)};
}

std::string file_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace

std::string name_of_many(std::string_view name) {
  auto end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == name.size() || end == 0) return std::string{name};
  return std::string{name.substr(0, end)} + "*";
}

void RuntimeCounter::take_thread(RecordKind kind, const wire::ThreadChange& change) {
  if (changes_.size() >= kMostChanges) return;
  changes_.push_back({change.header.time, kind, change.id, text_of(&change, change.name_bytes)});
}

void RuntimeCounter::take_suspension(const wire::Suspension& suspension) {
  suspended_ticks_ += suspension.ticks;
  const auto longer = [](const auto& a, const auto& b) { return a.ticks > b.ticks; };
  if (longest_.size() == kMostLongest && !longer(suspension, longest_.back())) return;
  longest_.insert(std::ranges::upper_bound(longest_, suspension, longer), suspension);
  if (longest_.size() > kMostLongest) longest_.pop_back();
}

void RuntimeCounter::take(const void* bytes, std::uint32_t size) {
  using namespace wire;
  std::uint64_t time = 0;
  const auto is = [&]<class Fixed>(const Fixed* record) {
    if (record) time = record->header.time;
    return record != nullptr;
  };
  const auto* gc = parse_record<GcStarted>(RecordKind::kGcStarted, bytes, size);
  if (is(gc)) {
    ++generations_[std::min<std::uint32_t>(gc->generation, 2)];
    induced_ += gc->induced != 0 ? 1 : 0;
  }
  const auto* suspension = parse_record<Suspension>(RecordKind::kSuspension, bytes, size);
  if (is(suspension)) take_suspension(*suspension);
  for (const auto kind :
       {RecordKind::kThreadStarted, RecordKind::kThreadEnded, RecordKind::kThreadNamed}) {
    const auto* thread = parse_record<ThreadChange>(kind, bytes, size);
    if (is(thread)) take_thread(kind, *thread);
  }
  const auto* module = parse_record<ModuleLoaded>(RecordKind::kModuleLoaded, bytes, size);
  if (is(module) && modules_.size() < kMostModules)
    modules_.push_back(text_of(module, module->path_bytes));
  const auto* compiled = parse_record<MethodCompiled>(RecordKind::kMethodCompiled, bytes, size);
  if (is(compiled) && (methods_.size() < kMostMethods || methods_.contains(compiled->method))) {
    auto& method = methods_[compiled->method];
    ++method.count;
    method.failed += compiled->failed != 0 ? 1 : 0;
    method.ticks += compiled->ticks;
    method.longest = std::max(method.longest, compiled->ticks);
  }
  if (time != 0) first_ = first_ == 0 ? time : std::min(first_, time);
}

// The runtime uses the number of a thread again when the thread has ended.
std::vector<ThreadsOfName> RuntimeCounter::threads() const {
  std::vector<const Change*> order;
  for (const auto& change : changes_) order.push_back(&change);
  std::ranges::stable_sort(order, {}, &Change::time);
  struct Life {
    std::string name{};
    bool started = false;
  };
  std::map<std::uint64_t, Life> lives;
  std::map<std::string, ThreadsOfName> names;
  const auto row = [&](const std::string& name) -> ThreadsOfName& {
    auto key = name_of_many(name);
    if (names.size() >= kMostThreadNames && !names.contains(key)) key.clear();
    return names[key];
  };
  for (const auto* change : order) {
    auto& life = lives[change->id];
    if (change->kind == RecordKind::kThreadNamed) {
      life.name = change->name;
    } else if (change->kind == RecordKind::kThreadStarted) {
      life.started = true;
    } else {
      auto& known = row(life.name);
      known.started += life.started ? 1 : 0;
      ++known.ended;
      lives.erase(change->id);
    }
  }
  for (const auto& [id, life] : lives)
    if (life.started) ++row(life.name).started;
  std::vector<ThreadsOfName> out;
  for (auto& [name, counts] : names) {
    counts.name = name;
    out.push_back(counts);
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &ThreadsOfName::started);
  return out;
}

void RuntimeCounter::fill(const collect::AgentArena& arena, AgentRuntime& out) const {
  out.collections = arena.happenings(Happening::kCollections);
  out.by_generation.assign(std::begin(generations_), std::end(generations_));
  out.induced = induced_;
  out.suspensions = arena.happenings(Happening::kSuspensions);
  out.suspended = arena.duration_of(suspended_ticks_);
  for (const auto& one : longest_)
    out.longest.push_back({.reason = std::string{reason_of(one.reason)},
                           .at = arena.duration_of(one.header.time - first_),
                           .length = arena.duration_of(one.ticks),
                           .to_stop = arena.duration_of(one.stop_ticks)});
  out.threads_started = arena.happenings(Happening::kThreadsStarted);
  out.threads_ended = arena.happenings(Happening::kThreadsEnded);
  out.threads = threads();
  out.modules_loaded = arena.happenings(Happening::kModulesLoaded);
  out.modules = modules_;
  out.classes_loaded = arena.happenings(Happening::kClassesLoaded);
  out.methods_compiled = arena.happenings(Happening::kMethodsCompiled);
  out.compile_time = arena.duration_of(arena.happenings(Happening::kCompileTicks));
  std::map<std::string, CompiledMethod> rows;  // slots of one name become one row
  for (const auto& [slot, method] : methods_) {
    auto& row = rows[name_or_unknown(arena, slot)];
    row.count += method.count;
    row.failed += method.failed;
    row.total += arena.duration_of(method.ticks);
    row.longest = std::max(row.longest, arena.duration_of(method.longest));
  }
  for (auto& [name, row] : rows) {
    row.method = name;
    out.slowest.push_back(std::move(row));
  }
  std::ranges::stable_sort(out.slowest, std::ranges::greater{}, &CompiledMethod::total);
  if (out.slowest.size() > kMostSlowest) out.slowest.resize(kMostSlowest);
}

Result<AgentRuntime> agent_runtime(const ListenRequest& request) {
  return hear<AgentRuntime, RuntimeCounter>(request, wire::kSourceRuntime);
}

Document runtime_document(const AgentRuntime& seen) {
  Document page;
  const auto generation = [&](std::size_t number) {
    return number < seen.by_generation.size() ? seen.by_generation[number] : 0;
  };
  page.summary.push_back(
      fmt::format("{} collections (generation 0: {}, 1: {}, 2: {}; {} induced by the program) "
                  "in {}.",
                  seen.collections, generation(0), generation(1), generation(2), seen.induced,
                  format_duration(seen.duration)));
  page.summary.push_back(fmt::format("{} suspensions, {} in total.", seen.suspensions,
                                     format_duration(seen.suspended)));
  page.summary.push_back(fmt::format(
      "{} threads started, {} ended; {} modules and {} classes loaded.", seen.threads_started,
      seen.threads_ended, seen.modules_loaded, seen.classes_loaded));
  page.summary.push_back(fmt::format("{} methods compiled in {}.", seen.methods_compiled,
                                     format_duration(seen.compile_time)));
  page.summary.push_back(fmt::format("The agent took {} on the threads of the process.",
                                     format_duration(seen.callback_time)));
  for (const auto& drop : seen.dropped)
    page.summary.push_back(fmt::format("Not recorded: {} {}.", drop.count, drop.reason));
  if (!seen.longest.empty()) {
    DocumentTable table{.columns = {">SUSPENDED", ">TO STOP", ">AT", "REASON"}};
    for (std::size_t i = 0; i < std::min(seen.longest.size(), kShown); ++i) {
      const auto& one = seen.longest[i];
      table.rows.push_back({format_duration(one.length), format_duration(one.to_stop),
                            format_duration(one.at), one.reason});
    }
    page.tables.push_back(std::move(table));
  }
  if (!seen.slowest.empty()) {
    DocumentTable table{.columns = {">COMPILED", ">TOTAL", ">LONGEST", "METHOD"}};
    for (std::size_t i = 0; i < std::min(seen.slowest.size(), kShown); ++i) {
      const auto& one = seen.slowest[i];
      table.rows.push_back({std::to_string(one.count), format_duration(one.total),
                            format_duration(one.longest), one.method});
    }
    page.tables.push_back(std::move(table));
  }
  if (!seen.threads.empty()) {
    DocumentTable table{.columns = {">STARTED", ">ENDED", "THREADS"}};
    for (std::size_t i = 0; i < std::min(seen.threads.size(), kShown); ++i) {
      const auto& one = seen.threads[i];
      table.rows.push_back({std::to_string(one.started), std::to_string(one.ended),
                            one.name.empty() ? "without a name" : one.name});
    }
    page.tables.push_back(std::move(table));
  }
  if (!seen.modules.empty()) {
    DocumentTable table{.columns = {"LOADED MODULES"}};
    for (std::size_t i = 0; i < std::min(seen.modules.size(), kShown); ++i)
      table.rows.push_back({file_of(seen.modules[i])});
    page.tables.push_back(std::move(table));
  }
  return page;
}

const Shape& shape_of(const SuspensionSeen*) {
  using A = SuspensionSeen;
  static const auto shape =
      describe<A>("AgentSuspension", "a moment in which all managed threads were stopped",
                  {member<&A::reason>("reason", "why they were stopped"),
                   member<&A::at>("atMs", "when, since the first thing that was recorded"),
                   member<&A::length>("lengthMs", "from the request until all threads ran again"),
                   member<&A::to_stop>("toStopMs", "until all threads were stopped")});
  return shape;
}

const Shape& shape_of(const CompiledMethod*) {
  using A = CompiledMethod;
  static const auto shape =
      describe<A>("AgentCompiledMethod", "compilations of a method",
                  {member<&A::method>("method", "name of the method"),
                   member<&A::count>("count", "how often it was compiled"),
                   member<&A::failed>("failed", "how often the compiler failed"),
                   member<&A::total>("totalMs", "time of the JIT compiler"),
                   member<&A::longest>("longestMs", "longest compilation")});
  return shape;
}

const Shape& shape_of(const ThreadsOfName*) {
  using A = ThreadsOfName;
  static const auto shape =
      describe<A>("AgentThreadsOfName", "threads of one name",
                  {member<&A::name>("name", "their name; digits at the end are *; empty: no name"),
                   member<&A::started>("started", "how many started"),
                   member<&A::ended>("ended", "how many ended")});
  return shape;
}

const Shape& shape_of(const AgentRuntime*) {
  using A = AgentRuntime;
  static const auto shape = describe<A>(
      "AgentRuntime", "what the runtime of a process did by itself",
      {member<&A::pid>("pid", "process id"),
       member<&A::duration>("durationMs", "how long it listened"),
       member<&A::collections>("collections", "garbage collections that began"),
       member<&A::by_generation>("byGeneration", "the same by the oldest generation collected"),
       member<&A::induced>("induced", "collections that the program asked for"),
       member<&A::suspensions>("suspensions", "times all managed threads were stopped"),
       member<&A::suspended>("suspendedMs", "how long they were stopped in total"),
       member<&A::longest>("longestSuspensions", "the longest suspensions, longest first"),
       member<&A::threads_started>("threadsStarted", "managed threads that started"),
       member<&A::threads_ended>("threadsEnded", "managed threads that ended"),
       member<&A::threads>("threads", "the threads by name, most started first"),
       member<&A::modules_loaded>("modulesLoaded", "modules that were loaded"),
       member<&A::modules>("modules", "their paths"),
       member<&A::classes_loaded>("classesLoaded", "classes that were loaded"),
       member<&A::methods_compiled>("methodsCompiled", "compilations by the JIT compiler"),
       member<&A::compile_time>("compileMs", "their time in total"),
       member<&A::slowest>("slowestMethods", "methods by their compile time, longest first"),
       member<&A::dropped>("dropped", "what could not be recorded, by reason"),
       member<&A::callback_time>("callbackMs", "time it took on the threads of the process")});
  return shape;
}

}  // namespace clrscope::ops
