#include "symbols/native_names.h"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>
#include <unordered_map>

#include "symbols/elf_frames.h"
#include "symbols/native_file.h"

namespace clrscope {
namespace {

constexpr std::size_t kLongestName = 4096;

struct Candidate {
  std::uint64_t start = 0;
  std::uint64_t size = 0;  // 0: unknown
  std::string_view name{};
  std::uint8_t source = 0;   // smaller is better
  std::uint8_t binding = 0;  // likewise
};

bool names_code(const ElfFile& file, const ElfSymbol& symbol) {
  const bool function = symbol.type == STT_FUNC || symbol.type == STT_GNU_IFUNC;
  if (function) return symbol.value != 0;
  // Labels of hand-written code; compilers' own local labels are not among the symbols.
  return symbol.type == STT_NOTYPE && file.is_code(symbol.value);
}

std::size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

// Of several names of one function the one that people know.
bool better(const Candidate& a, const Candidate& b) {
  const auto key = [](const Candidate& c) {
    return std::tuple{c.source,  c.size == 0,   leading_underscores(c.name),
                      c.binding, c.name.size(), c.name};
  };
  return key(a) < key(b);
}

class Candidates {
 public:
  void take(const ElfFile& file, const ElfSymbol& symbol, std::uint8_t source) {
    if (!names_code(file, symbol) || symbol.name.size() > kLongestName) return;
    const std::uint8_t binding = symbol.binding == STB_GLOBAL ? 0
                                 : symbol.binding == STB_WEAK ? 1
                                                              : 2;
    // Labels rank below functions of the same source.
    const auto rank = static_cast<std::uint8_t>(source + (symbol.type == STT_NOTYPE ? 1 : 0));
    all_.push_back({symbol.value, symbol.size, symbol.name, rank, binding});
  }
  void take_all(const ElfFile& file, const ElfFile* debug) {
    file.for_each_symbol([&](const ElfSymbol& symbol) { take(file, symbol, 0); });
    if (debug) debug->for_each_symbol([&](const ElfSymbol& symbol) { take(file, symbol, 2); });
    file.for_each_dynamic_symbol([&](const ElfSymbol& symbol) { take(file, symbol, 4); });
    // Jumps to other files' functions.
    for (const auto name : {".plt", ".plt.sec", ".plt.got"})
      if (const auto* jumps = file.section(name))
        all_.push_back({jumps->vaddr, jumps->size, "[plt]", 5, 0});
  }

  // By start, the best of each first.
  std::vector<Candidate> sorted() && {
    std::sort(all_.begin(), all_.end(), [](const Candidate& a, const Candidate& b) {
      return a.start != b.start ? a.start < b.start : better(a, b);
    });
    return std::move(all_);
  }

 private:
  std::vector<Candidate> all_;
};

}  // namespace

class NativeNames::Builder {
 public:
  Builder(std::uint64_t base, std::size_t most) {
    names_.base_ = base;
    names_.text_.push_back('\0');
    names_.starts_.reserve(most), names_.sizes_.reserve(most), names_.names_.reserve(most);
  }

  void add(std::uint64_t start, std::uint64_t end, std::string_view name) {
    constexpr std::uint64_t kMost = ~std::uint32_t{0};
    if (end <= start || end - names_.base_ > kMost) return;
    if (names_.text_.size() + name.size() >= kMost) return;
    names_.starts_.push_back(static_cast<std::uint32_t>(start - names_.base_));
    names_.sizes_.push_back(static_cast<std::uint32_t>(end - start));
    names_.names_.push_back(text_of(name));
  }
  NativeNames take() && {
    names_.starts_.shrink_to_fit(), names_.sizes_.shrink_to_fit();
    names_.names_.shrink_to_fit(), names_.text_.shrink_to_fit();
    return std::move(names_);
  }

