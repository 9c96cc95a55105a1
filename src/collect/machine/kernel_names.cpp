#include "collect/machine/kernel_names.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <tuple>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::collect {
namespace {

constexpr std::size_t kChunk = 64 << 10;
constexpr std::uint64_t kLastSize = 4096;  // of the last one, whose end nobody says

}  // namespace

KernelNames KernelNames::read() {
  KernelNames names;
  const auto file = open_for_reading("/proc/kallsyms");
  if (!file) return names;
  std::string text;  // not yet whole lines
  for (;;) {
    const auto kept = text.size();
    text.resize(kept + kChunk);
    const auto got = ::read(file->get(), text.data() + kept, kChunk);
    text.resize(kept + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    std::string_view rest{text};
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      names.add_line(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    text.erase(0, text.size() - rest.size());
  }
  names.add_line(text);
  names.sort();
  return names;
}

KernelNames KernelNames::parse(std::string_view kallsyms) {
  KernelNames names;
  for (const auto line : split(kallsyms, '\n')) names.add_line(line);
  names.sort();
  return names;
}

// "ffffffff81000000 T _stext	[module]"
void KernelNames::add_line(std::string_view line) {
  const auto parts = split(line, ' ');
  if (parts.size() < 3 || (parts[1] != "t" && parts[1] != "T")) return;
  const auto start = parse_number("0x" + std::string{parts[0]});
  if (!start || *start == 0) return;
  const auto name = parts[2].substr(0, parts[2].find('\t'));
  if (names_.size() + name.size() >= std::numeric_limits<std::uint32_t>::max()) return;
  entries_.push_back({*start, static_cast<std::uint32_t>(names_.size())});
  names_.append(name).push_back('\0');
}

// Of several names for one place the first counts.
void KernelNames::sort() {
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    return std::tie(a.start, a.name) < std::tie(b.start, b.name);
  });
  const auto doubles =
      std::unique(entries_.begin(), entries_.end(),
                  [](const Entry& a, const Entry& b) { return a.start == b.start; });
  entries_.erase(doubles, entries_.end());
}

std::optional<KernelNames::Function> KernelNames::find(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(entries_, address, {}, &Entry::start);
  if (after == entries_.begin()) return std::nullopt;
  const auto& entry = *std::prev(after);
  const auto last = (after == entries_.end() ? entry.start + kLastSize : after->start) - 1;
  if (address > last) return std::nullopt;
  return Function{entry.start, last, names_.data() + entry.name};
}

}  // namespace clrscope::collect
