#include "inspect/memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"
#include "inspect/rights.h"

namespace clrscope::inspect {
namespace {

class LiveMemory final : public MemorySource {
 public:
  explicit LiveMemory(UniqueFd file) : file_(std::move(file)) {}

  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto got = ::pread(file_.get(), out.data() + done, out.size() - done,
                               static_cast<off_t>(address + done));
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }
  int descriptor() const override { return file_.get(); }

 private:
  UniqueFd file_;
};

}  // namespace

Result<std::unique_ptr<MemorySource>> open_live_memory(pid_t pid) {
  const auto path = fmt::format("/proc/{}/mem", pid);
  UniqueFd file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!file) return cannot_trace("read the memory of", pid, errno);
  return std::make_unique<LiveMemory>(std::move(file));
}

Bytes Memory::page_at(std::uint64_t address) {
  if (const auto known = pages_.find(address); known != pages_.end()) return known->second;
  if (pages_.size() >= kMostPages) pages_.clear();
  auto& page = pages_[address];
  page.resize(kPage);
  page.resize(source_.read(address, page));
  ++pages_read_;
  return page;
}

bool Memory::read(std::uint64_t address, std::span<std::uint8_t> out) {
  if (address + out.size() < address) return false;
  for (std::size_t done = 0; done < out.size();) {
    const auto at = address + done;
    const auto page = page_at(at & ~std::uint64_t{kPage - 1});
    const auto offset = static_cast<std::size_t>(at & (kPage - 1));
    if (offset >= page.size()) return false;
    const auto part = std::min(out.size() - done, page.size() - offset);
    std::memcpy(out.data() + done, page.data() + offset, part);
    done += part;
  }
  return true;
}

std::vector<std::uint8_t> Memory::block(std::uint64_t address, std::size_t size) {
  std::vector<std::uint8_t> bytes(size);
  if (source_.read(address, bytes) != size) bytes.clear();
  return bytes;
}

std::string Memory::text(std::uint64_t address, std::size_t most) {
  std::string text;
  while (text.size() < most) {
    const auto page = page_at(address & ~std::uint64_t{kPage - 1});
    const auto offset = static_cast<std::size_t>(address & (kPage - 1));
    if (offset >= page.size()) return {};
    const auto rest =
        as_text(page.subspan(offset, std::min(page.size() - offset, most - text.size())));
    const auto end = rest.find('\0');
    text += rest.substr(0, end);
    if (end != std::string_view::npos) return text;
    address += rest.size();
  }
  return {};
}

std::string Memory::text16(std::uint64_t address, std::size_t length) {
  if (length > 1 << 20) return {};
  std::vector<std::uint8_t> units(length * 2);
  if (!read(address, units)) return {};
  return utf8_of(units);
}

}  // namespace clrscope::inspect
