#include "analyze/exceptions.h"

#include <algorithm>

namespace clrscope::analyze {
namespace {

constexpr std::uint16_t kReThrown = 4;

}  // namespace

std::vector<std::pair<FrameId, std::uint64_t>> Exceptions::Type::ranked_sites() const {
  std::vector<std::pair<FrameId, std::uint64_t>> all{sites.begin(), sites.end()};
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

void Exceptions::on_batch(const nettrace::Reader& reader, const nettrace::Batch& batch) {
  if (!trace_) trace_.emplace(frames_, line_at_);
  for (const Event& event : batch.events) {
    const auto provider = trace_->providers.of(*event.type);
    if (provider != Provider::kRundown) span_.on_event(event.time);
    if (provider == Provider::kUniversalEvents) only_counted_.on_event(reader, event);
    if (trace_->known.of(*event.type) == nettrace::Known::kException)
      count(reader, event);
    else
      trace_->sites.on_other(event);
  }
  trace_->sites.on_batch_end(batch);
}

void Exceptions::end_of_trace(const nettrace::Reader& reader) {
  span_.end_of_trace(reader);
  only_counted_.end_of_trace();
  if (!trace_) return;
  for (const auto& [key, times] : trace_->by_stack)
    types_[std::string{names_.text(key.first)}].sites[trace_->sites.site(key.second)] += times;
  trace_.reset();
}

void Exceptions::count(const nettrace::Reader& reader, const Event& event) {
  const auto thrown =
      nettrace::read_as<nettrace::ExceptionThrown>(event, reader.info()->pointer_size);
  if (!thrown) return;
  const auto name = names_.intern(utf8_of(thrown->type));
  auto& type = types_[std::string{names_.text(name)}];
  if (type.count == 0) {
    type.message = utf8_of(thrown->message);
    type.hresult = thrown->hresult;
  }
  ++type.count;
  ++total_;
  only_counted_.on_recorded(event);
  if ((thrown->flags & kReThrown) != 0) ++type.rethrown;
  ++trace_->by_stack[{name, trace_->sites.stack_of(reader, event)}];
}

std::vector<const Exceptions::Named*> Exceptions::ranked() const {
  std::vector<const Named*> all;
  for (const auto& one : types_) all.push_back(&one);
  std::stable_sort(all.begin(), all.end(),
                   [](auto* a, auto* b) { return a->second.count > b->second.count; });
  return all;
}

}  // namespace clrscope::analyze
