#include "unwind/r2r_table.h"

#include <algorithm>

namespace clrscope::unwind {
namespace {

constexpr std::size_t kMaxChain = 8;
constexpr std::uint8_t kChained = 4;  // flag: another function's codes come first

// Windows numbers registers as the processor does.
constexpr Reg kByNumber[16] = {kRax, kRcx, kRdx, kRbx, kRsp, kRbp, kRsi, kRdi,
                               kR8,  kR9,  kR10, kR11, kR12, kR13, kR14, kR15};

// One thing that a prologue did. Without initial values: 255 of them are made for each function.
struct Deed {
  std::uint8_t prologue_end;  // offset of the instruction after it
  enum class Kind : std::uint8_t { kPush, kAllocate, kSetFrame, kSave, kOther } kind;
  std::uint8_t reg;
  std::uint32_t amount;
};

struct Info {
  std::array<Deed, 255> deeds;  // the last one first, as in the file
  std::size_t count = 0;
  std::optional<std::uint32_t> chained;  // RVA of the info that comes before
};

// Slots of 16 bits, read one deed at a time; false at an unknown or cut one.
bool read_deed(ByteReader& in, std::size_t& slots, std::uint8_t frame, Deed& deed) {
  deed.prologue_end = in.read<std::uint8_t>();
  const auto op = in.read<std::uint8_t>();
  const auto info = static_cast<std::uint8_t>(op >> 4);
  std::size_t used = 1;
  deed.kind = Deed::Kind::kOther;
  deed.reg = info;
  deed.amount = 0;
  switch (op & 15) {
    case 0:
      deed.kind = Deed::Kind::kPush;
      break;
    case 1:
      deed.kind = Deed::Kind::kAllocate;
      if (info > 1) return false;
      deed.amount = info == 0 ? in.read<std::uint16_t>() * 8u : in.read<std::uint32_t>();
      used = info == 0 ? 2 : 3;
      break;
    case 2:
      deed.kind = Deed::Kind::kAllocate;
      deed.amount = info * 8u + 8u;
      break;
    case 3:
      deed.kind = Deed::Kind::kSetFrame;
      deed.reg = frame & 15;
      deed.amount = (frame >> 4) * 16u;
      break;
    case 4:
      deed.kind = Deed::Kind::kSave;
      deed.amount = in.read<std::uint16_t>() * 8u;
      used = 2;
      break;
    case 5:
      deed.kind = Deed::Kind::kSave;
      deed.amount = in.read<std::uint32_t>();
      used = 3;
      break;
    case 8:
      in.skip(2), used = 2;
      break;  // vector registers
    case 9:
      in.skip(4), used = 3;
      break;
    case 11: {  // set_fpreg_large
      const auto scaled = in.read<std::uint32_t>();
      deed.kind = Deed::Kind::kSetFrame;
      deed.reg = frame & 15;
      deed.amount = scaled > (1u << 24) ? 0 : scaled * 16u;
      used = 3;
      break;
    }
    default:
      return false;
  }
  if (!in.ok() || used > slots || deed.amount > (1u << 30)) return false;
  slots -= used;
  return true;
}

bool read_info(Bytes bytes, Info& info) {
  ByteReader in{bytes};
  const auto head = in.read<std::uint8_t>();
  in.skip(1);  // the prologue's size: the deeds say more
  const std::size_t slots = in.read<std::uint8_t>();
  const auto frame = in.read<std::uint8_t>();
  const auto version = head & 7;
  if (!in.ok() || (version != 1 && version != 2)) return false;
  for (auto left = slots; left > 0;)
    if (!read_deed(in, left, frame, info.deeds[info.count++])) return false;
  if ((head >> 3 & kChained) != 0) {
    if (slots % 2 != 0) in.skip(2);
    in.skip(8);
    info.chained = in.read<std::uint32_t>();
  }
  return in.ok();
}

// What holds after the deeds so far.
class State {
 public:
  State() {
    rule_.cfa = UnwindRule::Cfa::kRegPlus;
    rule_.cfa_register = kRsp;
    rule_.cfa_offset = 8;
    rule_.of(kRip) = {Saved::kAtCfa, -8};
  }
  const UnwindRule& rule() const { return rule_; }

  // `all` is the stack that the whole prologue takes: what saves count from.
  bool apply(const Deed& deed, std::int64_t all) {
    switch (deed.kind) {
      case Deed::Kind::kPush:
        return grow(8) && keep(deed.reg, -depth_);
      case Deed::Kind::kAllocate:
        return grow(deed.amount);
      case Deed::Kind::kSetFrame:
        rule_.cfa_register = kByNumber[deed.reg];
        rule_.cfa_offset = static_cast<std::int32_t>(depth_ - deed.amount);
        return true;
      case Deed::Kind::kSave:
        return keep(deed.reg, deed.amount - all);
      case Deed::Kind::kOther:
        return true;
    }
    return false;
  }
  std::int64_t depth() const { return depth_; }

