#include "collect/eventpipe/wanted_methods.h"

#include <string_view>

#include "model/provider_names.h"

namespace clrscope::collect {
namespace {

// The same numbers mean other things in a rundown.
constexpr std::uint32_t kMethodLoadVerbose = 143;  // rundown: at its start
constexpr std::uint32_t kMethodDCEndVerbose = 144;
constexpr std::uint32_t kModuleLoad = 152;
constexpr std::uint32_t kModuleDCStart = 153;
constexpr std::uint32_t kModuleDCEnd = 154;

NameEvent at_start_of_rundown(const Event& event, std::uint32_t id, std::string_view name) {
  NameEvent out{.type = *event.type, .thread = event.thread, .time = event.time};
  out.type.provider = kRundownProvider;
  out.type.id = id;
  if (!out.type.name.empty()) out.type.name = name;
  out.payload.assign(event.payload.begin(), event.payload.end());
  return out;
}

}  // namespace

Event NameEvent::event() const {
  Event out;
  out.type = &type;
  out.thread = thread;
  out.time = time;
  out.payload = payload;
  return out;
}

void WantedMethods::want(std::span<const std::uint64_t> addresses) {
  for (const auto address : addresses) {
    const auto after = named_.upper_bound(address);
    if (after == named_.begin() || std::prev(after)->second <= address) wanted_.insert(address);
  }
}

void WantedMethods::look_at(const Event& event, std::vector<NameEvent>& names) {
  const auto& type = *event.type;
  const bool rundown = type.provider == kRundownProvider;
  if (!rundown && type.provider != kRuntimeProvider) return;
  if (type.id == kMethodLoadVerbose || (rundown && type.id == kMethodDCEndVerbose))
    look_at_method(event, names);
  else if (type.id == (rundown ? kModuleDCEnd : kModuleLoad))
    look_at_module(event);
}

void WantedMethods::look_at_method(const Event& event, std::vector<NameEvent>& names) {
  ByteReader in{event.payload};
  in.skip(8);  // method
  const auto module = in.read<std::uint64_t>();
  const auto start = in.read<std::uint64_t>();
  const auto end = start + in.read<std::uint32_t>();
  const auto first = wanted_.lower_bound(start);
  if (!in.ok() || first == wanted_.end() || *first >= end) return;
  wanted_.erase(first, wanted_.lower_bound(end));
  named_[start] = end;
  if (!modules_written_.contains(module)) modules_needed_.insert(module);
  names.push_back(at_start_of_rundown(event, kMethodLoadVerbose, "MethodDCStartVerbose"));
}

void WantedMethods::look_at_module(const Event& event) {
  ByteReader in{event.payload};
  const auto module = in.read<std::uint64_t>();
  if (!in.ok() || modules_written_.contains(module) || modules_.contains(module)) return;
  modules_.emplace(module, at_start_of_rundown(event, kModuleDCStart, "ModuleDCStart"));
}

void WantedMethods::add_modules(std::vector<NameEvent>& names) {
  for (auto needed = modules_needed_.begin(); needed != modules_needed_.end();) {
    auto found = modules_.extract(*needed);
    if (found.empty()) {
      ++needed;
      continue;
    }
    names.push_back(std::move(found.mapped()));
    modules_written_.insert(*needed);
    needed = modules_needed_.erase(needed);
  }
}

}  // namespace clrscope::collect
