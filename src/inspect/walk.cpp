#include "inspect/walk.h"

#include <fmt/format.h>

#include <algorithm>

#include "inspect/prologue_x64.h"
#include "symbols/elf.h"
#include "symbols/elf_frames.h"
#include "symbols/native_file.h"
#include "symbols/pe.h"
#include "unwind/cfi_table.h"
#include "unwind/code_map.h"
#include "unwind/r2r_table.h"

namespace clrscope::inspect {
namespace {

constexpr std::uint64_t kRedZone = 128;
constexpr std::size_t kMostFrames = 20'000;
constexpr std::size_t kMostVdso = 64 * 1024;
constexpr std::size_t kMostWanted = 100'000;  // of one file; then its rules are made anew

}  // namespace

// What the runtime says of its code, asked once for each address.
class Walker::RuntimeRules final : public unwind::JitUnwindInfo {
 public:
  explicit RuntimeRules(RuntimeReader& reader) : reader_(reader) {}
  bool find(std::uint64_t address, unwind::UnwindRule& rule) const override {
    auto known = rules_.find(address);
    if (known == rules_.end()) known = rules_.emplace(address, reader_.unwind_rule(address)).first;
    if (!known->second) return false;
    answered_ = true;
    rule = *known->second;
    return true;
  }
  // Whether the reader knows rules at all.
  bool answered() const { return answered_; }

 private:
  RuntimeReader& reader_;
  mutable bool answered_ = false;
  mutable std::unordered_map<std::uint64_t, std::optional<unwind::UnwindRule>> rules_;
};

class Walker::TargetCode final : public unwind::CodeBytes {
 public:
  explicit TargetCode(Target& target) : memory_(target.memory()) {}
  std::size_t read(std::uint64_t address, std::span<std::uint8_t> out) override {
    return memory_.read(address, out);
  }

 private:
  MemorySource& memory_;
};

// A file that is mapped, parsed when a stack first names it.
struct Walker::File {
  std::optional<NativeFile> file;
  std::vector<std::uint8_t> memory;  // of what is no file: the kernel's own library
  std::optional<ElfFile> elf;
  std::optional<PeFile> image;

  void parse(Bytes bytes) {
    if (auto parsed = ElfFile::parse(bytes))
      elf = *std::move(parsed);
    else if (auto pe = PeFile::parse(bytes))
      image = *std::move(pe);
  }
};

struct Walker::Code {
  const Mapping* mapping = nullptr;
  bool opened = false;
  File* file = nullptr;                  // null: nothing is known of it but the runtime may know
  std::uint64_t bias = 0;                // address - bias = the file's own address
  std::vector<std::uint64_t> wanted{};   // what the table knows, sorted
  std::vector<std::uint64_t> missing{};  // and what it must know too
  unwind::LazyTable table{};
};

Walker::Walker(Target& target, RuntimeReader* reader, std::vector<Mapping> mappings)
    : target_(target), reader_(reader), bytes_(new TargetCode{target}) {
  map(std::move(mappings));
  buffer_.resize(256);
}

void Walker::map(std::vector<Mapping> mappings) {
  std::ranges::sort(mappings, {}, &Mapping::start);
  std::vector<Code> codes;
  for (const auto& m : mappings) {
    if (!m.executable || m.start >= m.end) continue;
    auto* const before = code_at(m.start);
    const bool same = before && before->file && before->wanted.size() < kMostWanted &&
                      before->mapping->start == m.start && before->mapping->end == m.end &&
                      before->mapping->file_offset == m.file_offset &&
                      before->mapping->path == m.path;
    codes.push_back(same ? std::move(*before) : Code{});
    codes.back().mapping = &m;
  }
  codes_ = std::move(codes);
  mappings_ = std::move(mappings);  // moved as a whole: what points into it stays valid
  std::erase_if(files_, [&](const auto& one) {
    return std::ranges::find(codes_, one.second.get(), &Code::file) == codes_.end();
  });
  space_ = {};
  for (const auto& code : codes_) add_to_space(code);
  if (reader_) rules_ = std::make_unique<RuntimeRules>(*reader_);
}

Result<> Walker::look_again() {
  map(TRY(target_.mappings()));
  return {};
}

void Walker::add_to_space(const Code& code) {
  unwind::CodeRange range{.start = code.mapping->start, .end = code.mapping->end};
  if (code.file && !code.wanted.empty()) {
    range.bias = code.bias;
    range.kind = code.file->elf ? unwind::CodeKind::kElf : unwind::CodeKind::kR2r;
    range.table = &code.table;
  }
  space_.add(range);
}

Walker::~Walker() = default;

Result<std::unique_ptr<Walker>> Walker::of(Target& target, RuntimeReader* reader) {
  auto mappings = TRY(target.mappings());
  return std::unique_ptr<Walker>{new Walker{target, reader, std::move(mappings)}};
}

const Mapping* Walker::mapping_at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(mappings_, address, {}, &Mapping::start);
  if (after == mappings_.begin()) return nullptr;
  const auto& mapping = *std::prev(after);
  return address < mapping.end ? &mapping : nullptr;
}

