#include "inspect/dac/names.h"

#include <array>
#include <utility>

namespace clrscope::inspect::dac {
namespace {

using std::string_view;

constexpr std::array<std::pair<string_view, string_view>, 18> kBuiltIns{{
    {"Boolean", "bool"},
    {"Char", "char"},
    {"SByte", "sbyte"},
    {"Byte", "byte"},
    {"Int16", "short"},
    {"UInt16", "ushort"},
    {"Int32", "int"},
    {"UInt32", "uint"},
    {"Int64", "long"},
    {"UInt64", "ulong"},
    {"Single", "float"},
    {"Double", "double"},
    {"IntPtr", "nint"},
    {"UIntPtr", "nuint"},
    {"Void", "void"},
    {"System.String", "string"},
    {"System.Object", "object"},
    {"ByRef", "&"},
}};

string_view word_of(string_view word) {
  for (const auto& [theirs, ours] : kBuiltIns)
    if (word == theirs) return ours;
  return word;
}

// Where the list of arguments begins; nothing when there is none. Names have parentheses only
// there.
std::size_t list_of(string_view name) { return name.find('('); }

}  // namespace

std::string readable_type(string_view name) {
  // An argument is in brackets of its own, with its assembly behind a comma: "[[A, lib],[B, lib]]".
  std::string out;
  std::vector<bool> qualified;  // for each open bracket: it holds one argument and its assembly
  for (std::size_t at = 0; at < name.size(); ++at) {
    const char c = name[at];
    if (c == '[') {
      const bool inner = !qualified.empty() && (name[at - 1] == '[' || name[at - 1] == ',');
      qualified.push_back(inner);
      if (!inner) out += c;
    } else if (c == ']') {
      const bool inner = !qualified.empty() && qualified.back();
      if (!qualified.empty()) qualified.pop_back();
      if (!inner) out += c;
    } else if (c == ',' && !qualified.empty() && qualified.back()) {
      // The assembly up to the bracket that closes this argument.
      const auto end = name.find(']', at);
      if (end == string_view::npos) break;
      at = end - 1;
    } else {
      out += c;
    }
  }
  return out;
}

std::string readable_full_name(string_view name) {
  // Code that a program made at run time; the runtime's events have it in lower case.
  constexpr string_view kMade = "DynamicClass.";
  if (name.starts_with(kMade))
    return "dynamicClass." + readable_full_name(name.substr(kMade.size()));
  const auto list = list_of(name);
  if (list == string_view::npos) return readable_type(name);
  auto out = readable_type(name.substr(0, list));
  string_view rest = name.substr(list);
  constexpr string_view kEnds = " ,()<>[]&*";
  while (!rest.empty()) {
    const auto end = rest.find_first_of(kEnds);
    const auto word = word_of(rest.substr(0, end));
    if (word == "&" && out.ends_with(' ')) out.pop_back();
    out += word;
    if (end == string_view::npos) break;
    out += rest[end];
    rest.remove_prefix(end + 1);
  }
  return out;
}

std::string readable_method(const RawMethod& method) {
  if (method.name.empty()) return readable_full_name(method.full_name);
  const auto type = readable_type(method.type);
  auto arguments = method.arguments;
  if (arguments.empty()) {
    const auto full = readable_full_name(method.full_name);
    if (const auto list = list_of(full); list != std::string::npos) arguments = full.substr(list);
  }
  return type.empty() ? method.name + arguments : type + "." + method.name + arguments;
}

}  // namespace clrscope::inspect::dac
