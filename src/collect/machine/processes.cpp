#include "collect/machine/processes.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "symbols/stub_code.h"

namespace clrscope::collect {

namespace {

constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::minutes kLongestPause{1};
constexpr std::uint64_t kStubPage = 4096;

std::string hex_of(Bytes bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Mapping after mapping, so that the names of one file at a time are enough.
std::vector<std::uint64_t> in_order(const std::unordered_set<std::uint64_t>& addresses) {
  std::vector<std::uint64_t> sorted{addresses.begin(), addresses.end()};
  std::ranges::sort(sorted);
  return sorted;
}

}  // namespace

TracedProcess::TracedProcess(ProcessId id)
    : id_(id),
      pause_(kFirstPause),
      code_(static_cast<pid_t>(id)),
      unwinder_(space_, nullptr, &code_) {}

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
  const auto gone =
      std::erase_if(ranges_, [&](const Range& old) { return old.start < end && start < old.end; });
  if (gone > 0) {  // what is known of its addresses is of another file
    const auto inside = [&](std::uint64_t at) { return at >= start && at < end; };
    std::erase_if(told_, inside);
    std::erase_if(aside_, inside);
  }
  ranges_.insert(std::ranges::upper_bound(ranges_, start, {}, &Range::start),
                 {start, end, range.bias, mapping.file_offset, std::string{mapping.path}, build_id,
                  range.kind, fd, id});
  return {};
}

void TracedProcess::inherit(const TracedProcess& parent) {
  container_ = parent.container_;
  space_ = parent.space_;
  ranges_ = parent.ranges_;
  for (auto& range : ranges_) range.mapping = MappingId::kNone;
  inherited_ = true;
}

bool TracedProcess::may_look_again(TraceTime now) {
  if (now < next_look_) return false;
  next_look_ = now + pause_;
  pause_ = std::min<std::chrono::nanoseconds>(pause_ * 2, kLongestPause);
  return true;
}

Result<> TracedProcess::saw(std::uint64_t address, TraceTime time, UniversalWriter& out) {
  if (told_.contains(address) || !seen_.insert(address).second) return {};
  const auto* range = space_.find(address);
  if (range && range->kind == unwind::CodeKind::kJit) new_code_.push_back(address);
  return inherited_ ? tell_inherited(address, time, out) : Result<>{};
}

Result<> TracedProcess::tell_inherited(std::uint64_t address, TraceTime time,
                                       UniversalWriter& out) {
  const auto index = index_of(address);
  if (index == ranges_.size() || ranges_[index].mapping != MappingId::kNone) return {};
  auto& range = ranges_[index];
  range.mapping = TRY(out.mapping(
      time, id_, {range.start, range.end, range.file_offset, range.name}, range.build_id));
  return {};
}

std::size_t TracedProcess::index_of(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &Range::start);
  if (after == ranges_.begin() || address >= std::prev(after)->end) return ranges_.size();
  return static_cast<std::size_t>(std::prev(after) - ranges_.begin());
}

Result<> TracedProcess::write_symbols(TraceTime time, const ManagedNames& managed, NameStore& store,
                                      UniversalWriter& out) {
  seen_.merge(aside_);
  aside_.clear();
  (void)TRY(write_seen(time, managed, store, out, {}));
  return managed.helper ? write_helpers(time, *managed.helper, store, out) : Result<>{};
}

// After the names that their file gives them: of two names of one function the later counts.
Result<> TracedProcess::write_helpers(TraceTime time, const FindMethod& find, NameStore& store,
                                      UniversalWriter& out) {
  for (const auto& [mapping, start] : written_) {
    const auto index = index_of(start);
    if (index == ranges_.size() || !ranges_[index].name.ends_with("/libcoreclr.so")) continue;
    const auto& range = ranges_[index];
    const auto& names = store.of(static_cast<pid_t>(id_), range.name, range.fd);
    const auto function = names.find(start - range.bias);
    if (!function || !names.name_at(start - range.bias).starts_with("fn_")) continue;
    if (const auto helper = find(id_, start))
      TRY(out.symbol(time, id_, mapping, start, function->end + range.bias - 1, helper->name));
  }
  return {};
}