Walker::Code* Walker::code_at(std::uint64_t address) {
  const auto after =
      std::ranges::upper_bound(codes_, address, {}, [](const Code& c) { return c.mapping->start; });
  if (after == codes_.begin()) return nullptr;
  auto& code = *std::prev(after);
  return address < code.mapping->end ? &code : nullptr;
}

StackImage Walker::read_stack(const unwind::Registers& registers, std::size_t most) {
  StackImage stack{.registers = registers};
  const auto rsp = registers[unwind::kRsp];
  const auto* mapping = registers.knows(unwind::kRsp) ? mapping_at(rsp) : nullptr;
  if (!mapping || !mapping->writable) return stack;
  stack.address =
      std::max(mapping->start, (rsp > kRedZone ? rsp - kRedZone : 0) & ~std::uint64_t{7});
  stack.bytes.resize(std::min<std::uint64_t>(mapping->end - stack.address, most));
  stack.bytes.resize(target_.memory().read(stack.address, stack.bytes));
  return stack;
}

bool Walker::cut_short(const StackImage& stack) const {
  const auto* mapping = mapping_at(stack.address);
  return mapping && stack.address + stack.bytes.size() < mapping->end;
}

Walker::File* Walker::file_of(const Mapping& mapping) {
  const auto [slot, is_new] = files_.try_emplace(mapping.path);
  auto& file = slot->second;
  if (!is_new) return file.get();
  file = std::make_unique<File>();
  if (mapping.path == "[vdso]") {
    file->memory.resize(std::min<std::uint64_t>(mapping.end - mapping.start, kMostVdso));
    file->memory.resize(target_.memory().read(mapping.start, file->memory));
    file->parse(file->memory);
    return file.get();
  }
  const auto fd = target_.open_file(mapping.path);
  if (!fd) return file.get();
  if (auto opened = NativeFile::open_few_pages(fmt::format("/proc/self/fd/{}", fd->get()))) {
    file->file = *std::move(opened);
    file->parse(file->file->bytes());
  }
  return file.get();
}

void Walker::open(Code& code) {
  code.opened = true;
  const auto& mapping = *code.mapping;
  if (!unwind::is_jit_mapping(mapping.path)) {
    auto* file = file_of(mapping);
    std::optional<std::uint64_t> at;
    if (file->elf) at = code_vaddr_of_offset(file->elf->segments(), mapping.file_offset);
    if (file->image) at = file->image->rva_of_offset(mapping.file_offset);
    if (at) {
      code.file = file;
      code.bias = mapping.start - *at;
      return;
    }
  }
  // Jitted, or an image inside of a bundle: the runtime knows it, if anybody.
  space_.add({.start = mapping.start, .end = mapping.end, .kind = unwind::CodeKind::kJit});
}

void Walker::note(std::uint64_t address) {
  auto* code = code_at(address);
  if (!code) return;
  if (!code->opened) open(*code);
  if (!code->file) return;
  const auto vaddr = address - code->bias;
  if (!std::ranges::binary_search(code->wanted, vaddr)) code->missing.push_back(vaddr);
}