 private:
  bool grow(std::int64_t amount) {
    depth_ += amount;
    if (depth_ > (1 << 30)) return false;
    if (rule_.cfa_register == kRsp) rule_.cfa_offset = static_cast<std::int32_t>(depth_);
    return true;
  }
  bool keep(std::uint8_t number, std::int64_t from_cfa) {
    const auto kept = kept_index(kByNumber[number & 15]);
    if (!kept) return true;
    if (from_cfa > RegRule::kMost || from_cfa < -RegRule::kMost) return false;
    rule_.saved[*kept] = {Saved::kAtCfa, static_cast<std::int32_t>(from_cfa)};
    return true;
  }

  UnwindRule rule_;
  std::int64_t depth_ = 8;  // from rsp to the CFA
};

std::int64_t stack_of(const Info& info) {
  std::int64_t all = 0;
  for (std::size_t i = 0; i < info.count; ++i) {
    if (info.deeds[i].kind == Deed::Kind::kPush) all += 8;
    if (info.deeds[i].kind == Deed::Kind::kAllocate) all += info.deeds[i].amount;
  }
  return all;
}

// All of a chained info's deeds have been done before ours begin.
bool apply_chain(State& state, const PeFile* image, std::uint32_t rva, std::size_t left) {
  if (!image || left == 0) return false;
  Info info;
  if (!read_info(image->bytes_at(rva), info)) return false;
  if (info.chained && !apply_chain(state, image, *info.chained, left - 1)) return false;
  const auto all = state.depth() + stack_of(info);
  for (auto i = info.count; i > 0; --i)
    if (!state.apply(info.deeds[i - 1], all)) return false;
  return true;
}

}  // namespace

bool add_unwind_codes(UnwindTableBuilder& table, const PeFile* image, Bytes bytes,
                      std::uint64_t begin, std::uint64_t end) {
  Info info;
  State state;
  if (!read_info(bytes, info)) return false;
  if (info.chained && !apply_chain(state, image, *info.chained, kMaxChain)) return false;
  if (!table.begin_function(begin, end)) return true;  // a second record of one range
  table.add(begin, state.rule());
  const auto all = state.depth() + stack_of(info);
  std::uint8_t at = 0;
  for (auto i = info.count; i > 0; --i) {
    const auto& deed = info.deeds[i - 1];
    if (deed.prologue_end < at || !state.apply(deed, all)) {
      table.add_unknown(begin);
      return false;
    }
    at = deed.prologue_end;
    table.add(begin + at, state.rule());
  }
  return true;
}

std::optional<UnwindRule> rule_of_unwind_codes(Bytes bytes, std::uint64_t offset) {
  Info info;
  State state;
  if (!read_info(bytes, info) || info.chained) return std::nullopt;
  const auto all = state.depth() + stack_of(info);
  for (auto i = info.count; i > 0 && info.deeds[i - 1].prologue_end <= offset; --i)
    if (!state.apply(info.deeds[i - 1], all)) return std::nullopt;
  return state.rule();
}

namespace {

struct Function {
  std::uint32_t begin, end, info;
};

// The exception directory, as it is: crossgen sorts it.
Bytes functions_of(const PeFile& image) {
  const auto directory = image.exceptions();
  const auto bytes = image.bytes_at(directory.rva);
  return bytes.first(std::min<std::size_t>(bytes.size(), directory.size));
}

void add_function(UnwindTableBuilder& table, const PeFile& image, const Function& f) {
  if (f.begin >= f.end || !add_unwind_codes(table, &image, image.bytes_at(f.info), f.begin, f.end))
    table.count_damaged(1);
}

}  // namespace

UnwindTable make_r2r_table(const PeFile& image) {
  std::vector<Function> functions;
  ByteReader in{functions_of(image)};
  functions.reserve(in.remaining() / sizeof(Function));
  while (in.remaining() >= sizeof(Function)) functions.push_back(in.read<Function>());
  std::sort(functions.begin(), functions.end(),
            [](const Function& a, const Function& b) { return a.begin < b.begin; });

  UnwindTableBuilder table{0};
  for (const auto& f : functions) add_function(table, image, f);
  return std::move(table).take();
}

UnwindTable make_r2r_table(const PeFile& image, std::span<const std::uint64_t> rvas) {
  const auto functions = functions_of(image);
  const auto function = [&](std::size_t number) {
    return ByteReader{functions.subspan(number * sizeof(Function))}.read<Function>();
  };
  UnwindTableBuilder table{0};
  auto next = std::size_t{0};  // what is before it has been added
  for (const auto rva : rvas) {
    auto low = next;
    auto high = functions.size() / sizeof(Function);
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      if (function(middle).begin <= rva)
        low = middle + 1;
      else
        high = middle;
    }
    if (low == next) continue;
    const auto found = function(low - 1);
    if (rva < found.end) add_function(table, image, found), next = low;
  }
  return std::move(table).take();
}

}  // namespace clrscope::unwind
