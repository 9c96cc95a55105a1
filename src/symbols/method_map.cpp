#include "symbols/method_map.h"

#include <algorithm>
#include <tuple>

#include "symbols/method_name.h"

namespace clrscope {
namespace {

// More code than this that took one place in turn is not told apart: it keeps a hostile trace from
// making lookups slow.
constexpr std::size_t kMaxLayers = 256;

auto identity(const Method& m) { return std::tie(m.start, m.method_id, m.size); }

// How far a time is from a method's life; zero inside it. Unsigned: any two times fit.
std::uint64_t distance(const Method& method, TraceTime when) {
  const auto count = [](TraceTime time) {
    return static_cast<std::uint64_t>(time.time_since_epoch().count());
  };
  if (when < method.from) return count(method.from) - count(when);
  if (when >= method.to) return count(when) - count(method.to);
  return 0;
}

}  // namespace

void MethodMap::loaded(const MethodCode& code, TraceTime when) { note(code, when, Said::kLoaded); }
void MethodMap::unloaded(const MethodCode& code, TraceTime when) {
  note(code, when, Said::kUnloaded);
}
void MethodMap::known(const MethodCode& code) { note(code, TraceTime::max(), Said::kKnown); }

void MethodMap::module(std::uint64_t module_id, Bytes path_utf16) {
  if (!path_utf16.empty()) modules_[module_id] = utf8_of(path_utf16);
}

void MethodMap::note(const MethodCode& code, TraceTime when, Said said) {
  if (code.size == 0 || code.start + code.size < code.start) return;
  notes_.push_back({{.start = code.start,
                     .size = code.size,
                     .token = code.token,
                     .type = intern(code.type),
                     .name = intern(code.name),
                     .signature = intern(code.signature),
                     .method_id = code.method_id,
                     .module_id = code.module_id,
                     .dynamic = code.dynamic,
                     .jitted = code.jitted},
                    when,
                    said});
}

StringId MethodMap::intern(Bytes utf16) {
  scratch_.clear();
  append_utf8(scratch_, utf16);
  return strings_.intern(scratch_);
}

// One body of one method: its loads and unloads in the order of time. Rundowns come last.
void MethodMap::settle_one(std::vector<Note>::iterator begin, std::vector<Note>::iterator end) {
  std::stable_sort(begin, end, [](const Note& a, const Note& b) { return a.when < b.when; });
  const auto first = methods_.size();
  const auto open = [&] {
    return methods_.size() > first && methods_.back().to == TraceTime::max();
  };
  for (auto it = begin; it != end; ++it) {
    auto method = it->method;
    switch (it->said) {
      case Said::kLoaded:
        if (open()) continue;
        method.from = it->when;
        break;
      case Said::kUnloaded:
        if (open()) {
          methods_.back().to = it->when;
          continue;
        }
        method.to = it->when;
        break;
      case Said::kKnown:
        if (open()) continue;
        // Unloaded and yet there at the end: it came back, and nobody said when.
        if (methods_.size() > first) method.from = methods_.back().to;
        break;
    }
    methods_.push_back(method);
  }
}

void MethodMap::settle() {
  // What was settled before takes part again: a later file or rundown may complete it.
  for (const auto& m : methods_) {
    if (m.from != TraceTime::min()) notes_.push_back({m, m.from, Said::kLoaded});
    if (m.to != TraceTime::max()) notes_.push_back({m, m.to, Said::kUnloaded});
    if (m.from == TraceTime::min() && m.to == TraceTime::max())
      notes_.push_back({m, TraceTime::max(), Said::kKnown});
  }
  for (auto& n : notes_) n.method.from = TraceTime::min(), n.method.to = TraceTime::max();
  methods_.clear();
  std::sort(notes_.begin(), notes_.end(),
            [](const Note& a, const Note& b) { return identity(a.method) < identity(b.method); });
  for (auto begin = notes_.begin(); begin != notes_.end();) {
    const auto end = std::find_if(begin, notes_.end(), [&](const Note& n) {
      return identity(n.method) != identity(begin->method);
    });
    settle_one(begin, end);
    begin = end;
  }
  notes_.clear();
  notes_.shrink_to_fit();

  layers_.clear();
  for (std::uint32_t i = 0; i < methods_.size(); ++i) {  // by start, thanks to the sort above
    const auto fits = [&](const auto& layer) {
      const auto& last = methods_[layer.back()];
      return last.start + last.size <= methods_[i].start;
    };
    const auto layer = std::find_if(layers_.begin(), layers_.end(), fits);
    if (layer != layers_.end())
      layer->push_back(i);
    else if (layers_.size() < kMaxLayers)
      layers_.push_back({i});
  }
}

MethodMap::Found MethodMap::find(std::uint64_t address, TraceTime when) {
  if (!notes_.empty()) settle();
  Found best;
  for (const auto& layer : layers_) {
    const auto after =
        std::upper_bound(layer.begin(), layer.end(), address,
                         [&](std::uint64_t a, std::uint32_t i) { return a < methods_[i].start; });
    if (after == layer.begin()) continue;
    const auto& method = methods_[*std::prev(after)];
    if (address - method.start >= method.size) continue;
    best.always = best.method == nullptr;
    if (!best.method || distance(method, when) < distance(*best.method, when))
      best.method = &method;
  }
  return best;
}

std::string MethodMap::name(const Method& method) const {
  return method_name(strings_.text(method.type), strings_.text(method.name),
                     strings_.text(method.signature));
}

std::string_view MethodMap::module_path(const Method& method) const {
  const auto found = modules_.find(method.module_id);
  return found == modules_.end() ? std::string_view{} : found->second;
}

}  // namespace clrscope
