#include "collect/machine/kernel_names.h"

#include <algorithm>

#include "base/io.h"
#include "base/text.h"

namespace clrscope::collect {

KernelNames KernelNames::read() {
  const auto text = read_file("/proc/kallsyms");
  return text ? parse(*text) : KernelNames{};
}

KernelNames KernelNames::parse(std::string_view kallsyms) {
  KernelNames names;
  while (!kallsyms.empty()) {
    const auto line = kallsyms.substr(0, kallsyms.find('\n'));
    kallsyms.remove_prefix(std::min(line.size() + 1, kallsyms.size()));
    // "ffffffff81000000 T _stext	[module]"
    const auto parts = split(line, ' ');
    if (parts.size() < 3 || (parts[1] != "t" && parts[1] != "T")) continue;
    const auto start = parse_number("0x" + std::string{parts[0]});
    if (!start || *start == 0) continue;
    names.functions_.push_back({*start, 0, std::string{parts[2].substr(0, parts[2].find('\t'))}});
  }
  std::ranges::stable_sort(names.functions_, {}, &Function::start);
  const auto doubles = std::ranges::unique(names.functions_, {}, &Function::start);
  names.functions_.erase(doubles.begin(), doubles.end());
  for (std::size_t i = 0; i < names.functions_.size(); ++i)
    names.functions_[i].last =
        (i + 1 < names.functions_.size() ? names.functions_[i + 1].start
                                         : names.functions_[i].start + 4096) -
        1;
  return names;
}

const KernelNames::Function* KernelNames::find(std::uint64_t address) const {
  auto after = std::ranges::upper_bound(functions_, address, {}, &Function::start);
  if (after == functions_.begin()) return nullptr;
  --after;
  return address <= after->last ? &*after : nullptr;
}

}  // namespace clrscope::collect