 private:
  std::uint32_t text_of(std::string_view name) {
    if (name.empty()) return 0;
    const auto at = static_cast<std::uint32_t>(names_.text_.size());
    names_.text_.insert(names_.text_.end(), name.begin(), name.end());
    names_.text_.push_back('\0');
    return at;
  }
  NativeNames names_;
};

NativeNames NativeNames::of(const ElfFile& file, const ElfFile* debug) {
  const auto eh_frame = file.eh_frame();
  return of(file, debug, eh_frame ? read_frame_ranges(*eh_frame) : std::vector<FrameRange>{});
}

NativeNames NativeNames::of(const ElfFile& file, const ElfFile* debug,
                            std::span<const FrameRange> frames) {
  Candidates candidates;
  candidates.take_all(file, debug);
  const auto named = std::move(candidates).sorted();

  // Both in order of their starts; a frame record comes after the names of its start.
  constexpr std::uint8_t kFrame = 6;
  auto name = named.begin();
  auto frame = frames.begin();
  const auto next = [&]() -> std::optional<Candidate> {
    if (name != named.end() && (frame == frames.end() || name->start <= frame->start))
      return *name++;
    if (frame == frames.end()) return std::nullopt;
    const auto range = *frame++;
    return Candidate{range.start, range.end - range.start, {}, kFrame, 0};
  };

  // The best of each start. A name without a size ends where the next one begins.
  std::optional<Builder> builder;
  std::optional<Candidate> open;
  const auto close = [&](std::uint64_t begin_of_next) {
    if (!open) return;
    if (!builder) builder.emplace(open->start, named.size() + frames.size());
    builder->add(open->start, open->size == 0 ? begin_of_next : open->start + open->size,
                 open->name);
  };
  std::uint64_t named_up_to = 0;
  while (const auto candidate = next()) {
    if (!candidate->name.empty())
      named_up_to = std::max(named_up_to, candidate->start + candidate->size);
    else if (candidate->start < named_up_to)
      continue;  // a function of hand-written code may have several frame records
    if (!open || open->start != candidate->start) {
      close(candidate->start);
      open = candidate;
    } else if (open->size == 0) {
      open->size = candidate->size;  // which only .eh_frame may know
    }
  }
  if (open) close(open->start + 1);
  return builder ? std::move(*builder).take() : NativeNames{};
}

std::optional<NativeFunction> NativeNames::find(std::uint64_t vaddr) const {
  if (vaddr < base_) return std::nullopt;
  const auto offset = vaddr - base_;
  auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  // A function may lie inside another, as a label in hand-written code: the innermost that reaches.
  for (int tries = 0; after != starts_.begin() && tries < 16; ++tries) {
    --after;
    const auto i = static_cast<std::size_t>(after - starts_.begin());
    if (offset - starts_[i] >= sizes_[i]) continue;
    return NativeFunction{.start = base_ + starts_[i],
                          .end = base_ + starts_[i] + sizes_[i],
                          .name = text_.data() + names_[i]};
  }
  return between(offset);
}

std::optional<NativeFunction> NativeNames::between(std::uint64_t offset) const {
  constexpr std::uint32_t kMost = 64 << 10;
  constexpr int kInside = 16;  // functions that may lie inside others
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), offset);
  if (after == starts_.begin() || after == starts_.end()) return std::nullopt;
  std::uint32_t end = 0;
  auto before = after;
  for (int tries = 0; before != starts_.begin() && tries < kInside; ++tries) {
    --before;
    end = std::max(end, *before + sizes_[static_cast<std::size_t>(before - starts_.begin())]);
  }
  if (end > offset || *after - end > kMost) return std::nullopt;
  return NativeFunction{.start = base_ + end, .end = base_ + *after};
}

std::string NativeNames::name_at(std::uint64_t vaddr) const {
  const auto function = find(vaddr);
  if (!function) return {};
  return function->name.empty() ? fmt::format("fn_{:x}", function->start)
                                : demangled(function->name);
}

