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

// The compiler's type and method as the source has them.
std::string source_title(string_view type, string_view method) {
  // Closures are the compiler's: what they belong to is named.
  if (const auto closure = type.find("+<>c"); closure != type.npos) type = type.substr(0, closure);
  string_view kind;
  string_view inner;
  if (const auto lambda = method.rfind(">b__"); lambda != method.npos) {
    kind = " (lambda)";
    method = method.substr(1, lambda - 1);
  } else if (const auto local = method.rfind(">g__"); local != method.npos) {
    kind = " (local function)";
    inner = method.substr(local + 4, method.find('|', local) - local - 4);
    method = method.substr(1, local - 1);
  }
  // The statements of a program without a Main are in <Main>$.
  if (method.starts_with('<') && method.ends_with(">$"))
    method = method.substr(1, method.size() - 3);
  std::string title{type};
  title.append(".").append(method);
  if (!inner.empty()) title.append(".").append(inner);
  return title.append(kind);
}

}  // namespace

std::string async_title(string_view type_name) {
  // Shop.Cart+<Load>d__3, Shop.Cart+<>c+<<Load>b__3_0>d, Program+<<Main>g__Ask|0_1>d
  const auto numbered = type_name.rfind(">d__");
  const auto end = numbered != type_name.npos ? numbered : type_name.rfind(">d");
  const auto open = end == type_name.npos ? end : type_name.rfind("+<", end);
  if (open == type_name.npos) return std::string{type_name};
  const auto before = type_name.find_last_of("[,", open);
  auto start = before == type_name.npos ? 0 : before + 1;
  while (start < open && type_name[start] == ' ') ++start;
  return source_title(type_name.substr(start, open - start),
                      type_name.substr(open + 2, end - open - 2));
}

std::string method_title(string_view method) {
  constexpr string_view kStep = ".MoveNext";
  if (method.ends_with(kStep)) {
    const auto type = method.substr(0, method.size() - kStep.size());
    auto title = async_title(type);
    return title == type ? std::string{method} : title;
  }
  const auto at = method.find(".<");
  if (at == method.npos) return std::string{method};
  const auto made = method.substr(at + 1);
  const bool of_compiler = made.find(">b__") != made.npos || made.find(">g__") != made.npos;
  return of_compiler ? source_title(method.substr(0, at), made) : std::string{method};
}

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
