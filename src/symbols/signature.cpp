#include "symbols/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace clrscope {
namespace {

constexpr int kMostNested = 24;
constexpr std::uint32_t kMostArguments = 1024;
constexpr std::size_t kMostText = 8192;

enum Element : std::uint8_t {
  kPtr = 0x0f,
  kByRef = 0x10,
  kValueType = 0x11,
  kClass = 0x12,
  kVar = 0x13,
  kArray = 0x14,
  kGenericInst = 0x15,
  kFnPtr = 0x1b,
  kSzArray = 0x1d,
  kMVar = 0x1e,
  kCModReqd = 0x1f,
  kCModOpt = 0x20,
  kInternal = 0x21,
  kCModInternal = 0x22,
  kSentinel = 0x41,
  kPinned = 0x45,
};

// "Shop.Cart+Line`1[Shop.Item]": signatures name a nested type by itself, as by its token.
std::string without_outer(const std::string& name) {
  const auto end = std::min(name.find('['), name.size());
  const auto outer = name.substr(0, end).rfind('+');
  return outer == std::string::npos ? name : name.substr(outer + 1);
}

std::uint32_t token_of(std::uint32_t coded) {
  static constexpr std::array<std::uint32_t, 4> kTables{0x02, 0x01, 0x1b, 0};
  return kTables[coded & 3] << 24 | (coded >> 2 & 0xffffff);
}

class Writer {
 public:
  Writer(Bytes bytes, const SignatureNames& names) : in_(bytes), names_(names) {}

  bool method() {
    const auto convention = in_.read<std::uint8_t>();
    if ((convention & 0x0f) > 5 && (convention & 0x0f) != 9) return false;
    if ((convention & 0x10) != 0) read_compressed(in_);
    const auto count = read_compressed(in_);
    if (count > kMostArguments) return false;
    Writer result{in_, names_};
    result.type(0);  // of the return value: not shown
    in_ = result.in_;
    list(count, ", ");
    return in_.ok();
  }
  void one() { type(0); }

  bool ok() const { return in_.ok() && out_.size() < kMostText; }
  std::string take() && { return std::move(out_); }

 private:
  Writer(const ByteReader& in, const SignatureNames& names) : in_(in), names_(names) {}

  void list(std::uint32_t count, std::string_view separator) {
    out_ += '(';
    for (std::uint32_t i = 0; i < count && ok(); ++i) {
      if (i > 0) out_ += separator;
      type(0);
    }
    out_ += ')';
  }

  void type(int depth) {
    if (depth > kMostNested || out_.size() >= kMostText) return in_.fail();
    const auto element = in_.read<std::uint8_t>();
    if (const auto word = built_in_name(element); !word.empty()) {
      out_ += word;
      return;
    }
    switch (element) {
      case kPtr:
        type(depth + 1);
        out_ += '*';
        return;
      case kByRef:
        type(depth + 1);
        out_ += '&';
        return;
      case kSzArray:
        type(depth + 1);
        out_ += "[]";
        return;
      case kArray:
        return array(depth);
      case kClass:
      case kValueType:
        out_ += names_.type(token_of(read_compressed(in_)));
        return;
      case kVar:
        out_ += fmt::format("!{}", read_compressed(in_));
        return;
      case kMVar:
        out_ += fmt::format("!!{}", read_compressed(in_));
        return;
      case kGenericInst:
        return instance(depth);
      case kFnPtr:
        return pointer_to_method(depth);
      case kCModReqd:
      case kCModOpt:
        read_compressed(in_);
        return type(depth + 1);
      case kSentinel:
      case kPinned:
        return type(depth + 1);
      case kCModInternal:
        in_.skip(9);
        return type(depth + 1);
      case kInternal:
        out_ += without_outer(names_.handle(in_.read<std::uint64_t>()));
        return;
      default:
        in_.fail();
    }
  }

  void array(int depth) {
    type(depth + 1);
    const auto rank = read_compressed(in_);
    if (rank == 0 || rank > 32) return in_.fail();
    for (auto sizes = read_compressed(in_); sizes > 0 && in_.ok(); --sizes) read_compressed(in_);
    for (auto lows = read_compressed(in_); lows > 0 && in_.ok(); --lows) read_compressed(in_);
    out_ += '[';
    out_.append(rank - 1, ',');
    out_ += ']';
  }

  void instance(int depth) {
    const auto begin = out_.size();
    auto ahead = in_;
    const bool by_address = ahead.read<std::uint8_t>() == kInternal;
    type(depth + 1);
    if (by_address) out_.resize(std::min(out_.size(), out_.find('[', begin)));  // its parameters
    const auto count = read_compressed(in_);
    if (count > kMostArguments) return in_.fail();
    out_ += '<';
    for (std::uint32_t i = 0; i < count && ok(); ++i) {
      if (i > 0) out_ += ',';
      type(depth + 1);
    }
    out_ += '>';
  }

  void pointer_to_method(int depth) {
    const auto convention = in_.read<std::uint8_t>();
    if ((convention & 0x10) != 0) read_compressed(in_);
    const auto count = read_compressed(in_);
    if (count > kMostArguments) return in_.fail();
    out_ += "fnptr ";
    type(depth + 1);
    out_ += '(';
    for (std::uint32_t i = 0; i < count && ok(); ++i) {
      if (i > 0) out_ += ", ";
      type(depth + 1);
    }
    out_ += ')';
  }

  ByteReader in_;
  const SignatureNames& names_;
  std::string out_;
};

}  // namespace

std::uint32_t read_compressed(ByteReader& in) {
  const auto first = in.read<std::uint8_t>();
  if ((first & 0x80) == 0) return first;
  const auto second = in.read<std::uint8_t>();
  if ((first & 0xc0) == 0x80) return (first & 0x3fU) << 8 | second;
  if ((first & 0xe0) != 0xc0) in.fail();
  const auto third = in.read<std::uint8_t>();
  return (first & 0x1fU) << 24 | std::uint32_t{second} << 16 | std::uint32_t{third} << 8 |
         in.read<std::uint8_t>();
}

std::string_view built_in_name(std::uint8_t element_type) {
  static constexpr std::array<std::string_view, 0x1d> kNames{
      "",     "void",  "bool",   "char",   "sbyte",  "byte",  "short", "ushort", "int",   "uint",
      "long", "ulong", "float",  "double", "string", "",      "",      "",       "",      "",
      "",     "",      "refany", "",       "nint",   "nuint", "",      "",       "object"};
  return element_type < kNames.size() ? kNames[element_type] : std::string_view{};
}

std::string arguments_of_signature(Bytes signature, const SignatureNames& names) {
  Writer writer{signature, names};
  return writer.method() && writer.ok() ? std::move(writer).take() : std::string{};
}

std::string type_of_signature(Bytes signature, const SignatureNames& names) {
  Writer writer{signature, names};
  writer.one();
  return writer.ok() ? std::move(writer).take() : std::string{};
}

}  // namespace clrscope