std::size_t NativeNames::memory_bytes() const {
  return (starts_.capacity() + sizes_.capacity() + names_.capacity()) * sizeof(std::uint32_t) +
         text_.capacity();
}

std::string demangled(std::string_view name) {
  if (!name.starts_with("_Z") || name.size() > kLongestName) return std::string{name};
  // A version such as @@GLIBCXX_3.4 does not belong to the mangled name.
  const std::string plain{name.substr(0, name.find('@'))};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text{
      abi::__cxa_demangle(plain.c_str(), nullptr, nullptr, &status), std::free};
  return status == 0 && text ? std::string{text.get()} : std::string{name};
}

std::optional<std::string> find_debug_file(const ElfFile& file, const std::string& path,
                                           const DebugFolders& folders) {
  const auto id = file.build_id();
  std::vector<std::string> places;
  const auto slash = path.rfind('/');
  const auto folder = slash == std::string::npos ? std::string{"."} : path.substr(0, slash);
  const auto file_name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (const auto& own = folders.symbol_folder; !own.empty()) {
    if (id.size() > 2) {
      places.push_back(fmt::format("{}/{}.debug", own, id));
      places.push_back(fmt::format("{}/{}/{}.debug", own, id.substr(0, 2), id.substr(2)));
      places.push_back(fmt::format("{}/.build-id/{}/{}.debug", own, id.substr(0, 2), id.substr(2)));
    }
    places.push_back(fmt::format("{}/{}.dbg", own, file_name));
    places.push_back(fmt::format("{}/{}.debug", own, file_name));
  }
  if (id.size() > 2)
    places.push_back(fmt::format("{}/usr/lib/debug/.build-id/{}/{}.debug", folders.root,
                                 id.substr(0, 2), id.substr(2)));
  const auto link = file.debug_link();
  if (link && link->file.find('/') == std::string::npos) {
    places.push_back(fmt::format("{}/{}", folder, link->file));
    places.push_back(fmt::format("{}/.debug/{}", folder, link->file));
    places.push_back(fmt::format("{}/usr/lib/debug{}/{}", folders.root, folder, link->file));
  }
  for (const auto& place : places) {
    if (place == path) continue;
    const auto candidate = NativeFile::open_tables(place, NativeFile::Tables::kHeaders);
    if (!candidate) continue;
    const auto debug = ElfFile::parse(candidate->bytes());
    // The same build: a name alone proves nothing.
    if (debug && !id.empty() && debug->build_id() == id) return place;
  }
  return std::nullopt;
}

namespace {

Result<std::vector<FrameRange>> frames_of(const std::string& path) {
  const auto opened = TRY(NativeFile::open_tables(path, NativeFile::Tables::kFrames));
  const auto file = TRY(ElfFile::parse(opened.bytes()));
  const auto eh_frame = file.eh_frame();
  return eh_frame ? read_frame_ranges(*eh_frame) : std::vector<FrameRange>{};
}

}  // namespace

Result<NativeNames> load_native_names(const std::string& path, const DebugFolders& folders) {
  using Tables = NativeFile::Tables;
  const auto frames = TRY(frames_of(path));  // the section is gone again before symbols are read
  const auto place = folders.known_as.empty() ? path : folders.root + folders.known_as;
  const auto opened = TRY(NativeFile::open_tables(path, Tables::kNames));
  const auto file = TRY(ElfFile::parse(opened.bytes()));
  if (file.section(".symtab")) return NativeNames::of(file, nullptr, frames);
  const auto debug_path = find_debug_file(file, place, folders);
  if (!debug_path) return NativeNames::of(file, nullptr, frames);
  const auto debug_opened = NativeFile::open_tables(*debug_path, Tables::kNames);
  if (!debug_opened) return NativeNames::of(file, nullptr, frames);
  const auto debug = ElfFile::parse(debug_opened->bytes());
  return NativeNames::of(file, debug ? &*debug : nullptr, frames);
}

}  // namespace clrscope
