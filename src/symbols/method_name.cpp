#include "symbols/method_name.h"

#include <algorithm>
#include <array>
#include <utility>

namespace clrscope {
namespace {

using std::string_view;

// The runtime's words for the built-in types, and C#'s.
constexpr std::array<std::pair<string_view, string_view>, 18> kBuiltIns{{
    {"int8", "sbyte"},
    {"unsigned int8", "byte"},
    {"int16", "short"},
    {"unsigned int16", "ushort"},
    {"int32", "int"},
    {"unsigned int32", "uint"},
    {"int64", "long"},
    {"unsigned int64", "ulong"},
    {"int", "nint"},
    {"unsigned int", "nuint"},
    {"native int", "nint"},
    {"native unsigned int", "nuint"},
    {"native uint", "nuint"},
    {"float32", "float"},
    {"float64", "double"},
    {"wchar", "char"},
    {"System.String", "string"},
    {"System.Object", "object"},
}};

constexpr std::array<string_view, 3> kNoise{"class", "value", "valuetype"};
constexpr std::array<string_view, 2> kModifiers{"required_modifier", "optional_modifier"};

constexpr string_view kEnds = " ,<>()[]&*";

template <std::size_t N>
bool is_one_of(string_view word, const std::array<string_view, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The list in parentheses at the end; function pointers may have lists of their own before it.
string_view argument_list(string_view signature) {
  const auto end = signature.rfind(')');
  if (end == string_view::npos) return {};
  int depth = 0;
  for (auto at = end + 1; at-- > 0;) {
    if (signature[at] == ')') ++depth;
    if (signature[at] == '(' && --depth == 0) return signature.substr(at, end + 1 - at);
  }
  return {};
}

// Reads words up to what ends a type and writes them as C# would.
class ArgumentWriter {
 public:
  explicit ArgumentWriter(string_view in) : in_(in) { out_.reserve(in.size()); }

  std::string write() {
    while (at_ < in_.size()) {
      const char c = in_[at_];
      if (kEnds.find(c) == string_view::npos) {
        take_word();
        continue;
      }
      ++at_;
      if (c == ' ') continue;
      flush();
      if (c == '<' || c == '[') ++nested_;
      if (c == '>' || c == ']') --nested_;
      out_ += c;
      if (c == ',' && nested_ <= 0) out_ += ' ';
    }
    flush();
    return std::move(out_);
  }

 private:
  void take_word() {
    const auto word = in_.substr(at_, in_.find_first_of(kEnds, at_) - at_);
    at_ += word.size();
    if (is_one_of(word, kNoise)) return;
    if (is_one_of(word, kModifiers)) {
      skip_next_ = true;
    } else if (std::exchange(skip_next_, false)) {
      return;
    } else if (word == "pMT:") {  // a type that only has an address: of no use to a reader
      skip_next_ = true;
      type_.assign(1, '?');        // = "?": g++ 12 sees an overlap (-Wrestrict) that is not there
    } else if (word == "fnptr") {  // the type that it returns follows
      out_.append(word).append(" ");
    } else {
      if (!type_.empty()) type_ += ' ';
      type_ += word;
    }
  }

  void flush() {
    const auto* const found = std::find_if(kBuiltIns.begin(), kBuiltIns.end(),
                                           [&](const auto& pair) { return pair.first == type_; });
    out_ += found == kBuiltIns.end() ? string_view{type_} : found->second;
    type_.clear();
  }

  string_view in_;
  std::size_t at_ = 0;
  int nested_ = 0;
  bool skip_next_ = false;
  std::string type_;
  std::string out_;
};

string_view file_name(string_view path) { return path.substr(path.find_last_of("/\\") + 1); }

}  // namespace

std::string readable_arguments(string_view signature) {
  return ArgumentWriter{argument_list(signature)}.write();
}

std::string method_name(string_view type, string_view name, string_view signature) {
  std::string out;
  out.reserve(type.size() + name.size() + signature.size() + 1);
  if (!type.empty()) out.append(type).append(".");
  return out.append(name).append(readable_arguments(signature));
}

namespace {

constexpr string_view kMadeByProgram = "dynamicClass.";

}  // namespace

bool is_lambda_name(string_view method) {
  return method.starts_with(kMadeByProgram) &&
         method.substr(kMadeByProgram.size()).starts_with("lambda_method");
}

std::string lambda_name(string_view lambda, string_view called) {
  lambda.remove_prefix(kMadeByProgram.size());
  return std::string{lambda.substr(0, lambda.find('('))}.append(" → ").append(called);
}

std::string module_name(string_view path) {
  auto name = file_name(path);
  for (const string_view extension : {".dll", ".exe"})
    if (name.ends_with(extension)) name.remove_suffix(extension.size());
  if (name.ends_with(".ni")) name.remove_suffix(3);
  return std::string{name};
}

bool is_framework_module(string_view path) {
  if (path.find("/shared/Microsoft.") != string_view::npos) return true;
  const auto name = file_name(path);
  return name.starts_with("System.") || name.starts_with("Microsoft.Extensions.") ||
         name.starts_with("Microsoft.AspNetCore.") || name.starts_with("Microsoft.Win32.") ||
         name == "Microsoft.CSharp.dll" || name == "mscorlib.dll" || name == "netstandard.dll";
}

}  // namespace clrscope
