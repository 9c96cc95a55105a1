#include "analyze/sites.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nettrace/payload_table.h"

namespace clrscope::analyze {

nettrace::Known KnownEvents::learn(const EventType& type) {
  if (type.index >= known_.size()) {
    known_.resize(type.index + 1);
    asked_.resize(type.index + 1);
  }
  asked_[type.index] = true;
  return known_[type.index] = nettrace::known_event(type);
}

namespace {

bool is_own(const Frame& frame) { return frame.kind == FrameKind::kManaged; }

bool is_caller(const Frame& frame) {
  static constexpr std::string_view kLibraries[] = {"Microsoft.", "System.",       "Npgsql",
                                                    "MySql",      "Oracle.",       "Dapper",
                                                    "MongoDB.",   "StackExchange."};
  return is_own(frame) && std::ranges::none_of(kLibraries, [&](std::string_view library) {
           return frame.module.starts_with(library);
         });
}

bool is_tracing(const Frame& frame) {
  return frame.method.starts_with("System.Diagnostics.Tracing.") ||
         frame.method.starts_with("System.Threading.Tasks.TplEventSource.");
}

// A library that uses tasks, not what makes and runs them.
bool is_library(const Frame& frame) {
  static constexpr std::string_view kMachinery[] = {
      "System.Threading.Tasks.Task",  // and TaskFactory, TaskScheduler, ...
      "System.Threading.Tasks.Await",
      "System.Threading.Tasks.Continu",
      "System.Threading.Tasks.ThreadPool",
      "System.Threading.ExecutionContext.",
      "System.Threading.Thread",  // and ThreadPool
      "System.Threading.PortableThreadPool",
      "System.Runtime.CompilerServices.",
  };
  return frame.kind == FrameKind::kFramework && !is_tracing(frame) &&
         std::ranges::none_of(
             kMachinery, [&](std::string_view name) { return frame.method.starts_with(name); });
}

bool is_below_tracing(const Frame& frame) {
  return frame.kind == FrameKind::kFramework && !is_tracing(frame);
}

bool has_name(const Frame& frame) { return frame.kind != FrameKind::kUnknown; }

}  // namespace

void Sites::on_name(const Event& event, Provider provider) {
  if (!std::exchange(names_others_, true)) symbols_.keep_only(stacks_.all_addresses());
  symbols_.on_event(event, provider);
}

FrameId Sites::site(StackId stack) { return first(stack, {is_own, is_unnamed_lambda}); }

FrameId Sites::caller(StackId stack) {
  return first(stack, {is_caller, is_own, is_unnamed_lambda});
}

FrameId Sites::task_site(StackId stack) {
  return first(stack, {is_own, is_library, is_below_tracing});
}

FrameId Sites::first(StackId stack, std::initializer_list<Fits> requests) {
  if (stack == StackId::kNone) return frames_.intern({.method = "?"});
  symbols_.frames(stacks_.process(stack), stacks_.addresses(stack), stacks_.first_seen(stack),
                  scratch_);
  const auto choose = [&](Fits fits) {
    return std::ranges::find_if(scratch_, [&](FrameId id) { return fits(frames_.frame(id)); });
  };
  const auto with_its_line = [&](auto found) {
    return with_line(
        *found,
        stacks_.addresses(stack)[static_cast<std::size_t>(std::distance(scratch_.begin(), found))]);
  };
  for (const auto fits : requests)
    if (const auto found = choose(fits); found != scratch_.end()) return with_its_line(found);
  const auto named = choose(has_name);
  return named != scratch_.end() ? *named : scratch_.front();
}

// The runtime's events come out of a call, also those of the leaf.
FrameId Sites::with_line(FrameId id, std::uint64_t address) {
  if (!line_at_ || !is_own(frames_.frame(id))) return id;
  auto place = line_at_(address - 1);
  if (!place) return id;
  auto frame = frames_.frame(id);
  frame.file = std::move(place->file);
  frame.line = place->line;
  return frames_.intern(std::move(frame));
}

std::string value_name(std::string_view enumeration, std::uint64_t value) {
  if (const auto* names = nettrace::event_table().names(enumeration))
    for (const auto& one : names->values)
      if (one.value == static_cast<std::int64_t>(value)) return std::string{one.name};
  return fmt::format("{}", value);
}

}  // namespace clrscope::analyze
