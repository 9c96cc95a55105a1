#include "analyze/sites.h"

#include <fmt/format.h>

#include <algorithm>

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

}  // namespace

FrameId Sites::site(StackId stack) { return first(stack, is_own); }

FrameId Sites::caller(StackId stack) { return first(stack, is_caller); }

FrameId Sites::first(StackId stack, bool (*fits)(const Frame& frame)) {
  if (stack == StackId::kNone) return frames_.intern({.method = "?"});
  symbols_.frames(stacks_.process(stack), stacks_.addresses(stack), stacks_.first_seen(stack),
                  scratch_);
  for (const auto wanted : {fits, is_own, &is_unnamed_lambda,
                            +[](const Frame& frame) { return frame.kind != FrameKind::kUnknown; }})
    for (const auto id : scratch_)
      if (wanted(frames_.frame(id))) return id;
  return scratch_.front();
}

std::string value_name(std::string_view enumeration, std::uint64_t value) {
  if (const auto* names = nettrace::event_table().names(enumeration))
    for (const auto& one : names->values)
      if (one.value == static_cast<std::int64_t>(value)) return std::string{one.name};
  return fmt::format("{}", value);
}

}  // namespace clrscope::analyze