Result<std::optional<std::uint64_t>> TracedProcess::write_seen(TraceTime time,
                                                               const ManagedNames& managed,
                                                               NameStore& store,
                                                               UniversalWriter& out,
                                                               const Naming& naming) {
  const Range* last = nullptr;
  const NativeNames* names = nullptr;  // of its file, or
  ReadyToRunNames* image = nullptr;
  std::optional<std::uint64_t> left;
  for (const auto address : in_order(seen_)) {
    const auto index = index_of(address);
    if (index == ranges_.size()) continue;
    const auto& range = ranges_[index];
    const auto inside = address - range.bias;
    const auto write = [&](std::uint64_t start, std::uint64_t end, auto&& name) -> Result<> {
      if (!written_.emplace(range.mapping, start + range.bias).second) return {};
      return out.symbol(time, id_, range.mapping, start + range.bias,
                        std::max(end, start + 1) + range.bias - 1, name());
    };
    if (last != &range) {
      if (last && TraceClock::now() >= naming.until) {
        left = address;
        break;
      }
      last = &range;
      const bool native = range.kind == unwind::CodeKind::kElf;
      names = native ? &store.of(static_cast<pid_t>(id_), range.name, range.fd) : nullptr;
      image = range.kind == unwind::CodeKind::kR2r ? store.of_image(range.fd) : nullptr;
    }
    if (names) {
      if (const auto function = names->find(inside))
        TRY(write(function->start, function->end, [&] { return names->name_at(inside); }));
    } else if (const auto function = image ? image->find(inside, managed.which) : std::nullopt) {
      TRY(write(function->start, function->end, [&] { return function->name; }));
    } else if (const auto found = managed.find ? (*managed.find)(id_, address) : std::nullopt) {
      TRY(write(found->start - range.bias, found->end - range.bias, [&] { return found->name; }));
    } else if (naming.unnamed) {
      naming.unnamed->push_back(address);
      aside_.insert(address);
      const auto method = image ? image->find(inside, ImageNames::kAll) : std::nullopt;
      if (!method) continue;
      if (written_aside_.emplace(range.mapping, method->start + range.bias).second)
        TRY(out.image_symbol(time, id_, range.mapping, method->start + range.bias,
                             std::max(method->end, method->start + 1) + range.bias - 1,
                             method->name));
    }
  }
  look_at_stubs();
  for (const auto& [start, stub] : std::exchange(stubs_, {}))
    if (written_.emplace(stub.mapping, start).second)
      TRY(out.symbol(time, id_, stub.mapping, start, stub.last, stub.name));
  return left;
}

Result<> TracedProcess::write_image_lines(TraceTime time, NameStore& store,
                                          UniversalWriter& out) const {
  std::unordered_set<std::uint64_t> written;  // starts of methods
  auto all = seen_;
  all.insert(told_.begin(), told_.end());
  for (const auto address : in_order(all)) {
    const auto index = index_of(address);
    if (index == ranges_.size() || ranges_[index].kind != unwind::CodeKind::kR2r) continue;
    const auto& range = ranges_[index];
    const auto* image = store.of_image(range.fd);
    const auto lines = image ? image->lines(address - range.bias) : std::nullopt;
    if (lines && written.insert(lines->start + range.bias).second)
      TRY(out.il_map(time, id_, lines->start + range.bias, lines->map));
  }
  return {};
}

// By their instructions, while the process lives. Methods have names of their own, which count
// before these.
void TracedProcess::look_at_stubs() {
  if (new_code_.empty()) return;
  std::array<std::uint8_t, 2 * kStubPage> bytes;
  unwind::ProcessCode code{static_cast<pid_t>(id_)};  // as it is now
  std::ranges::sort(new_code_);
  for (const auto address : std::exchange(new_code_, {})) {
    const auto index = index_of(address);
    if (index == ranges_.size()) continue;
    // From the start of its page, or before it when the stub may begin there.
    const auto page = address - address % kStubPage;
    const auto start = std::max(ranges_[index].start, page - std::min(page, kStubPage / 16));
    const auto size = code.read(start, std::span{bytes}.first(address - start + kStubReach));
    if (const auto stub = stub_at(Bytes{bytes}.first(size), start, address))
      stubs_.insert_or_assign(stub->start, Stub{stub->end - 1, stub->name, ranges_[index].mapping});
  }
}

Result<> TracedProcess::write_new_symbols(TraceTime time, const ManagedNames& managed,
                                          NameStore& store, UniversalWriter& out) {
  TRY(write_symbols(time, managed, store, out));
  told_.merge(seen_);
  seen_.clear();
  return {};
}

Result<bool> TracedProcess::write_some_symbols(TraceTime time, TraceTime until, NameStore& store,
                                               UniversalWriter& out,
                                               std::vector<std::uint64_t>& unnamed) {
  const auto left =
      TRY(write_seen(time, ManagedNames{}, store, out, {.until = until, .unnamed = &unnamed}));
  std::erase_if(seen_, [&](std::uint64_t at) {
    if (left && at >= *left) return false;
    told_.insert(at);
    return true;
  });
  return !left;
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

bool TracedProcess::maps(std::string_view part_of_path) const {
  return std::ranges::any_of(ranges_, [&](const Range& range) {
    return range.name.find(part_of_path) != std::string::npos;
  });
}

const TracedProcess* ProcessTable::find(ProcessId id) const {
  const auto found = processes_.find(id);
  return found == processes_.end() ? nullptr : found->second.get();
}

TracedProcess* ProcessTable::at_or_after(ProcessId id) {
  const auto found = processes_.lower_bound(id);
  return found == processes_.end() ? nullptr : found->second.get();
}

std::unique_ptr<TracedProcess> ProcessTable::take(ProcessId id) {
  const auto gone = processes_.find(id);
  if (gone == processes_.end()) return nullptr;
  auto process = std::move(gone->second);
  add(stops_of_gone_, *process);
  processes_.erase(gone);
  return process;
}

std::array<std::uint64_t, unwind::kStopCount> ProcessTable::stops() const {
  auto sum = stops_of_gone_;
  for (const auto& [id, process] : processes_) add(sum, *process);
  return sum;
}

}  // namespace clrscope::collect
