#include "collect/machine/processes.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>

namespace clrscope::collect {

namespace {

std::string hex_of(Bytes bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace

TracedProcess::TracedProcess(ProcessId id)
    : id_(id), code_(static_cast<pid_t>(id)), unwinder_(space_, nullptr, &code_) {}

Result<> TracedProcess::map(const perf::Mapping& mapping, TraceTime time, unwind::CodeMap& code,
                            UniversalWriter& out) {
  if ((mapping.protection & PROT_EXEC) == 0) return {};
  const auto start = mapping.address, end = mapping.address + mapping.size;
  const bool anonymous = mapping.path == "//anon";
  const std::string path{anonymous ? std::string_view{} : mapping.path};
  const auto build_id = hex_of(mapping.build_id);
  const auto [range, fd] =
      code.locate({start, end, mapping.file_offset, path, build_id}, static_cast<pid_t>(id_));
  space_.add(range);
  code_.forget();
  const auto id =
      TRY(out.mapping(time, id_, {start, end, mapping.file_offset, mapping.path}, build_id));
  std::erase_if(ranges_, [&](const Range& old) { return old.start < end && start < old.end; });
  const bool native = range.kind == unwind::CodeKind::kElf;
  ranges_.insert(std::ranges::upper_bound(ranges_, start, {}, &Range::start),
                 {start, end, range.bias, native ? path : "", fd, id});
  return {};
}

void TracedProcess::forget_mappings() {
  space_.set({});
  ranges_.clear();
}

const TracedProcess::Range* TracedProcess::find(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::start);
  if (after == ranges_.begin()) return nullptr;
  --after;
  return address < after->end ? &*after : nullptr;
}

Result<> TracedProcess::write_symbols(TraceTime time, NameStore& store,
                                      UniversalWriter& out) const {
  std::unordered_set<std::uint64_t> written;  // function starts
  for (const auto address : seen_) {
    const auto* range = find(address);
    if (!range || range->path.empty()) continue;
    const auto& names = store.of(static_cast<pid_t>(id_), range->path, range->fd);
    const auto function = names.find(address - range->bias);
    if (!function || !written.insert(function->start + range->bias).second) continue;
    const auto end = std::max(function->end, function->start + 1);
    TRY(out.symbol(time, id_, range->mapping, function->start + range->bias, end + range->bias - 1,
                   names.name_at(address - range->bias)));
  }
  return {};
}

TracedProcess& ProcessTable::of(ProcessId id) {
  auto& slot = processes_[id];
  if (!slot) slot = std::make_unique<TracedProcess>(id);
  return *slot;
}

namespace {

void add(std::array<std::uint64_t, unwind::kStopCount>& sum, const TracedProcess& process) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += process.unwinder().stops()[i];
}

}  // namespace

void ProcessTable::forget(ProcessId id) {
  const auto gone = processes_.find(id);
  if (gone == processes_.end()) return;
  add(stops_of_gone_, *gone->second);
  processes_.erase(gone);
}

std::array<std::uint64_t, unwind::kStopCount> ProcessTable::stops() const {
  auto sum = stops_of_gone_;
  for (const auto& [id, process] : processes_) add(sum, *process);
  return sum;
}

}  // namespace clrscope::collect
