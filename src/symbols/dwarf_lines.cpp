#include "symbols/dwarf_lines.h"

#include <elf.h>

#include <algorithm>
#include <array>

#include "base/inflate.h"
#include "symbols/elf_frames.h"

namespace clrscope {
namespace {

constexpr std::size_t kLongestPath = 4096;

enum Form : std::uint64_t {
  kBlock2 = 0x03,
  kBlock4 = 0x04,
  kData2 = 0x05,
  kData4 = 0x06,
  kData8 = 0x07,
  kString = 0x08,
  kBlock = 0x09,
  kBlock1 = 0x0a,
  kData1 = 0x0b,
  kStrp = 0x0e,
  kUdata = 0x0f,
  kData16 = 0x1e,
  kLineStrp = 0x1f,
};
enum Content : std::uint64_t { kPath = 1, kDirectory = 2 };

std::string_view take_text(ByteReader& in) {
  ByteReader ahead = in;
  const auto rest = as_text(ahead.rest());
  const auto end = rest.find('\0');
  if (end == std::string_view::npos) {
    in.fail();
    return {};
  }
  in.skip(end + 1);
  return rest.substr(0, end);
}

std::string_view text_at(Bytes strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto rest = as_text(strings.subspan(offset));
  const auto end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

struct FileEntry {
  std::string_view name{};
  std::uint64_t folder = 0;
};

// The head of one line program, and where its instructions lie.
struct Unit {
  std::uint16_t version = 0;
  bool wide = false;  // 64-bit DWARF
  std::uint8_t address_size = 8;
  std::uint8_t least_step = 1;
  std::uint8_t most_ops = 1;
  std::int8_t line_base = 0;
  std::uint8_t line_range = 1;
  std::uint8_t opcode_base = 1;
  std::array<std::uint8_t, 256> operands{};  // by standard opcode
  std::vector<std::string_view> folders;
  std::vector<FileEntry> files;
  Bytes program{};

  // Versions before 5 count files from 1.
  std::string path_of(std::uint64_t file) const {
    const std::uint64_t first = version >= 5 ? 0 : 1;
    if (file < first || file - first >= files.size()) return {};
    const auto& entry = files[file - first];
    std::string path{entry.name.substr(0, kLongestPath)};
    if (path.starts_with('/')) return path;
    // Folder 0 is the compiler's own: before version 5 it is not written here.
    const auto folder = version >= 5 ? entry.folder : entry.folder - 1;
    if ((version < 5 && entry.folder == 0) || folder >= folders.size()) return path;
    auto parent = std::string{folders[folder].substr(0, kLongestPath)};
    if (!parent.starts_with('/') && version >= 5 && folder != 0 && !folders.empty())
      parent = std::string{folders[0].substr(0, kLongestPath)} + "/" + parent;
    return parent + "/" + path;
  }
};

class UnitReader {
 public:
  UnitReader(const DwarfSections& sections, ByteReader& in) : sections_(sections), in_(in) {}

  // Takes the whole unit from the reader; nothing when its head makes no sense.
  std::optional<Unit> next() {
    Unit unit;
    std::uint64_t size = in_.read<std::uint32_t>();
    if (size == 0xffffffff) {
      unit.wide = true;
      size = in_.read<std::uint64_t>();
    }
    if (size > in_.remaining()) in_.fail();
    ByteReader body{in_.take(size)};
    if (!in_.ok()) return std::nullopt;
    unit.version = body.read<std::uint16_t>();
    if (unit.version < 2 || unit.version > 5) return std::nullopt;
    if (unit.version >= 5) {
      unit.address_size = body.read<std::uint8_t>();
      body.skip(1);  // segment selectors: none on this processor
    }
    const auto head_size = offset(body, unit);
    if (head_size > body.remaining()) return std::nullopt;
    ByteReader head{body.take(head_size)};
    unit.program = body.rest();
    if (!read_head(head, unit)) return std::nullopt;
    return unit;
  }

 private:
  static std::uint64_t offset(ByteReader& in, const Unit& unit) {
    return unit.wide ? in.read<std::uint64_t>() : in.read<std::uint32_t>();
  }

  bool read_head(ByteReader& in, Unit& unit) {
    unit.least_step = in.read<std::uint8_t>();
    if (unit.version >= 4) unit.most_ops = in.read<std::uint8_t>();
    in.skip(1);  // whether rows are statements at first
    unit.line_base = in.read<std::int8_t>();
    unit.line_range = in.read<std::uint8_t>();
    unit.opcode_base = in.read<std::uint8_t>();
    for (std::size_t i = 1; i < unit.opcode_base; ++i) unit.operands[i] = in.read<std::uint8_t>();
    if (!in.ok() || unit.line_range == 0 || unit.opcode_base == 0 || unit.most_ops == 0)
      return false;
    if (unit.version >= 5) {
      read_entries(in, unit, [&](const FileEntry& entry) { unit.folders.push_back(entry.name); });
      read_entries(in, unit, [&](const FileEntry& entry) { unit.files.push_back(entry); });
      return true;  // names that cannot be read cost names, not lines
    }
    for (auto text = take_text(in); in.ok() && !text.empty(); text = take_text(in))
      unit.folders.push_back(text);
    for (auto text = take_text(in); in.ok() && !text.empty(); text = take_text(in)) {
      const auto folder = in.read_varuint();
      in.read_varuint();  // time
      in.read_varuint();  // size
      unit.files.push_back({text, folder});
    }
    return true;
  }

  template <class Use>
  void read_entries(ByteReader& in, const Unit& unit, Use&& use) {
    struct Part {
      std::uint64_t content, form;
    };
    std::vector<Part> parts(in.read<std::uint8_t>());
    for (auto& part : parts) part = {in.read_varuint(), in.read_varuint()};
    const auto count = in.read_varuint();
    for (std::uint64_t i = 0; i < count && in.ok() && in.remaining() > 0; ++i) {
      FileEntry entry;
      for (const auto& part : parts) {
        const auto before = in.offset();
        const auto [text, number] = read_form(in, unit, part.form);
        if (!in.ok() || in.offset() == before) return in.fail();
        if (part.content == kPath) entry.name = text;
        if (part.content == kDirectory) entry.folder = number;
      }
      if (parts.empty()) return;
      use(entry);
    }
  }

  struct Value {
    std::string_view text{};
    std::uint64_t number = 0;
  };
  Value read_form(ByteReader& in, const Unit& unit, std::uint64_t form) {
    switch (form) {
      case kString:
        return {take_text(in), 0};
      case kLineStrp:
        return {text_at(sections_.line_strings, offset(in, unit)), 0};
      case kStrp:
        return {text_at(sections_.strings, offset(in, unit)), 0};
      case kUdata:
        return {{}, in.read_varuint()};
      case kData1:
        return {{}, in.read<std::uint8_t>()};
      case kData2:
        return {{}, in.read<std::uint16_t>()};
      case kData4:
        return {{}, in.read<std::uint32_t>()};
      case kData8:
        return {{}, in.read<std::uint64_t>()};
      case kData16:
        in.skip(16);
        return {};
      case kBlock:
        in.skip(in.read_varuint());
        return {};
      case kBlock1:
        in.skip(in.read<std::uint8_t>());
        return {};
      case kBlock2:
        in.skip(in.read<std::uint16_t>());
        return {};
      case kBlock4:
        in.skip(in.read<std::uint32_t>());
        return {};
      default:
        in.fail();
        return {};
    }
  }

  const DwarfSections& sections_;
  ByteReader& in_;
};

struct State {
  std::uint64_t address = 0;
  std::uint64_t op_index = 0;
  std::uint64_t file = 1;
  std::uint64_t line = 1;
};

enum class RowKind : std::uint8_t { kRow, kEnd };

// Runs a program; `use(state, kind)` sees every row and says whether to go on. False when the
// program broke off.
template <class Use>
bool run(Unit& unit, std::uint64_t& budget, Use&& use) {
  ByteReader in{unit.program};
  State state;
  const auto advance = [&](std::uint64_t operations) {
    if (unit.most_ops == 1) {
      state.address += unit.least_step * operations;
      return;
    }
    const auto all = state.op_index + operations;
    state.address += unit.least_step * (all / unit.most_ops);
    state.op_index = all % unit.most_ops;
  };
  const auto emit = [&](RowKind kind) {
    if (budget == 0) return false;  // also in the next unit: it must not wrap
    --budget;
    return use(state, kind);
  };
  while (in.ok() && !in.at_end()) {
    const auto opcode = in.read<std::uint8_t>();
    if (opcode >= unit.opcode_base) {
      const auto special = static_cast<std::uint8_t>(opcode - unit.opcode_base);
      advance(special / unit.line_range);
      state.line +=
          static_cast<std::uint64_t>(std::int64_t{unit.line_base} + special % unit.line_range);
      if (!emit(RowKind::kRow)) return true;
      continue;
    }
    switch (opcode) {
      case 0: {  // extended
        const auto size = in.read_varuint();
        ByteReader operand{in.take(size)};
        if (!in.ok() || size == 0) return false;
        switch (operand.read<std::uint8_t>()) {
          case 1:
            if (!emit(RowKind::kEnd)) return true;
            state = {};
            break;
          case 2:
            state.address = operand.remaining() >= 8 ? operand.read<std::uint64_t>()
                                                     : operand.read<std::uint32_t>();
            state.op_index = 0;
            break;
          case 3: {
            const auto name = take_text(operand);
            const auto folder = operand.read_varuint();
            unit.files.push_back({name, folder});
            break;
          }
          default:
            break;
        }
        break;
      }
      case 1:
        if (!emit(RowKind::kRow)) return true;
        break;
      case 2:
        advance(in.read_varuint());
        break;
      case 3:
        state.line += static_cast<std::uint64_t>(read_sleb(in));
        break;
      case 4:
        state.file = in.read_varuint();
        break;
      case 8:
        advance((255U - unit.opcode_base) / unit.line_range);
        break;
      case 9:
        state.address += in.read<std::uint16_t>();
        state.op_index = 0;
        break;
      default:  // known and unknown ones that do not matter here
        for (unsigned i = 0; i < unit.operands[opcode]; ++i) in.read_varuint();
        break;
    }
  }
  return in.ok();
}

std::uint32_t line_number(std::uint64_t line) {
  return line > 0x7fffffff ? 0 : static_cast<std::uint32_t>(line);
}

// A section's plain bytes: they may be compressed.
Bytes plain(const ElfFile& file, std::string_view name,
            std::vector<std::vector<std::uint8_t>>& inflated) {
  const auto* section = file.section(name);
  if (!section) return {};
  if ((section->flags & SHF_COMPRESSED) == 0) return section->bytes;
  ByteReader in{section->bytes};
  const auto head = in.read<Elf64_Chdr>();
  if (!in.ok() || (head.ch_type != ELFCOMPRESS_ZLIB && head.ch_type != 2)) return {};
  auto bytes = inflate_piece(head.ch_type == ELFCOMPRESS_ZLIB ? Packing::kZlib : Packing::kZstd,
                             in.rest(), head.ch_size);
  if (!bytes) return {};
  inflated.push_back(std::move(*bytes));
  return inflated.back();
}

}  // namespace

Result<DwarfLines> DwarfLines::of(const ElfFile& file) {
  std::vector<std::vector<std::uint8_t>> inflated;
  inflated.reserve(3);
  const DwarfSections sections{.line = plain(file, ".debug_line", inflated),
                               .line_strings = plain(file, ".debug_line_str", inflated),
                               .strings = plain(file, ".debug_str", inflated)};
  if (sections.line.empty()) return fail(Errc::kNotFound, "no .debug_line");
  DwarfLines lines{sections};
  lines.inflated_ = std::move(inflated);  // moving the vectors leaves their bytes where they are
  return lines;
}

DwarfLines::DwarfLines(const DwarfSections& sections, std::uint64_t most_rows)
    : sections_(sections) {
  ByteReader in{sections_.line.first(std::min<std::size_t>(sections_.line.size(), 0xffffffff))};
  std::uint64_t budget = most_rows;
  while (in.ok() && !in.at_end() && budget > 0) {
    const auto at = static_cast<std::uint32_t>(in.offset());
    auto unit = UnitReader{sections_, in}.next();
    if (!unit) {
      ++damaged_;
      continue;
    }
    std::optional<std::uint64_t> start;
    const bool whole = run(*unit, budget, [&](const State& state, RowKind kind) {
      if (!start || state.address < *start) start = state.address;
      if (kind == RowKind::kRow) return true;
      // The linker leaves what it threw away at address 0.
      if (*start != 0 && *start < state.address)
        sequences_.push_back({.start = *start, .end = state.address, .unit = at});
      start.reset();
      return true;
    });
    if (!whole) ++damaged_;
  }
  std::stable_sort(sequences_.begin(), sequences_.end(),
                   [](const Sequence& a, const Sequence& b) { return a.start < b.start; });
  std::uint64_t max_end = 0;
  for (auto& s : sequences_) s.max_end = max_end = std::max(max_end, s.end);
}

std::optional<SourceLine> DwarfLines::find(std::uint64_t vaddr) const {
  auto after =
      std::upper_bound(sequences_.begin(), sequences_.end(), vaddr,
                       [](std::uint64_t address, const Sequence& s) { return address < s.start; });
  for (int tries = 0; after != sequences_.begin() && tries < 16; ++tries) {
    --after;
    if (after->max_end <= vaddr) return std::nullopt;
    if (after->end <= vaddr) continue;
    ByteReader in{sections_.line.subspan(after->unit)};
    auto unit = UnitReader{sections_, in}.next();
    if (!unit) return std::nullopt;
    std::uint64_t budget = kMostRows;
    std::optional<State> before, best;
    run(*unit, budget, [&](const State& state, RowKind kind) {
      if (before && before->address <= vaddr && vaddr < state.address) best = before;
      if (kind == RowKind::kEnd)
        before.reset();
      else
        before = state;
      return !best;
    });
    if (!best) continue;
    SourceLine place{.file = unit->path_of(best->file), .line = line_number(best->line)};
    // Line 0 is code that belongs to no line.
    if (place.file.empty() || place.line == 0) return std::nullopt;
    return place;
  }
  return std::nullopt;
}

std::vector<DwarfLines::Row> DwarfLines::rows() const {
  std::vector<Row> all;
  ByteReader in{sections_.line};
  std::uint64_t budget = kMostRows;
  while (in.ok() && !in.at_end() && budget > 0) {
    auto unit = UnitReader{sections_, in}.next();
    if (!unit) continue;
    run(*unit, budget, [&](const State& state, RowKind kind) {
      all.push_back({.vaddr = state.address,
                     .file = unit->path_of(state.file),
                     .line = line_number(state.line),
                     .end = kind == RowKind::kEnd});
      return true;
    });
  }
  return all;
}

}  // namespace clrscope