void Walker::note_words(const StackImage& stack) {
  note(stack.registers[unwind::kRip]);
  if (codes_.empty()) return;
  const auto low = codes_.front().mapping->start;
  const auto high = codes_.back().mapping->end;
  for (std::size_t at = 0; at + 8 <= stack.bytes.size(); at += 8) {
    std::uint64_t word = 0;
    __builtin_memcpy(&word, stack.bytes.data() + at, 8);
    if (word <= low || word > high) continue;
    note(word - 1);  // a return address may be the first after its function
  }
}

void Walker::prepare(std::span<const StackImage> stacks) {
  for (const auto& stack : stacks) note_words(stack);
  for (auto& code : codes_) {
    if (code.missing.empty()) continue;
    code.wanted.insert(code.wanted.end(), code.missing.begin(), code.missing.end());
    code.missing.clear();
    std::ranges::sort(code.wanted);
    code.wanted.erase(std::ranges::unique(code.wanted).begin(), code.wanted.end());
    const bool native = code.file->elf.has_value();
    code.table = unwind::LazyTable{native ? unwind::make_cfi_table(*code.file->elf, code.wanted)
                                          : unwind::make_r2r_table(*code.file->image, code.wanted)};
    add_to_space(code);
  }
}

WalkedStack Walker::walk_from(const unwind::Registers& registers, const StackImage& stack) {
  // Without rules the instructions say more of an innermost frame, once all registers are known.
  const bool by_rules = rules_ && (rules_->answered() || !registers.knows(unwind::kRbp));
  unwind::Unwinder unwinder{space_, by_rules ? rules_.get() : nullptr, bytes_.get()};
  while (true) {
    const auto done =
        unwinder.unwind(registers, {.address = stack.address, .bytes = stack.bytes}, buffer_);
    if (done.stop == unwind::Stop::kTooDeep && buffer_.size() < kMostFrames) {
      buffer_.resize(buffer_.size() * 4);
      continue;
    }
    return {.frames = {buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(done.frames)},
            .stop = done.stop};
  }
}

WalkedStack Walker::walk(const StackImage& stack) {
  auto walked = walk_from(stack.registers, stack);
  if (walked.stop != unwind::Stop::kNoRule || walked.frames.empty()) return walked;
  if (stack.registers.knows(unwind::kRbp)) return walked;
  // Nobody saved rbp on the way here: the function that needs it says where it put it.
  auto last = walked.frames.back();
  const auto rbp = rbp_of(last, stack);
  if (!rbp) return walked;
  unwind::Registers registers;
  registers.set(unwind::kRip, last.pc);
  registers.set(unwind::kRsp, last.sp);
  registers.set(unwind::kRbp, *rbp);
  auto rest = walk_from(registers, stack);
  walked.frames.insert(walked.frames.end(), rest.frames.begin() + 1, rest.frames.end());
  walked.stop = rest.stop;
  return walked;
}

std::optional<std::uint64_t> Walker::rbp_of(const unwind::Frame& frame, const StackImage& stack) {
  auto* code = code_at(frame.lookup_pc());
  if (!code || !code->file || !code->file->elf) return std::nullopt;
  const std::uint64_t vaddr = frame.lookup_pc() - code->bias;
  const auto records = find_frame_records(*code->file->elf, {&vaddr, 1});
  if (!records || records->fdes.size() != 1) return std::nullopt;
  const auto distance = rbp_above_rsp(code->file->elf->bytes_at(records->fdes[0].start));
  if (!distance) return std::nullopt;
  const auto rbp = frame.sp + *distance;
  const unwind::StackCopy copy{.address = stack.address, .bytes = stack.bytes};
  std::uint64_t caller = 0;
  std::uint64_t saved = 0;
  if (!copy.read(rbp, saved) || !copy.read(rbp + 8, caller)) return std::nullopt;
  const bool sane = caller == 0 || space_.find(caller - 1) != nullptr;
  return sane && (saved == 0 || saved > rbp) ? std::optional{rbp} : std::nullopt;
}

std::optional<Walker::NativePlace> Walker::native_place(std::uint64_t pc) {
  auto* code = code_at(pc);
  if (!code) return std::nullopt;
  if (!code->opened) open(*code);
  if (!code->file || !code->file->elf) return std::nullopt;
  return NativePlace{&code->mapping->path, pc - code->bias};
}

}  // namespace clrscope::inspect
