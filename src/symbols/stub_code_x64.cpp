#include "symbols/stub_code.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace clrscope {
namespace {

using std::string_view;

constexpr std::uint64_t kAlignment = 8;  // of every stub

struct Form {
  string_view name;
  std::size_t size;   // of the whole stub
  string_view bytes;  // how it begins: two digits or "??" each
};

// The data that a stub of the first three works with lies a fixed distance behind it, in a page of
// its own.
constexpr std::array<Form, 15> kForms{{
    {"[stub: method entry]", 24, "ff25????00004c8b15????0000ff25????0000"},
    {"[stub: method entry]", 24, "4c8b15????0000ff25????0000"},
    {"[stub: call counting]", 24, "488b05????000066ff087406ff25????0000ff25????0000"},
    {"[stub: interface call]", 32,
     "48b8????????????????48390790"
     "48b8????????????????0f85????????ffe0"},
    {"[stub: interface call]", 82,
     "488b075249ba????????????????488bd048c1e80c4803c24835????????4825"},
    {"[stub: interface call]", 24, "ff35????????ff25????0000"},
    {"[stub: jump]", 12, "48b8????????????????ffe0"},
    // What precompiled code asks for when it first needs it, and then finds ready.
    {"[stub: lookup]", 16, "48b8????????????????c3cc"},
    {"[stub: lookup]", 16, "48b8????????????????c39090"},
    {"[stub: lookup]", 16, "48bf????????????????e9????????cc"},
    {"[stub: lookup]", 16, "48be????????????????e9????????cc"},
    {"[stub: lookup]", 16, "48ba????????????????e9????????cc"},
    {"[stub: lookup]", 24, "488bf748bf????????????????e9"},
    {"[stub: lookup]", 25, "48bf????????????????48be????????????????e9????????cc"},
    {"[stub: lookup]", 40, "488b47??488b40"},
}};
// A lookup that goes through a dictionary ends in one of two ways; in between are loads.
constexpr string_view kDictionaryEnd = "4885c07401c348be????????????????e9";

// A delegate of a static method: what is called has no use for the delegate itself, so all
// arguments move up.
constexpr string_view kDelegateHead = "488bc44989fb";
constexpr std::array<string_view, 8> kDelegateMoves{"4889f7", "4889d6",   "4889ca",   "4c89c1",
                                                    "4d89c8", "4c8b48??", "4c8b50??", "4c8950??"};
constexpr std::array<string_view, 2> kDelegateEnds{"4d8b53??4983c3??49ffe2",   // .NET 8, 9
                                                   "4d8b53??4983c3??41ffe2"};  // 10
// A method by its place in the type's table, which has two levels.
constexpr std::array<string_view, 4> kVirtualCalls{
    "488b07488b40??ff60??", "488b07488b40??ffa0????????", "488b07488b80????????ff60??",
    "488b07488b80????????ffa0????????"};

// The barriers lie together at the start of a page. How one of them begins tells all.
constexpr std::size_t kBarriers = 0x400;
constexpr std::array<string_view, 3> kBarrierForms{"4889374989f848b8",
                                                   "48893748b8????????????????48c1ef0b",
                                                   "48893790????????????????????????48c1"};

class Pattern {
 public:
  explicit Pattern(string_view text) {
    for (std::size_t i = 0; i + 1 < text.size(); i += 2)
      bytes_.push_back(text[i] == '?' ? -1 : digit(text[i]) * 16 + digit(text[i + 1]));
  }
  bool fits(Bytes code) const {
    return code.size() >= bytes_.size() &&
           std::equal(bytes_.begin(), bytes_.end(), code.begin(),
                      [](int wanted, std::uint8_t there) { return wanted < 0 || wanted == there; });
  }
  std::size_t size() const { return bytes_.size(); }
  bool inside(Bytes code) const {
    for (; !code.empty(); code = code.subspan(1))
      if (fits(code)) return true;
    return false;
  }

 private:
  static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }
  std::vector<int> bytes_;  // -1: any
};

template <std::size_t N>
std::vector<Pattern> patterns(const std::array<string_view, N>& texts) {
  return {texts.begin(), texts.end()};
}

// How long what fits at the start of the code is; 0: nothing does.
std::size_t fitting(const std::vector<Pattern>& choices, Bytes code) {
  const auto found =
      std::ranges::find_if(choices, [&](const Pattern& one) { return one.fits(code); });
  return found == choices.end() ? 0 : found->size();
}

std::size_t delegate_size(Bytes code) {
  static const Pattern head_form{kDelegateHead};
  static const auto moves = patterns(kDelegateMoves);
  static const auto ends = patterns(kDelegateEnds);
  if (!head_form.fits(code)) return 0;
  auto size = head_form.size();
  while (const auto move = fitting(moves, code.subspan(size))) size += move;
  const auto end = fitting(ends, code.subspan(size));
  return end == 0 ? 0 : size + end;
}

std::size_t virtual_call_size(Bytes code) {
  static const auto all = patterns(kVirtualCalls);
  return fitting(all, code);
}

std::optional<StubCode> form_at(Bytes code, std::uint64_t start, std::uint64_t address) {
  static const Pattern dictionary_end{kDictionaryEnd};
  static const auto all = [] {
    std::vector<Pattern> made;
    made.reserve(kForms.size());
    for (const auto& form : kForms) made.emplace_back(form.bytes);
    return made;
  }();
  for (std::size_t i = 0; i < kForms.size(); ++i) {
    const auto& form = kForms[i];
    if (address - start >= form.size || !all[i].fits(code)) continue;
    const bool dictionary = i + 1 == kForms.size();
    if (dictionary && !dictionary_end.inside(code.first(std::min(code.size(), form.size))))
      continue;
    return StubCode{start, start + form.size, form.name};
  }
  if (const auto size = delegate_size(code); address - start < size)
    return StubCode{start, start + size, "[stub: delegate]"};
  if (const auto size = virtual_call_size(code); address - start < size)
    return StubCode{start, start + size, "[stub: virtual call]"};
  return std::nullopt;
}

}  // namespace

std::optional<StubCode> stub_at(Bytes code, std::uint64_t code_start, std::uint64_t address) {
  constexpr std::uint64_t kPage = 4096;
  if (address < code_start || address - code_start >= code.size()) return std::nullopt;
  for (auto start = address - address % kAlignment;
       start >= code_start && address - start < kStubReach; start -= kAlignment) {
    if (auto found = form_at(code.subspan(start - code_start), start, address)) return found;
    if (start < kAlignment) break;
  }
  const auto page = address - address % kPage;
  if (page < code_start || address - page >= kBarriers) return std::nullopt;
  const auto head = code.subspan(page - code_start);
  const auto barriers = head.first(std::min(head.size(), kBarriers));
  static const auto all = patterns(kBarrierForms);
  if (std::ranges::any_of(all, [&](const Pattern& one) { return one.inside(barriers); }))
    return StubCode{page, page + kBarriers, "[stub: write barrier]"};
  return std::nullopt;
}

}  // namespace clrscope
