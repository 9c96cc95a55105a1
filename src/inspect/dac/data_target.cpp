#include "inspect/dac/data_target.h"

#include <algorithm>

namespace clrscope::inspect::dac {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kReadAhead = 16 * kPage;
constexpr std::size_t kMostPages = 32768;  // 128 MB
constexpr std::uint32_t kMachineX64 = 0x8664;

}  // namespace

// The functions behind the two tables, in the order of the interfaces.
struct DataTarget::Table {
  static HResult query(Face* self, const Guid* wanted, void** out) {
    if (*wanted == kUnknown || *wanted == kDataTarget || *wanted == kDataTarget2) {
      *out = &self->owner->target_;
      return kOk;
    }
    if (*wanted == kRuntimeLocator) {
      *out = &self->owner->locator_;
      return kOk;
    }
    *out = nullptr;
    return kNoInterface;
  }
  // We outlive whoever holds us.
  static std::uint32_t count(Face*) { return 1; }

  static HResult machine_type(Face*, std::uint32_t* out) { return *out = kMachineX64, kOk; }
  static HResult pointer_size(Face*, std::uint32_t* out) { return *out = 8, kOk; }
  static HResult image_base(Face* self, const char16_t*, std::uint64_t* out) {
    *out = self->owner->runtime_base_;
    return kOk;
  }
  static HResult read_virtual(Face* self, std::uint64_t address, std::uint8_t* out,
                              std::uint32_t wanted, std::uint32_t* done) {
    const auto got = self->owner->read(address, {out, wanted});
    if (done) *done = static_cast<std::uint32_t>(got);
    return got > 0 || wanted == 0 ? kOk : kFailed;
  }
  static HResult current_thread(Face* self, std::uint32_t* out) {
    if (self->owner->thread_ == 0) return kFailed;
    *out = self->owner->thread_;
    return kOk;
  }
  static HResult thread_context(Face* self, std::uint32_t thread, std::uint32_t, std::uint32_t size,
                                std::uint8_t* out) {
    const auto& owner = *self->owner;
    if (thread == 0 || thread != owner.thread_ || size < kContextSize) return kFailed;
    std::copy(owner.context_.begin(), owner.context_.end(), out);
    return kOk;
  }
  static HResult runtime_base(Face* self, std::uint64_t* out) {
    *out = self->owner->runtime_base_;
    return kOk;
  }
  static HResult not_implemented(Face*) { return kNotImplemented; }

  template <class Function>
  static void* entry(Function function) {
    return reinterpret_cast<void*>(function);
  }

  static void* const* target() {
    static void* const table[] = {
        entry(query),           entry(count),           entry(count),
        entry(machine_type),    entry(pointer_size),    entry(image_base),
        entry(read_virtual),    entry(not_implemented), entry(not_implemented),
        entry(not_implemented), entry(current_thread),  entry(thread_context),
        entry(not_implemented), entry(not_implemented), entry(not_implemented),
        entry(not_implemented),
    };
    return table;
  }
  static void* const* locator() {
    static void* const table[] = {entry(query), entry(count), entry(count), entry(runtime_base)};
    return table;
  }
};

DataTarget::DataTarget(std::uint64_t runtime_base, ReadPages read_pages)
    : read_pages_(std::move(read_pages)),
      runtime_base_(runtime_base),
      target_{Table::target(), this},
      locator_{Table::locator(), this} {}

const std::vector<std::uint8_t>& DataTarget::page_at(std::uint64_t page) {
  if (const auto known = pages_.find(page); known != pages_.end()) return known->second;
  if (pages_.size() >= kMostPages) pages_.clear();
  const auto bytes = read_pages_(page, kReadAhead);
  for (std::size_t at = kPage; at < bytes.size(); at += kPage) {
    const auto end = std::min(bytes.size(), at + kPage);
    if (end - at == kPage)  // a torn tail is asked for by itself
      pages_.try_emplace(page + at, bytes.begin() + static_cast<std::ptrdiff_t>(at),
                         bytes.begin() + static_cast<std::ptrdiff_t>(end));
  }
  const auto first = static_cast<std::ptrdiff_t>(std::min(bytes.size(), kPage));
  return pages_[page] = {bytes.begin(), bytes.begin() + first};
}

std::size_t DataTarget::read(std::uint64_t address, std::span<std::uint8_t> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto at = address + done;
    if (at < address) break;
    const auto& page = page_at(at & ~std::uint64_t{kPage - 1});
    const auto offset = static_cast<std::size_t>(at & (kPage - 1));
    if (offset >= page.size()) break;
    const auto part = std::min(out.size() - done, page.size() - offset);
    std::copy_n(page.begin() + static_cast<std::ptrdiff_t>(offset), part,
                out.begin() + static_cast<std::ptrdiff_t>(done));
    done += part;
  }
  return done;
}

bool DataTarget::read_word(std::uint64_t address, std::uint64_t& value) {
  return read(address, {reinterpret_cast<std::uint8_t*>(&value), sizeof value}) == sizeof value;
}

}  // namespace clrscope::inspect::dac
