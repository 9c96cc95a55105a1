#include "inspect/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

namespace clrscope::inspect {
namespace {

constexpr std::size_t kMostHeaders = 64;
constexpr std::size_t kMostDynamic = 256;
constexpr std::uint32_t kMostChain = 1 << 16;
constexpr std::size_t kMostCandidates = 64;

// Where the dynamic section says that things lie; 0 when it does not.
struct Dynamic {
  std::uint64_t symbols = 0;
  std::uint64_t names = 0;
  std::uint64_t hash = 0;
};

std::optional<Dynamic> read_dynamic(Memory& memory, std::uint64_t base, std::uint64_t& bias) {
  const auto header = memory.get<Elf64_Ehdr>(base);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr) ||
      header->e_phnum > kMostHeaders)
    return {};
  std::optional<std::uint64_t> lowest;
  std::uint64_t dynamic = 0;
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = memory.get<Elf64_Phdr>(base + header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return {};
    if (segment->p_type == PT_LOAD) lowest = std::min(lowest.value_or(~0ULL), segment->p_vaddr);
    if (segment->p_type == PT_DYNAMIC) dynamic = segment->p_vaddr;
  }
  if (!lowest || dynamic == 0) return {};
  bias = base - (*lowest & ~std::uint64_t{0xfff});
  Dynamic found;
  // glibc puts addresses in their place in memory, musl leaves them as they are in the file.
  const auto address = [&](std::uint64_t value) { return value < base ? value + bias : value; };
  for (std::size_t i = 0; i < kMostDynamic; ++i) {
    const auto entry = memory.get<Elf64_Dyn>(bias + dynamic + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_SYMTAB) found.symbols = address(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) found.names = address(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) found.hash = address(entry->d_un.d_ptr);
  }
  return found;
}

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::optional<std::uint64_t> find_dynamic_symbol(Memory& memory, std::uint64_t base,
                                                 std::string_view name) {
  std::uint64_t bias = 0;
  const auto dynamic = read_dynamic(memory, base, bias);
  if (!dynamic || dynamic->symbols == 0 || dynamic->names == 0 || dynamic->hash == 0) return {};
  struct HashHeader {
    std::uint32_t buckets, first_symbol, bloom_words, bloom_shift;
  };
  const auto header = memory.get<HashHeader>(dynamic->hash);
  if (!header || header->buckets == 0) return {};
  const auto hash = gnu_hash(name);
  const auto buckets = dynamic->hash + sizeof(HashHeader) + std::uint64_t{8} * header->bloom_words;
  const auto chains = buckets + std::uint64_t{4} * header->buckets;
  const auto first =
      memory.get<std::uint32_t>(buckets + std::uint64_t{4} * (hash % header->buckets));
  if (!first || *first < header->first_symbol) return {};
  for (std::uint32_t step = 0; step < kMostChain; ++step) {
    const auto index = std::uint64_t{*first} + step;
    const auto chained = memory.get<std::uint32_t>(chains + 4 * (index - header->first_symbol));
    if (!chained) return {};
    if ((*chained | 1) == (hash | 1)) {
      const auto symbol = memory.get<Elf64_Sym>(dynamic->symbols + index * sizeof(Elf64_Sym));
      if (symbol && symbol->st_shndx != SHN_UNDEF &&
          memory.text(dynamic->names + symbol->st_name, name.size() + 1) == name)
        return bias + symbol->st_value;
    }
    if ((*chained & 1) != 0) return {};
  }
  return {};
}

std::vector<MappedImage> runtime_candidates(const std::vector<Mapping>& mappings) {
  std::vector<MappedImage> runtimes;
  std::vector<MappedImage> others;
  for (const auto& mapping : mappings) {
    if (mapping.file_offset != 0 || mapping.path.empty() || mapping.path.front() != '/') continue;
    const auto same = [&](const MappedImage& image) { return image.path == mapping.path; };
    auto& list = file_name(mapping.path).starts_with("libcoreclr.so") ? runtimes : others;
    if (std::any_of(list.begin(), list.end(), same)) continue;
    if (&list == &others &&
        (others.size() >= kMostCandidates || mapping.path.find(".so") != std::string::npos ||
         mapping.path.ends_with(".dll")))
      continue;
    list.push_back({mapping.start, mapping.path});
  }
  runtimes.insert(runtimes.end(), others.begin(), others.end());
  return runtimes;
}

}  // namespace clrscope::inspect
